"""Characters that no reader sees or that show the text in another order: removed, and what they carried read."""

import re
import unicodedata

from msgspec import structs

from clawft.scan.documents import Document, make_child
from clawft.scan.facts import Fact, Kind
from clawft.scan.intake.kinds import guess_language
from clawft.scan.lazy import lazy
from clawft.scan.views.lookalikes import fold_lookalikes
from clawft.scan.views.notes import LineCounter, Note
from clawft.scan.views.smuggled import read_bits, read_selectors, read_tags

__all__ = ["clear_text"]

_ASCII = bytes(range(128))
_ZERO_WIDTH = (
    "\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u180e\u00ad\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
)
_SWAPS = "\u206a\u206b\u206c\u206d\u206e\u206f\ufff9\ufffa\ufffb"
_MARKS = "\u061c\u200e\u200f"
_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_TAGS = lazy("[\U000e0001\U000e0020-\U000e007f]+")
_SELECTORS = lazy("[\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_UNSEEN = frozenset(_ZERO_WIDTH + _SWAPS + _MARKS + _BIDI + "\u2800")
_REMOVED = dict.fromkeys(map(ord, _ZERO_WIDTH + _SWAPS + _MARKS + _BIDI))
_RUN = lazy(f"[{_ZERO_WIDTH}{_SWAPS}]+")
_IN_WORD = lazy(f"(?<=[A-Za-z0-9/~.:_-])[{_ZERO_WIDTH}{_SWAPS}]+(?=[A-Za-z0-9/~.:_-])")
_FLAG = "\U0001f3f4"
_RTL = lazy("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_OVERRIDE = lazy("[\u202d\u202e][^\n\u202c]*")
_COMBINING = lazy("([A-Za-z])[\u0300-\u036f\u0488\u0489\u20d0-\u20e2\u20e4-\u20f0]+")
_ANSI = lazy("\x1b(?:\\[[0-?]{0,40}[ -/]{0,8}[@-~]|\\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")
_CONCEALS = lazy("\x1b\\[(?:[0-9;]*\\b8m|\\d*[ABFGJK]|[0-9;]*H|3\\d;4\\dm|\\d*D)")
_MANY = 3  # invisible characters inside the words of one line: one or two are left by copying
_ROW = 4


def clear_text(document: Document, facts: list[Fact], children: list[Document]) -> Document:
    """The document without what cannot be seen, its lookalike letters folded; what that hid goes to the lists."""
    text = document.text
    notes: list[Note] = []
    if "\x1b" in text or "\b" in text or "\r" in text:
        text = _clear_controls(text, [] if document.origin else notes)  # decoded, they are what a program prints
    try:
        raw = text.encode()
    except UnicodeEncodeError:  # halves of characters, which cannot be written out
        raw = text.encode("utf-8", "replace")
        text = raw.decode()
    odd = set(raw.translate(None, _ASCII).decode())
    if (
        any("\ufe00" <= one <= "\ufe0d" or one >= "\U000e0000" for one in odd)
        or "\ufe0f\ufe0f" in text
        or "\ufe0e\ufe0f" in text
    ):
        text = _read_smuggled(document, text, notes, children)
    if not odd.isdisjoint(_UNSEEN):
        text = _clear_unseen(document, text, notes, children)
    if any("\u0300" <= one <= "\u036f" or "\u20d0" <= one <= "\u20f0" or one in "\u0488\u0489" for one in odd):
        text = _clear_combining(text, notes)
    text = fold_lookalikes(text, odd, notes)
    if text is document.text:
        return document
    cleared = structs.replace(document, text=text)
    facts.extend(Fact(Kind.HIDDEN, one.target, cleared, _line(document, one.line), one.via) for one in notes[:200])
    return cleared


def _line(document: Document, line: int) -> int:
    return document.line if document.flat else document.line + line


def _count(text: str, offset: int) -> int:
    """How many lines stand before an offset."""
    return text.count("\n", 0, offset)


def _clear_controls(text: str, notes: list[Note]) -> str:
    if "\x1b" in text:
        if match := _CONCEALS.search(text):
            notes.append(Note("ansi", _count(text, match.start()), "terminal codes that hide or overwrite text"))
        text = _ANSI.sub("", text).replace("\x1b", " ")
    if "\b" in text:
        notes.append(Note("backspace", _count(text, text.index("\b")), "backspaces that overwrite text"))
        text = text.replace("\b", "")
    if "\r" in text:
        match = re.search(r"\S\r(?=[^\n\r])", text)
        if match:
            notes.append(
                Note("carriage-return", _count(text, match.start()), "a carriage return that overwrites the line")
            )
        text = text.replace("\r", " ")
    return text


def _read_smuggled(document: Document, text: str, notes: list[Note], children: list[Document]) -> str:
    """Decode tag characters and variation selectors, and remove them."""
    by_line: dict[int, list[str]] = {}
    lines = LineCounter(text)
    for match in _TAGS.finditer(text):
        if text[match.start() - 1 : match.start()] == _FLAG and len(match[0]) <= 8:
            continue
        by_line.setdefault(lines.count(match.start()), []).append(read_tags(match[0]))
    for line, pieces in by_line.items():
        if said := "".join(pieces):
            notes.append(Note("tag-characters", line, f"invisible: {said:.160}"))
            children.append(_child(document, said, "tag-characters", line))
    lines = LineCounter(text)
    for match in _SELECTORS.finditer(text):
        if len(match[0]) < 4:
            continue
        line = lines.count(match.start())
        said = read_selectors(match[0])
        notes.append(
            Note("variation-selectors", line, f"invisible: {said:.160}" if said else "many variation selectors")
        )
        if said:
            children.append(_child(document, said, "variation-selectors", line))
    return _SELECTORS.sub("", _TAGS.sub("", text))


def _child(document: Document, said: str, how: str, line: int) -> Document:
    child = make_child(document, said, guess_language(said), how, 0)
    return structs.replace(child, line=_line(document, line))


def _clear_unseen(document: Document, text: str, notes: list[Note], children: list[Document]) -> str:
    inside: dict[int, int] = {}
    lines = LineCounter(text)
    for match in _IN_WORD.finditer(text):
        line = lines.count(match.start())
        inside[line] = inside.get(line, 0) + 1
    for line, count in inside.items():
        target = "zero-width" if count >= _MANY else "stray-zero-width"
        notes.append(Note(target, line, f"{count} invisible characters inside words"))
    runs = [match for match in _RUN.finditer(text) if len(match[0]) >= _ROW]
    if runs:
        line = _count(text, runs[0].start())
        size = sum(len(match[0]) for match in runs)
        notes.append(Note("zero-width", line, f"{size} invisible characters in a row"))
        if said := read_bits("".join(match[0] for match in runs)):
            children.append(_child(document, said, "zero-width", line))
    _note_bidi(document, text, notes, children)
    return text.translate(_REMOVED).replace("\u2800", " ")


def _note_bidi(document: Document, text: str, notes: list[Note], children: list[Document]) -> None:
    first = next((match for match in re.finditer(f"[{_BIDI}]", text)), None)
    if first is None:
        return
    override = _OVERRIDE.search(text)
    if override or not _RTL.search(text):
        at = override.start() if override else first.start()
        notes.append(Note("bidi", _count(text, at), "characters that reverse the order in which text is shown"))
    for match in list(_OVERRIDE.finditer(text))[:50]:
        shown = match[0][1:][::-1].translate(_REMOVED).strip()
        if len(shown) >= 8:
            children.append(_child(document, shown, "reversed", _count(text, match.start())))


def _clear_combining(text: str, notes: list[Note]) -> str:
    """Accents become one with their letter; marks that are left over Latin letters are noise."""
    text = unicodedata.normalize("NFC", text)
    found = list(_COMBINING.finditer(text))
    if len(found) >= 6:
        notes.append(Note("combining-marks", _count(text, found[0].start()), "letters covered with marks"))
    return _COMBINING.sub(r"\1", text) if found else text
