"""Sentences of prose, ready for a grammar: lower case, without marks, each with its place in the text."""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawft.scanner.instructions.blocks import MarkdownPart
from clawft.scanner.instructions.index import PhraseSearch
from clawft.scanner.regex import LazyProperty

MAX_SENTENCE = 1200
MAX_LEAD = 80
_GAP = re.compile(r"[\s*>|#]+|__+")
_UNEVEN = re.compile(r"[^\S ]|[*>|#]|  |__")  # without any of it, every gap is one blank already
_END = re.compile(
    r"[.!?](?:[*_)\"'”\u2019]{0,3})(?=\s+[^a-z\s]|\s*$)|\n[ \t>]*(?=(?:[-*+]|\d{1,9}[.)]|#{1,6}|\|)[ \t])"
    r"|[。\uff01\uff1f\uff1b]|\n(?=\|)|\n[ \t>]*\n"
)
# A sentence does not end after these.
_SHORT = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|approx|no|mr|dr|st|fig)|\.\w)\.$", re.IGNORECASE)
_MARKER = re.compile(r"[\s>|#]*(?:[-*+]|\d{1,9}[.)])\s+|[\s>|#]+")


class Sentence(Struct, dict=True):
    """One sentence: `text` is what grammars read, `start` and `end` are offsets of the document."""

    raw: str
    start: int
    end: int
    reading: PhraseSearch
    item: bool = False  # it begins a list item or a row

    @LazyProperty
    def text(self) -> str:
        return fold(self.raw)

    @LazyProperty
    def could_match(self) -> int:
        """The phrases whose words it has."""
        return self.reading.could_match(self.start, self.end)


class ProseBlock(Struct, dict=True):
    """A block of prose, and the words right before it that lead to it."""

    part: MarkdownPart
    text: str
    reading: PhraseSearch
    lead: str = ""

    @LazyProperty
    def sentences(self) -> list[Sentence]:
        return list(split_sentences(self.text, self.part.start, self.reading))

    def lead_to(self, sentence: Sentence) -> str:
        """The words of the block that lead to a sentence: those before its list, or the last that end with a colon."""
        lead = ""
        for part in self.sentences:
            if part.start >= sentence.start:
                break
            if part.text.endswith(":") or (sentence.item and not part.item and len(part.text) < MAX_LEAD):
                lead = part.text
        return lead


def fold(text: str) -> str:
    """Text as grammars read it: lower case, straight quotes, every run of marks and blanks as one blank."""
    text = text.lower()
    if not text.isascii():
        text = text.replace("\u2019", "'").replace("\u2018", "'").replace("“", '"').replace("”", '"')
    return (_GAP.sub(" ", text) if _UNEVEN.search(text) else text).strip()


def split_sentences(text: str, start: int, reading: PhraseSearch) -> Iterator[Sentence]:
    """The sentences of a block that begins at an offset."""
    at = 0
    for match in _END.finditer(text):
        if match[0][:1] == "." and _SHORT.search(text[max(at, match.start() - 6) : match.start() + 1]):
            continue
        yield from _make(text, at, match.end(), start, reading)
        at = match.end()
    yield from _make(text, at, len(text), start, reading)


def _make(text: str, at: int, end: int, start: int, reading: PhraseSearch) -> Iterator[Sentence]:
    marker = _MARKER.match(text, at, end)
    item = marker is not None and not marker[0].isspace()
    at = marker.end() if marker else at
    while at < end:
        stop = min(end, at + MAX_SENTENCE)
        raw = text[at:stop]
        if raw[0].isalnum() or fold(raw):
            yield Sentence(raw, start + at, start + stop, reading, item)
        at = stop


def find_offset(raw: str, text: str, at: int) -> int:
    """Find the offset in the raw text of a place in a folded sentence: as many words in."""
    lead = len(raw) - len(raw.lstrip(" \t\r\n*>|#"))
    if "\n" not in raw[lead:]:
        return lead
    gaps = _GAP.finditer(raw, lead)
    offset = lead
    for _ in range(text.count(" ", 0, at)):
        gap = next(gaps, None)
        if gap is None:
            break
        offset = gap.end()
    return offset
