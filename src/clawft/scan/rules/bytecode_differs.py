"""Compiled Python does what its source does not say."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_bytecode_differs(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.HIDDEN):
        if fact.target == "bytecode-differs":
            yield Hit(fact, f"The compiled file acts in ways that its source does not show: {fact.via}", 0.9)


RULE = Rule(
    id="bytecode-differs",
    title="Bytecode that its source does not explain",
    severity="critical",
    category="concealment",
    what="A .pyc file runs programs, reaches the network or reads secrets, and the .py beside it does not.",
    why="Python runs the compiled file while people read the source.",
    example="helper.pyc names urlopen and id_rsa; helper.py prints a line",
    counter_example="helper.pyc, compiled from helper.py",
    fix="Remove compiled files; Python makes them itself.",
    check=check_bytecode_differs,
    owasp="AST01",
    atlas="AML.T0011",
)
