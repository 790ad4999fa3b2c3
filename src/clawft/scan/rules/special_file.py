"""The skill holds a pipe, a socket or a device."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_special_file(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.HIDDEN):
        if fact.target == "special-file":
            yield Hit(fact, fact.via, 0.7)


RULE = Rule(
    id="special-file",
    title="A file that is no file",
    severity="medium",
    category="sabotage",
    what="The skill, or an archive in it, holds a named pipe, a socket or a device.",
    why="Whoever reads it waits for ever, or reads a disk. No skill needs one.",
    example="assets/data is a named pipe",
    counter_example="assets/data is a file",
    fix="Remove it.",
    check=check_special_file,
    owasp="AST08",
    atlas="AML.T0029",
)
