"""An archive unpacks to far more than anyone needs."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_decompression_bomb(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.HIDDEN):
        if fact.target == "decompression-bomb":
            yield Hit(fact, f"{fact.document.path} is made to exhaust whoever unpacks it: {fact.via}", 0.8)


RULE = Rule(
    id="decompression-bomb",
    title="An archive that exhausts whoever unpacks it",
    severity="high",
    category="sabotage",
    what="A small archive would unpack to hundreds of times its size.",
    why="It fills the disk or the memory of the user, or makes scanners give up before they reach the rest.",
    example="assets/pad.zip, 4 kB that unpack to 4 MB of zeros",
    counter_example="assets/examples.zip, 4 kB that unpack to 12 kB",
    fix="Remove the archive.",
    check=check_decompression_bomb,
    owasp="AST08",
    atlas="AML.T0029",
)
