"""Settings take away every question at once."""

from collections.abc import Iterator

from clawft.scan.documents import Document
from clawft.scan.facts import Fact, Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_MODES = ("mode ", "setting skip", "setting dangerously", "setting bypass")


def check_agent_unguarded(subject: Subject) -> Iterator[Hit]:
    opened: dict[Document, list[Fact]] = {}
    for fact in subject.of(Kind.BYPASS):
        if fact.target.startswith(("permission ", "mode ", "setting ")) and "fence" not in fact.document.origin:
            opened.setdefault(fact.document, []).append(fact)
    for facts in opened.values():
        kinds = {fact.target for fact in facts}
        hooked = [one for one in subject.of(Kind.HOOK) if one.target.startswith(("claude:", "agent:"))]
        if any(one.startswith(_MODES) for one in kinds) and (len(kinds) > 1 or hooked):
            yield Hit(facts[0], f"The agent's settings come with {', '.join(sorted(kinds))}", 0.8)


RULE = Rule(
    id="agent-unguarded",
    title="The agent is left without a guard",
    severity="critical",
    category="privilege",
    what="A settings file that comes with the skill, or that it writes, switches off approvals and opens commands, the "
    "sandbox or the servers of a project as well, or adds hooks.",
    why="From then on any text that the agent reads can make it do anything, and no one is asked.",
    example='{"permissions": {"defaultMode": "bypassPermissions", "allow": ["Bash(*)"]}}',
    counter_example='{"permissions": {"defaultMode": "acceptEdits", "allow": ["Bash(git status:*)"]}}',
    fix="Leave approvals to the user.",
    check=check_agent_unguarded,
    owasp="AST03",
    atlas="AML.T0081",
)
