"""Text carried by invisible characters or blanks, and text pushed out of sight by blank space."""

import re
from collections import Counter
from itertools import islice

from msgspec import structs

from clawft.scanner.facts import Document, Fact, Kind, make_child
from clawft.scanner.intake.language import guess_language

MAX_CARRIED = 64 << 10


def is_readable(text: str) -> bool:
    """Return whether a text is made of printable characters, most of them letters, and no chance result."""
    if len(text) < 4:
        return False
    letters = sum(char.isalnum() or char in " \n\t" for char in text)
    printable = sum(char.isprintable() or char in "\n\t\r" for char in text)
    return printable >= 0.97 * len(text) and letters >= 0.6 * len(text)


def read_tags(run: str) -> str:
    """The ASCII text of tag characters."""
    return "".join(chr(ord(char) - 0xE0000) for char in run if 0xE0020 <= ord(char) <= 0xE007E)


def read_selectors(run: str) -> str:
    """The text whose bytes variation selectors encode: a byte each, or half a byte each."""
    values = [ord(char) - 0xFE00 if ord(char) < 0xE0000 else ord(char) - 0xE0100 + 16 for char in run[:MAX_CARRIED]]
    tries = [bytes(values)]
    if max(values) < 16 and len(values) % 2 == 0:
        tries.append(bytes(high << 4 | low for high, low in zip(values[::2], values[1::2], strict=True)))
    for attempt in tries:
        text = attempt.decode("utf-8", "replace")
        if is_readable(text):
            return text
    return ""


def read_bits(run: str) -> str:
    """The text that two, three or four kinds of characters carry as bits; empty if that makes no sense."""
    run = run[:MAX_CARRIED]
    kinds = [char for char, _ in Counter(run).most_common(4)]
    if len(kinds) < 2 or len(run) < 24:
        return ""
    for pair in ((kinds[0], kinds[1]), (kinds[1], kinds[0])):
        bits = "".join("0" if c == pair[0] else "1" for c in run if c in pair)
        for text in (_by_size(bits, 8), _by_size(bits, 7), _by_size(bits, 16), _by_separator(run, kinds, pair)):
            if is_readable(text):
                return text
    return _by_pairs(run, sorted(set(run))) if len(set(run)) in (3, 4) else ""


def _by_size(bits: str, size: int) -> str:
    values = (int(bits[at : at + size], 2) for at in range(0, len(bits) - size + 1, size))
    return "".join(chr(value) if value < 0xD800 else "\0" for value in values)


def _by_separator(run: str, kinds: list[str], pair: tuple[str, str]) -> str:
    """A third kind of character parts the letters."""
    if len(kinds) < 3:
        return ""
    groups = ["".join("0" if c == pair[0] else "1" for c in group if c in pair) for group in run.split(kinds[2])]
    return "".join(chr(int(group, 2)) for group in groups if group and len(group) <= 20 and int(group, 2) < 0xD800)


def _by_pairs(run: str, kinds: list[str]) -> str:
    """Each of four kinds is two bits."""
    values = [kinds.index(char) for char in run]
    packed = [
        values[at] << 6 | values[at + 1] << 4 | values[at + 2] << 2 | values[at + 3]
        for at in range(0, len(values) - 3, 4)
    ]
    text = bytes(packed).decode("utf-8", "replace")
    return text if is_readable(text) else ""


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
        if any(line in text for line in _LINES):
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
        bits = "".join("0" if char == zero else "1" for char in mixed[:80_000])
        text = "".join(chr(int(bits[at : at + 8], 2)) for at in range(0, len(bits) - 7, 8))
        if is_readable(text):
            line = document.line + tails[0][0]
            facts.append(Fact(Kind.HIDDEN, "whitespace", document, line, f"in the blanks at line ends: {text:.120}"))
            child = make_child(document, text, guess_language(text), "whitespace", 0)
            children.append(structs.replace(child, line=line))
            return
