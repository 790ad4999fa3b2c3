"""Text pushed out of sight by blank space, and bits written in the blanks at the ends of lines."""

import re
from itertools import islice

from msgspec import structs

from clawft.scan.documents import Document, make_child
from clawft.scan.facts import Fact, Kind
from clawft.scan.intake.kinds import guess_language
from clawft.scan.views.smuggled import is_readable

__all__ = ["find_padding"]

_FAR_DOWN, _FAR_RIGHT = 80, 240
_LINES = ("\n\n\n", "\n \n", "\n\t\n")
_SPACES, _TABS = " " * _FAR_RIGHT, "\t" * (_FAR_RIGHT // 4)
_RIGHT = re.compile(r"(?<![ \t])[ \t]{60,}+(?=\S)")
_MAX_FOUND = 20
# Sixty bytes of blanks, with those that blanks of other scripts are made of: less than that is no padding.
_BLANK = frozenset(
    (*b" \t\n\v\f\r\x1c\x1d\x1e\x1f", 0xC2, 0xE1, 0xE2, 0xE3, *range(0x80, 0x8B), 0x9A, 0x9F, 0xA0, 0xA8, 0xA9, 0xAF)
)
_BLANKS = bytes(32 if byte in _BLANK else 33 for byte in range(256))
_NEEDLE = b" " * 60


def find_padding(document: Document, data: bytes, facts: list[Fact], children: list[Document]) -> None:
    """Note what stands far below or far to the right of where a reader stops, and read bits in trailing blanks.

    `data`: the text as UTF-8.
    """
    text = document.text
    if document.flat:
        return
    if _NEEDLE in data.translate(_BLANKS):
        if any(one in text for one in _LINES):
            _find_far_down(document, facts)
        if _SPACES in text or _TABS in text:
            _find_far_right(document, facts)
    if b" \t" in data:
        _read_tails(document, facts, children)


def _find_far_right(document: Document, facts: list[Fact]) -> None:
    for match in islice(_RIGHT.finditer(document.text), _MAX_FOUND):
        after = document.text[match.end() : match.end() + 80].partition("\n")[0]
        if len(match[0].expandtabs(4)) >= _FAR_RIGHT and not after.startswith("|"):  # the cells of a table are no trick
            via = f"far to the right of its line: {after}"
            facts.append(Fact(Kind.HIDDEN, "far-away", document, document.line_at(match.end()), via))


def _find_far_down(document: Document, facts: list[Fact]) -> None:
    """Many lines of blanks alone, then text."""
    blank = found = 0
    for index, line in enumerate(document.text.split("\n")):
        if not line or line.isspace():
            blank += 1
            continue
        if blank >= _FAR_DOWN and found < _MAX_FOUND:
            found += 1
            via = f"below {blank} blank lines: {line:.80}"
            facts.append(Fact(Kind.HIDDEN, "far-away", document, document.line + index, via))
        blank = 0


def _read_tails(document: Document, facts: list[Fact], children: list[Document]) -> None:
    """Blanks at line ends as bits: a space is 0 and a tab is 1, or the other way round."""
    tails = [
        (index, line[len(line.rstrip(" \t")) :])
        for index, line in enumerate(document.text.split("\n"))
        if line[-1:] in (" ", "\t")
    ]
    mixed = "".join(tail for _, tail in tails if tail)
    if len(tails) < 1 or len(mixed) < 32 or min(mixed.count(" "), mixed.count("\t")) < 8:
        return
    for zero in " \t":
        bits = "".join("0" if one == zero else "1" for one in mixed[:80_000])
        text = "".join(chr(int(bits[at : at + 8], 2)) for at in range(0, len(bits) - 7, 8))
        if is_readable(text):
            line = document.line + tails[0][0]
            facts.append(Fact(Kind.HIDDEN, "whitespace", document, line, f"in the blanks at line ends: {text:.120}"))
            child = make_child(document, text, guess_language(text), "whitespace", 0)
            children.append(structs.replace(child, line=line))
            return
