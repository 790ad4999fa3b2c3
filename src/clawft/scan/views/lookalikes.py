"""Letters that look like Latin ones: folded where a Latin word is meant, left alone in a text of their own script."""

import re
import unicodedata

from clawft.scan.lazy import lazy
from clawft.scan.views.notes import LineCounter, Note

__all__ = ["fold_lookalikes"]


def _read_table(table: str) -> dict[int, str]:
    """Letters with the code points that look like them: in a source file they could not be told apart."""
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
    "i:131,269,26a j:237,1d0a,575 a:251,1d00 g:261,262,581 l:1c0,29f r:280 b:299 h:29c,570,13c2 n:274,578 "
    "y:28f c:1d04 d:1d05 e:1d07 k:1d0b m:1d0d o:1d0f,585 p:1d18 t:1d1b u:1d1c,57d v:1d20 w:1d21 z:1d22 s:a731 "
    "f:a730 q:566 D:13a0 R:13a1 T:13a2 A:13aa E:13ac W:13b3,13d4 H:13bb G:13c0 Z:13c3 S:13da L:13de C:13df "
    "P:13e2 K:13e6 B:13f4"
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


def fold_lookalikes(text: str, odd: set[str], notes: list[Note]) -> str:
    """Fold full-width and styled letters, and lookalikes in words that are Latin otherwise. `odd`: all but ASCII."""
    if any("\uff01" <= one <= "\uff5e" for one in odd):
        text = _fold(text, _WIDE, _WIDE_WORD, "full-width", notes)
    if any(_STYLED.match(one) for one in odd):
        text = _fold(text, _STYLED, _STYLED_WORD, "styled-letters", notes)
    if not odd.isdisjoint(_CHARACTERS) and (odd.isdisjoint(_TURKISH) or odd & _CHARACTERS != {"\u0131"}):
        text = _fold_mixed(text, odd, notes)
    return text


def _fold(text: str, letters: re.Pattern[str], words: re.Pattern[str], target: str, notes: list[Note]) -> str:
    if match := words.search(text):
        shown = unicodedata.normalize("NFKC", match[0])
        notes.append(
            Note(target, text.count("\n", 0, match.start()), f"written in letters of another form: {shown:.60}")
        )
    return letters.sub(lambda match: _plain(match[0]), text)


def _plain(letter: str) -> str:
    plain = unicodedata.normalize("NFKC", letter)
    return plain if plain.isascii() and plain.isprintable() and len(plain) == 1 else letter


def _fold_mixed(text: str, odd: set[str], notes: list[Note]) -> str:
    """Fold the lookalikes in words with Latin letters, and whole words where nothing else is in their script."""
    pieces: list[str] = []
    at = 0
    mixed: dict[int, list[str]] = {}
    lines = LineCounter(text)
    alone = not any(
        one not in _CHARACTERS and ("\u0400" <= one <= "\u052f" or "\u13a0" <= one <= "\u13ff") for one in odd
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
        notes.append(Note("homoglyphs", line, f"letters of another script in: {', '.join(words[:5])}"))
    return "".join((*pieces, text[at:])) if pieces else text


def _is_disguised(word: str, alone: bool) -> bool:
    foreign = [one for one in word if not one.isascii()]
    if not all(ord(one) in _FOLDED for one in foreign) or len(word) < 3:
        return False
    latin = sum(one.isascii() and one.isalpha() for one in word)
    if latin == 0:
        return alone and len(word) >= 4 and all(ord(one) in _CYRILLIC or ord(one) in _OTHER for one in foreign)
    if not any(one.isascii() and one.isalpha() for one in _FUNCTIONS.sub("", word)):
        return False
    greek = any(ord(one) in _GREEK for one in foreign)
    return not _SUFFIXED.match(word) and (latin >= 3 if greek else latin >= 2 or len(foreign) >= 3)
