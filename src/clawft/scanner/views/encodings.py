"""Letters written as numbers: escapes of strings, addresses and markup, and lists of character codes."""

import re
from collections.abc import Callable, Iterator
from itertools import islice

from clawft.scan.documents import Document, make_child
from clawft.scan.intake.kinds import guess_language
from clawft.scan.lazy import lazy
from clawft.scan.views.signs import Signs
from clawft.scan.views.unpack import read_plain

__all__ = ["find_escapes"]

_MAX_FOUND = 200
_MIN_LETTERS = 6
_MANY = 4  # escapes close to each other
_APART = 120
_MAX_ESCAPES = 50_000
_IN_LIST = bytes(48 if byte in b"0123456789abcdefABCDEFxX,:; \n\t" else 32 for byte in range(256))


def _hex_code(match: re.Match[str]) -> str:
    return _letter(int(match[1], 16))


def _markup_code(match: re.Match[str]) -> str:
    digits = match[1]
    return _letter(int(digits[1:], 16) if digits[0] in "xX" else int(digits))


def _letter(code: int) -> str:
    return chr(code) if code < 0xD800 or 0xE000 <= code < 0x110000 else "\ufffd"


# What gives an escape away, the way it is called, one escape, and its letter.
_Escape = tuple[bytes, str, re.Pattern[str], Callable[[re.Match[str]], str]]
_ESCAPES: tuple[_Escape, ...] = (
    (b"\\x", "hex-escapes", lazy(r"\\+x([0-9A-Fa-f]{2})"), _hex_code),
    (b"\\u", "unicode-escapes", lazy(r"\\+u\{?([0-9A-Fa-f]{4,6})\}?"), _hex_code),
    (b"%", "percent", lazy(r"%([0-9A-Fa-f]{2})"), _hex_code),
    (b"&#", "character-references", lazy(r"&#([xX][0-9A-Fa-f]{1,6}|[0-9]{1,7});?"), _markup_code),
    (b"\\1", "octal-escapes", lazy(r"\\([0-3][0-7]{2})"), lambda match: _letter(int(match[1], 8))),
)
_SEP = r"(?::|[ ,;\t\n]{1,6})"
_LISTS: tuple[tuple[str, re.Pattern[str], int], ...] = (
    ("hex-list", lazy(rf"(?:\b0x[0-9A-Fa-f]{{2}}{_SEP}){{6,9999}}0x[0-9A-Fa-f]{{2}}\b"), 16),
    ("hex-list", lazy(rf"(?:\b[0-9A-Fa-f]{{2}}{_SEP}){{9,9999}}[0-9A-Fa-f]{{2}}\b"), 16),
    ("character-codes", lazy(rf"(?:\b[0-9]{{2,3}}{_SEP}){{8,9999}}[0-9]{{2,3}}\b"), 10),
    ("bits", lazy(rf"(?:\b[01]{{8}}{_SEP}){{5,9999}}[01]{{8}}\b"), 2),
)
_CALLS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("chr", lazy(r"(?i)(?:\bchrw?\$?\(\s*(?:&h[0-9a-f]{2}|0x[0-9a-f]{2}|\d{2,3})\s*\)\s*[&+.,]?\s*){4,5000}")),
    ("[char]", lazy(r"(?i)(?:\[char\]\s*\(?(?:0x[0-9a-f]{2}|\d{2,3})\)?\s*[+,]?\s*){4,5000}")),
)
_CODE = lazy(r"(?i)(?:(?:&h|0x)([0-9a-f]{2})|(\d{2,3}))(?![0-9a-z])")
_NEEDLE = b"0" * 28
_NUMBER = lazy(r"(?:0x)?([0-9A-Fa-f]+)")


def find_escapes(document: Document, data: bytes, signs: Signs, children: list[Document]) -> bool:
    """Add a child for each stretch that is written in escapes or in character codes.

    `data`: the text as UTF-8. Returns whether all of it was looked at.
    """
    everything = True
    kinds = [kind for kind in _ESCAPES if (data.count(b"%") if kind[0] == b"%" else signs[kind[0]]) >= _MANY]
    if kinds:
        everything = _find_stretches(document, kinds, children)
    if b"hr(" in signs or b"har]" in signs:
        _find_calls(document, children)
    table = data.translate(_IN_LIST)
    at, found = table.find(_NEEDLE), 0
    while at >= 0 and found < _MAX_FOUND:
        end = table.find(b" ", at)
        end = len(table) if end < 0 else end
        if end - at - len(data[at:end].translate(None, b"0123456789")) >= 12:  # indentation is no list
            found += 1
            _find_lists(document, data, at, end, children)
        at = table.find(_NEEDLE, end)
    return everything and found < _MAX_FOUND


def _find_stretches(document: Document, kinds: list[_Escape], children: list[Document]) -> bool:
    """Decode every kind of escape at once: a child for each kind would be decoded again in every order.

    Returns whether all of them were looked at.
    """
    text = document.text
    places: list[tuple[int, int, str]] = []
    for _, how, pattern, _ in kinds:
        places.extend((match.start(), match.end(), how) for match in islice(pattern.finditer(text), _MAX_ESCAPES))
    places.sort()
    at = 0
    for _ in range(_MAX_FOUND):
        if at >= len(places):
            break
        last = at
        while last + 1 < len(places) and places[last + 1][0] - places[last][1] <= _APART:
            last += 1
        if last - at + 1 >= _MANY:
            first = max(0, places[at][0] - _APART)
            start = max(first, text.rfind("\n", first, places[at][0]) + 1)
            end = text.find("\n", places[last][1], places[last][1] + _APART)
            piece = text[start : end if end >= 0 else places[last][1] + _APART]
            for _, _, pattern, letter in kinds:
                piece = pattern.sub(letter, piece)
            if read_plain(piece.encode("utf-8", "replace")):
                children.append(make_child(document, piece, guess_language(piece), places[at][2], start))
        at = last + 1
    return at >= len(places) and len(places) < _MAX_ESCAPES


def _find_calls(document: Document, children: list[Document]) -> None:
    """Texts put together letter by letter by a function that makes letters of numbers."""
    for mark, pattern in _CALLS:
        for match in _match_at(mark, pattern, document.text):
            codes = [int(one[0], 16) if one[0] else int(one[1]) for one in _CODE.findall(match[0])]
            clear = read_plain(bytes(code for code in codes if code < 256))
            if clear:
                children.append(make_child(document, clear, guess_language(clear), "character-codes", match.start()))


def _match_at(mark: str, pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches of a pattern that begins with a word: the word is quick to look for."""
    lower = text.lower()
    if lower.count(mark) < _MANY:
        return
    if len(lower) != len(text):
        yield from pattern.finditer(text)
        return
    at = lower.find(mark)
    while at >= 0:
        match = pattern.match(text, at)
        if match:
            yield match
        at = lower.find(mark, match.end() if match else at + 1)


def _find_lists(document: Document, data: bytes, start: int, end: int, children: list[Document]) -> None:
    """Lists of character codes in a stretch of digits."""
    text = data[start:end].decode()
    for how, pattern, base in _LISTS:
        for match in pattern.finditer(text):
            values = [int(one, base) for one in _NUMBER.findall(match[0])]
            if len(values) < _MIN_LETTERS or max(values) > 255:
                continue
            clear = read_plain(bytes(values))
            if clear and len(set(clear)) > 4:
                offset = len(data[: start + match.start()].decode("utf-8", "replace"))
                children.append(make_child(document, clear, guess_language(clear), how, offset))
