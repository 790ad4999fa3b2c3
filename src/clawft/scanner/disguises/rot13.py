"""Text in rot13 or written backwards, where the decoded text holds more common words."""

import codecs
import re
from itertools import islice

from clawft.scanner.disguises.encodings import REVERSED, ROTATED, Signs
from clawft.scanner.facts import Document, make_child
from clawft.scanner.intake.language import guess_language
from clawft.scanner.regex import lazy, words

_COMMON = words(
    """
    the and you your this that with from for not user file read send run import print os sh bash curl http https all to
    of is in tar cat ssh aws eval exec echo wget env key
    """
)
_WORD = lazy(r"\w+")
_STRING = lazy(r"""(["'`])((?:(?!\1)[^\n\\]){0,4000})\1""")
_LETTERS = bytes(97 if chr(byte).isalpha() and byte < 128 else 32 for byte in range(256))
_SPREAD = b" a a a a "
_APART = lazy(r"(?<![A-Za-z])(?:[A-Za-z][ .*_|\n-]{1,3}){6,400}[A-Za-z](?![A-Za-z])")
_SET_APART = re.compile(rb" a {1,3}a {1,3}a {1,3}a {1,3}a ")
_SEPARATED = bytes(
    97 if chr(byte).isalpha() and byte < 128 else 32 if byte in b" .*_|\n-" else 33 for byte in range(256)
)
_MAX_FOUND = 40
_REACH = 8_000


def find_turned(document: Document, data: bytes, signs: Signs, children: list[Document]) -> bool:
    """Add what lines say when turned, for those that then hold more common words than before.

    `data`: the text as UTF-8. Returns whether all of it was looked at.
    """
    everything = True
    if _SET_APART.search(data.translate(_SEPARATED)) and _SPREAD in data.translate(_LETTERS):
        everything = _gather(document, children)
    for marks, how in ((ROTATED, "rot13"), (REVERSED, "reversed")):
        if any(mark in signs for mark in marks):
            everything &= _find(document, marks, how, children)
    return everything


def _gather(document: Document, children: list[Document]) -> bool:
    """Letters set apart by blanks, dots or line breaks, put together again in their lines."""
    text, done = document.text, 0
    found = list(islice(_APART.finditer(text), _MAX_FOUND))
    for match in found:
        start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
        end = len(text) if end < 0 else end
        if start < done or end - start > _REACH:
            continue
        done = end
        line = _APART.sub(_join_letters, text[start:end])
        if _count_common(line) > _count_common(text[start:end]):
            children.append(make_child(document, line, guess_language(line), "spread-letters", start))
    return len(found) < _MAX_FOUND


def _join_letters(match: re.Match[str]) -> str:
    gap = next((gap for gap in ("  ", "\n\n") if gap in match[0]), "")
    apart = match[0].split(gap) if gap else [match[0]]
    return " ".join(filter(None, (re.sub(r"[\W_]", "", word) for word in apart)))


def _find(document: Document, marks: tuple[bytes, ...], how: str, children: list[Document]) -> bool:
    lower = document.text.lower()
    found: set[int] = set()
    for mark in map(bytes.decode, marks):
        at = lower.find(mark)
        while at >= 0 and len(found) < _MAX_FOUND:
            end_before = lower.rfind("\n\n", max(0, at - _REACH), at)
            start = end_before + 2 if end_before >= 0 else max(0, at - _REACH)
            end = lower.find("\n\n", at, at + _REACH)
            end = min(len(lower), at + _REACH) if end < 0 else end
            if start not in found:
                found.add(start)
                _turn(document, start, end, how, children)
            at = lower.find(mark, end)
    return len(found) < _MAX_FOUND


def _turn(document: Document, start: int, end: int, how: str, children: list[Document]) -> None:
    """The strings and lines of a paragraph that make more sense when they are turned, as one text."""
    turned: list[str] = []
    for line in document.text[start:end].split("\n"):
        strings = [match[2] for match in _STRING.finditer(line) if len(match[2]) >= 12]
        turned += [other for string in (*strings, line) if (other := _turn_one(string, how)) and other not in turned]
    if turned:
        text = "\n".join(turned)
        children.append(make_child(document, text, guess_language(text), how, start))


def _turn_one(text: str, how: str) -> str:
    """A text turned, if it then holds more common words than before; empty otherwise."""
    other = codecs.encode(text, "rot13") if how == "rot13" else text[::-1]
    return other if _count_common(other) > _count_common(text) else ""


def _count_common(text: str) -> int:
    return sum(word in _COMMON for word in _WORD.findall(text.lower()))
