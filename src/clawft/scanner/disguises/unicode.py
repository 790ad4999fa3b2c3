"""Unicode disguises: invisible and reordering characters are removed, lookalike letters folded."""

import re
import unicodedata

from msgspec import Struct, structs

from clawft.scanner.disguises.steganography import read_bits, read_selectors, read_tags
from clawft.scanner.facts import Document, Fact, Kind, make_child
from clawft.scanner.intake.language import guess_language
from clawft.scanner.regex import lazy


class DisguiseNote(Struct, frozen=True, gc=False):
    """One thing that was hidden: how, how many lines into the text, and what shows it."""

    target: str
    line: int
    via: str


class LineCounter:
    """Tells the lines of offsets that only grow, in one pass."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 0

    def count(self, offset: int) -> int:
        """Count the lines before an offset."""
        self.line += self.text.count("\n", self.at, offset)
        self.at = max(self.at, offset)
        return self.line


def _read_table(table: str) -> dict[int, str]:
    """Letters with the code points that look like them: in a source file they look the same."""
    return {
        int(code, 16): letter
        for letter, _, codes in (row.partition(":") for row in table.split())
        for code in codes.split(",")
    }


_CYRILLIC = _read_table(
    "a:430 e:435,451,4bd o:43e p:440 c:441,481 y:443,4af x:445 s:455 i:456,457 j:458 h:4bb,43d d:501 q:51b "
    "w:51d,461 k:43a m:43c t:442 b:432 r:433 A:410 B:412 E:415 K:41a M:41c H:41d O:41e P:420 C:421 T:422 "
    "Y:423,4ae X:425 S:405 I:406,4c0 J:408 G:50c Q:51a W:51c l:4cf v:475"
)
_GREEK = _read_table(
    "a:3b1 o:3bf,3c3 v:3bd p:3c1 i:3b9 k:3ba t:3c4 u:3c5 x:3c7 e:3b5 n:3b7 w:3c9 c:3f2 j:3f3 A:391 B:392 "
    "E:395 Z:396 H:397 I:399 K:39a M:39c N:39d O:39f P:3a1 T:3a4 Y:3a5 X:3a7"
)
_OTHER = _read_table(
    "i:131,269,26a j:237,1d0a,575 a:251,1d00 g:261,262,581 l:1c0,29f r:280 b:299 h:29c,570,13c2 n:274,578 y:28f c:1d04 "
    "d:1d05 e:1d07 k:1d0b m:1d0d o:1d0f,585 p:1d18 t:1d1b u:1d1c,57d v:1d20 w:1d21 z:1d22 s:a731 f:a730 q:566 D:13a0 "
    "R:13a1 T:13a2 A:13aa E:13ac W:13b3,13d4 H:13bb G:13c0 Z:13c3 S:13da L:13de C:13df P:13e2 K:13e6 B:13f4"
)
_FOLDED = {**_CYRILLIC, **_GREEK, **_OTHER}
_CHARACTERS = frozenset(map(chr, _FOLDED))
_FOREIGN = (
    "\u0131\u0237\u0251\u0261\u0269\u026a\u01c0\u0280\u0299\u0262\u029c\u0274\u028f\u029f"
    "\u0370-\u03ff\u0400-\u052f\u0561-\u0587\u13a0-\u13ff\u1d00-\u1d22\ua730\ua731"
)
_EDGE = lazy(f"[A-Za-z][{_FOREIGN}]|[{_FOREIGN}][A-Za-z]")
_WORD = lazy(f"[A-Za-z0-9{_FOREIGN}]+")
_FUNCTIONS = lazy("sin|cos|tan|cot|sec|log|ln|exp|lim|max|min|arg|var|cov|grad|div")  # of angles and so on
_TURKISH = frozenset("\u015f\u015e\u011f\u011e\u0130\u00e7\u00f6\u00fc")  # the dotless i is a letter of its own there
_SUFFIXED = lazy("[A-Z0-9]{2,}[\u0430-\u044f]{1,3}$")  # an acronym with a Russian ending
_WIDE = lazy("[\uff01-\uff5e]")
_WIDE_WORD = lazy("[\uff21-\uff3a\uff41-\uff5a]{4,}")
_STYLED = lazy("[\U0001d400-\U0001d7ff\u2460-\u24ff\u2100-\u214f\U0001f130-\U0001f189\u1d2c-\u1d6a\u2070-\u209c]")
_STYLED_WORD = lazy("[\U0001d400-\U0001d7ff\u24b6-\u24e9\U0001f130-\U0001f189]{4,}")


def fold_lookalikes(text: str, odd: set[str], notes: list[DisguiseNote]) -> str:
    """Fold full-width and styled letters, and lookalikes in words that are Latin otherwise. `odd`: all but ASCII."""
    if any("\uff01" <= char <= "\uff5e" for char in odd):
        text = _fold(text, _WIDE, _WIDE_WORD, "full-width", notes)
    if any(_STYLED.match(char) for char in odd):
        text = _fold(text, _STYLED, _STYLED_WORD, "styled-letters", notes)
    if not odd.isdisjoint(_CHARACTERS) and (odd.isdisjoint(_TURKISH) or odd & _CHARACTERS != {"\u0131"}):
        text = _fold_mixed(text, odd, notes)
    return text


def _fold(text: str, letters: re.Pattern[str], words: re.Pattern[str], target: str, notes: list[DisguiseNote]) -> str:
    if match := words.search(text):
        shown = unicodedata.normalize("NFKC", match[0])
        notes.append(
            DisguiseNote(target, text.count("\n", 0, match.start()), f"written in letters of another form: {shown:.60}")
        )
    return letters.sub(lambda match: _plain(match[0]), text)


def _plain(letter: str) -> str:
    plain = unicodedata.normalize("NFKC", letter)
    return plain if plain.isascii() and plain.isprintable() and len(plain) == 1 else letter


def _fold_mixed(text: str, odd: set[str], notes: list[DisguiseNote]) -> str:
    """Fold the lookalikes in words with Latin letters, and whole words where nothing else is in their script."""
    pieces: list[str] = []
    at = 0
    mixed: dict[int, list[str]] = {}
    lines = LineCounter(text)
    alone = not any(
        char not in _CHARACTERS and ("\u0400" <= char <= "\u052f" or "\u13a0" <= char <= "\u13ff") for char in odd
    )
    if not alone and not _EDGE.search(text):
        return text
    for match in _WORD.finditer(text):
        word = match[0]
        if word.isascii() or not _is_disguised(word, alone):
            continue
        pieces += (text[at : match.start()], word.translate(_FOLDED))
        at = match.end()
        mixed.setdefault(lines.count(match.start()), []).append(pieces[-1])
    for line, words in mixed.items():
        notes.append(DisguiseNote("homoglyphs", line, f"letters of another script in: {', '.join(words[:5])}"))
    return "".join((*pieces, text[at:])) if pieces else text


def _is_disguised(word: str, alone: bool) -> bool:
    foreign = [char for char in word if not char.isascii()]
    if not all(ord(char) in _FOLDED for char in foreign) or len(word) < 3:
        return False
    latin = sum(char.isascii() and char.isalpha() for char in word)
    if latin == 0:
        return alone and len(word) >= 4 and all(ord(char) in _CYRILLIC or ord(char) in _OTHER for char in foreign)
    if not any(char.isascii() and char.isalpha() for char in _FUNCTIONS.sub("", word)):
        return False
    greek = any(ord(char) in _GREEK for char in foreign)
    return not _SUFFIXED.match(word) and (latin >= 3 if greek else latin >= 2 or len(foreign) >= 3)


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


def undisguise_text(document: Document, facts: list[Fact], children: list[Document]) -> Document:
    """The document without what cannot be seen, its lookalike letters folded; what that hid goes to the lists."""
    text = document.text
    notes: list[DisguiseNote] = []
    if "\x1b" in text or "\b" in text or "\r" in text:
        text = _clear_controls(text, [] if document.origin else notes)  # decoded, they are what a program prints
    try:
        raw = text.encode()
    except UnicodeEncodeError:  # halves of characters, which cannot be written out
        raw = text.encode("utf-8", "replace")
        text = raw.decode()
    odd = set(raw.translate(None, _ASCII).decode())
    if (
        any("\ufe00" <= char <= "\ufe0d" or char >= "\U000e0000" for char in odd)
        or "\ufe0f\ufe0f" in text
        or "\ufe0e\ufe0f" in text
    ):
        text = _read_smuggled(document, text, notes, children)
    if not odd.isdisjoint(_UNSEEN):
        text = _clear_unseen(document, text, notes, children)
    if any("\u0300" <= char <= "\u036f" or "\u20d0" <= char <= "\u20f0" or char in "\u0488\u0489" for char in odd):
        text = _clear_combining(text, notes)
    text = fold_lookalikes(text, odd, notes)
    if text is document.text:
        return document
    cleared = structs.replace(document, text=text)
    facts.extend(Fact(Kind.HIDDEN, note.target, cleared, _line(document, note.line), note.via) for note in notes[:200])
    return cleared


def _line(document: Document, line: int) -> int:
    return document.line if document.flat else document.line + line


def _count(text: str, offset: int) -> int:
    """Count the lines before an offset."""
    return text.count("\n", 0, offset)


def _clear_controls(text: str, notes: list[DisguiseNote]) -> str:
    if "\x1b" in text:
        if match := _CONCEALS.search(text):
            notes.append(
                DisguiseNote("ansi", _count(text, match.start()), "terminal codes that hide or overwrite text")
            )
        text = _ANSI.sub("", text).replace("\x1b", " ")
    if "\b" in text:
        notes.append(DisguiseNote("backspace", _count(text, text.index("\b")), "backspaces that overwrite text"))
        text = text.replace("\b", "")
    if "\r" in text:
        match = re.search(r"\S\r(?=[^\n\r])", text)
        if match:
            notes.append(
                DisguiseNote(
                    "carriage-return", _count(text, match.start()), "a carriage return that overwrites the line"
                )
            )
        text = text.replace("\r", " ")
    return text


def _read_smuggled(document: Document, text: str, notes: list[DisguiseNote], children: list[Document]) -> str:
    """Decode tag characters and variation selectors, and remove them."""
    by_line: dict[int, list[str]] = {}
    lines = LineCounter(text)
    for match in _TAGS.finditer(text):
        if text[match.start() - 1 : match.start()] == _FLAG and len(match[0]) <= 8:
            continue
        by_line.setdefault(lines.count(match.start()), []).append(read_tags(match[0]))
    for line, pieces in by_line.items():
        if note := "".join(pieces):
            notes.append(DisguiseNote("tag-characters", line, f"invisible: {note:.160}"))
            children.append(_child(document, note, "tag-characters", line))
    lines = LineCounter(text)
    for match in _SELECTORS.finditer(text):
        if len(match[0]) < 4:
            continue
        line = lines.count(match.start())
        note = read_selectors(match[0])
        notes.append(
            DisguiseNote("variation-selectors", line, f"invisible: {note:.160}" if note else "many variation selectors")
        )
        if note:
            children.append(_child(document, note, "variation-selectors", line))
    return _SELECTORS.sub("", _TAGS.sub("", text))


def _child(document: Document, note: str, how: str, line: int) -> Document:
    child = make_child(document, note, guess_language(note), how, 0)
    return structs.replace(child, line=_line(document, line))


def _clear_unseen(document: Document, text: str, notes: list[DisguiseNote], children: list[Document]) -> str:
    inside: dict[int, int] = {}
    lines = LineCounter(text)
    for match in _IN_WORD.finditer(text):
        line = lines.count(match.start())
        inside[line] = inside.get(line, 0) + 1
    for line, count in inside.items():
        target = "zero-width" if count >= _MANY else "stray-zero-width"
        notes.append(DisguiseNote(target, line, f"{count} invisible characters inside words"))
    runs = [match for match in _RUN.finditer(text) if len(match[0]) >= _ROW]
    if runs:
        line = _count(text, runs[0].start())
        size = sum(len(match[0]) for match in runs)
        notes.append(DisguiseNote("zero-width", line, f"{size} invisible characters in a row"))
        if note := read_bits("".join(match[0] for match in runs)):
            children.append(_child(document, note, "zero-width", line))
    _note_bidi(document, text, notes, children)
    return text.translate(_REMOVED).replace("\u2800", " ")


def _note_bidi(document: Document, text: str, notes: list[DisguiseNote], children: list[Document]) -> None:
    first = next((match for match in re.finditer(f"[{_BIDI}]", text)), None)
    if first is None:
        return
    override = _OVERRIDE.search(text)
    if override or not _RTL.search(text):
        at = override.start() if override else first.start()
        notes.append(DisguiseNote("bidi", _count(text, at), "characters that reverse the order in which text is shown"))
    for match in list(_OVERRIDE.finditer(text))[:50]:
        shown = match[0][1:][::-1].translate(_REMOVED).strip()
        if len(shown) >= 8:
            children.append(_child(document, shown, "reversed", _count(text, match.start())))


def _clear_combining(text: str, notes: list[DisguiseNote]) -> str:
    """Accents become one with their letter; marks that are left over Latin letters are noise."""
    text = unicodedata.normalize("NFC", text)
    found = list(_COMBINING.finditer(text))
    if len(found) >= 6:
        notes.append(DisguiseNote("combining-marks", _count(text, found[0].start()), "letters covered with marks"))
    return _COMBINING.sub(r"\1", text) if found else text
