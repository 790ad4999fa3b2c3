"""Something runs while packages are installed or a session goes on."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_HOOKS = (
    "npm:",
    "composer:",
    "pip:build",
    "pip:hatch",
    "pip:poetry",
    "claude:",
    "agent:",
    "devcontainer:",
    "openclaw:",
    "github:pull_request_target",
)


def check_runs_unasked(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.HOOK):
        if fact.target.startswith(_HOOKS):
            yield Hit(fact, f"{fact.via or 'A command'} runs by itself on {fact.target}", 0.5)


RULE = Rule(
    id="runs-unasked",
    title="A hook runs a command",
    severity="low",
    category="execution",
    what="A command is tied to an event: installing a package, building a container, using a tool of the agent.",
    why="Hooks are common and mostly harmless, but they run unasked, so the user should know of each.",
    example='"postinstall": "node scripts/setup.js"',
    counter_example='"setup": "node scripts/setup.js"',
    fix="Prefer a script that the user starts.",
    check=check_runs_unasked,
    owasp="AST03",
    atlas="AML.T0011",
)
