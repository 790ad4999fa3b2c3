"""Which orders stand together: the same file, a few lines apart, none of them only mentioned."""

from clawft.scan.facts import Fact, Kind
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.words import words

__all__ = ["PROSE", "is_hidden", "is_prose", "near", "orders"]

PROSE = frozenset({"markdown", "text", "html", "yaml", "json", "toml"})
# The ways a text is kept from a reader: marks in Markdown or HTML, and characters that are not drawn.
HIDDEN = words(
    """
    html-comment hidden-span link-comment image-alt zero-width tag-characters variation-selectors bidi whitespace
    metadata
    """
)


def is_prose(fact: Fact) -> bool:
    """Whether a fact was read in prose rather than in code."""
    return fact.document.language in PROSE


def is_hidden(fact: Fact) -> bool:
    """Whether a fact stands in a text that a reader of the page does not see."""
    return not HIDDEN.isdisjoint(fact.document.origin)


def orders(subject: Subject, *kinds: Kind) -> list[Fact]:
    """The orders of some kinds that prose gives and means."""
    return [fact for fact in subject.of(*kinds) if is_prose(fact) and not fact.document.mention]


def near(subject: Subject, fact: Fact, *kinds: Kind, lines: int = 6) -> list[Fact]:
    """Other orders of some kinds within a few lines of one."""
    return [
        one
        for one in orders(subject, *kinds)
        if one is not fact and one.document.path == fact.document.path and abs(one.line - fact.line) <= lines
    ]
