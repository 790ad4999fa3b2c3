"""Settings take away the questions that the agent asks its user."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_KINDS = ("permission ", "mode ", "setting ")


def check_agent_guard_lowered(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.BYPASS):
        if fact.target.startswith(_KINDS):
            yield Hit(fact, f"The agent's settings are opened by {fact.target}", 0.7)
    for fact in subject.of(Kind.TAMPER):
        if fact.target.startswith("environment "):
            yield Hit(fact, f"Every program that the agent starts gets {fact.via}", 0.7)


RULE = Rule(
    id="agent-guard-lowered",
    title="The agent's guard is lowered",
    severity="high",
    category="privilege",
    what="Settings allow every command, skip approvals, trust every server, or load code into every program.",
    why="The user's say is what stands between a text and a command. A skill has no business switching it off.",
    example='{"permissions": {"defaultMode": "bypassPermissions", "allow": ["Bash(*)"]}}',
    counter_example='{"permissions": {"defaultMode": "plan", "allow": ["Bash(git status:*)"]}}',
    fix="Ask for the few commands that the skill needs.",
    check=check_agent_guard_lowered,
    owasp="AST03",
    atlas="AML.T0081",
)
