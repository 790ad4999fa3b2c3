"""Which orders stand together: the same file, a few lines apart, none of them only mentioned."""

from bisect import bisect_left, bisect_right

from clawft.scan.facts import Fact, Kind
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.words import words

__all__ = ["PROSE", "is_hidden", "is_prose", "near", "orders"]

MAX_NEAR = 400
_ORDERS = (
    Kind.OVERRIDE,
    Kind.CONCEAL,
    Kind.BYPASS,
    Kind.OBEY,
    Kind.TAMPER,
    Kind.SABOTAGE,
    Kind.SEND,
    Kind.EXEC,
)
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
    """Other orders of some kinds within a few lines of one, at most so many."""
    found = _by_path(subject).get(fact.document.path, [])
    start = bisect_left(found, fact.line - lines, key=_line)
    end = bisect_right(found, fact.line + lines, lo=start, key=_line)
    window = found[start : min(end, start + MAX_NEAR)]
    return [one for one in window if one.kind in kinds and one is not fact]


def _by_path(subject: Subject) -> dict[str, list[Fact]]:
    """All orders of a subject by file, in the order of their lines; made once."""
    known: tuple[int, dict[str, list[Fact]]] | None = subject.__dict__.get("orders_by_path")
    if known is None or known[0] != len(subject.facts):
        paths: dict[str, list[Fact]] = {}
        for one in orders(subject, *_ORDERS):
            paths.setdefault(one.document.path, []).append(one)
        for found in paths.values():
            found.sort(key=_line)
        known = (len(subject.facts), paths)
        subject.__dict__["orders_by_path"] = known
    return known[1]


def _line(fact: Fact) -> int:
    return fact.line
