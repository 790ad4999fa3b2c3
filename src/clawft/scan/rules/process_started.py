"""A script starts other programs."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_process_started(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.EXEC):
        if fact.document.language in ("javascript", "python", "ruby", "perl", "php", "lua", "go", "rust", "r"):
            yield Hit(fact, f"It starts {fact.target or 'a program known only at run time'}"[:160], 0.6)


RULE = Rule(
    id="process-started",
    title="A script starts other programs",
    severity="info",
    category="execution",
    what="Code starts a process: `child_process`, `subprocess`, `os.system` and the like.",
    why="Most tools do. It is listed so that the programs can be seen.",
    example='require("child_process").exec("git status")',
    counter_example='console.log("git status")',
    fix="Nothing, when the program is one that the skill is about.",
    check=check_process_started,
    owasp="AST03",
    atlas="AML.T0050",
    aliases=("dangerous-exec", "dangerous-shell-invocation"),
)
