"""The skill brings a program that cannot be read."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_binary_program(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.BINARY):
        yield Hit(fact, f"{fact.document.path} is {fact.via}", 0.6)


RULE = Rule(
    id="binary-program",
    title="A program that cannot be read",
    severity="high",
    category="supply-chain",
    what="The skill holds machine code, bytecode without its source, or macros.",
    why="Nobody can tell what it does before it runs, neither a reader nor this scanner.",
    example="bin/helper (ELF)",
    counter_example="scripts/helper.sh",
    fix="Ship the source, or have the user install the program from where it is published.",
    check=check_binary_program,
    owasp="AST02",
    atlas="AML.T0010",
)
