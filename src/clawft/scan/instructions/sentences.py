"""Sentences of prose, ready for a grammar: lower case, without marks, each with its place in the text."""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawft.scan.instructions.segments import Part

__all__ = ["Block", "Sentence", "fold", "split_sentences"]

MAX_SENTENCE = 1200
_GAP = re.compile(r"[\s*>|#]+|__+")
_END = re.compile(
    r"[.!?](?:[*_)\"'”’]{0,3})(?=\s+[^a-z\s]|\s*$)|\n[ \t>]*(?=(?:[-*+]|\d{1,9}[.)]|#{1,6}|\|)[ \t])|[。！？；]|\n(?=\|)|\n[ \t>]*\n"
)
# A sentence does not end after these.
_SHORT = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|approx|no|mr|dr|st|fig)|\.\w)\.$", re.IGNORECASE)
_MARKER = re.compile(r"[\s>|#]*(?:[-*+]|\d{1,9}[.)])\s+|[\s>|#]+")


class Sentence(Struct):
    """One sentence: `text` is what grammars read, `start` and `end` are offsets of the document."""

    text: str
    start: int
    end: int


class Block(Struct):
    """A block of prose and its sentences."""

    part: Part
    text: str
    sentences: list[Sentence]
    mention: bool = False


def fold(text: str) -> str:
    """Text as grammars read it: lower case, straight quotes, every run of marks and blanks as one blank."""
    return _GAP.sub(" ", text.lower().replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')).strip()


def split_sentences(text: str, start: int) -> Iterator[Sentence]:
    """The sentences of a block that begins at an offset."""
    at = 0
    for match in _END.finditer(text):
        if match[0][:1] == "." and _SHORT.search(text[max(at, match.start() - 6) : match.start() + 1]):
            continue
        yield from _make(text, at, match.end(), start)
        at = match.end()
    yield from _make(text, at, len(text), start)


def _make(text: str, at: int, end: int, start: int) -> Iterator[Sentence]:
    marker = _MARKER.match(text, at, end)
    at = marker.end() if marker else at
    while at < end:
        stop = min(end, at + MAX_SENTENCE)
        folded = fold(text[at:stop])
        if folded:
            yield Sentence(folded, start + at, start + stop)
        at = stop
