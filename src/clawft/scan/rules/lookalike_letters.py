"""Latin words with letters of other scripts in them."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_lookalike_letters(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.HIDDEN):
        if fact.target in ("homoglyphs", "combining-marks"):
            yield Hit(fact, f"Words are not made of the letters they show: {fact.via}", 0.6)


RULE = Rule(
    id="lookalike-letters",
    title="Letters that only look like others",
    severity="medium",
    category="concealment",
    what="A word mixes Latin letters with letters of another script that look the same, or is covered with marks.",
    why="A search for the word does not find it, and an address written so leads elsewhere.",
    example="A package name with a Cyrillic letter in it",
    counter_example="A sentence in Greek",
    fix="Write the word in one script.",
    check=check_lookalike_letters,
    owasp="AST04",
    atlas="AML.T0068",
)
