"""Text turned by thirteen letters or written backwards, where the result holds words that give it away."""

import codecs
import re

from clawft.scan.documents import Document, make_child
from clawft.scan.intake.kinds import guess_language

__all__ = ["find_turned"]

# A few words in their turned form: whoever turns a command or an order can hardly do without one of them.
_ROTATED = ("uggc", "phey ", "onfu", "vafgehp", "cnffj", "vtaber", "rkrp", "vzcbeg ", "flfgrz", "gur ")
_REVERSED = ("ptth", "lruc", "hsab", "curtsni", "wssap", "erongi", "cexe", "tropmi", "metsys", " eht ")
_COMMON = re.compile(
    r"\b(?:the|and|you|your|this|that|with|from|for|not|user|file|read|send|run|import|print|os|sh|bash|curl|https?|all|to|of|is|in)\b",
    re.IGNORECASE,
)
_MAX_FOUND = 40
_REACH = 8_000


def find_turned(document: Document, children: list[Document]) -> None:
    """Add what lines say when turned, for those that then hold more common words than before."""
    lower = document.text.lower()
    _find(document, lower, _ROTATED, "rot13", children)
    _find(document, lower, _REVERSED, "reversed", children)


def _find(document: Document, lower: str, words: tuple[str, ...], how: str, children: list[Document]) -> None:
    found: set[int] = set()
    for word in words:
        at = lower.find(word)
        while at >= 0 and len(found) < _MAX_FOUND:
            break_ = lower.rfind("\n\n", max(0, at - _REACH), at)
            start = break_ + 2 if break_ >= 0 else max(0, at - _REACH)
            end = lower.find("\n\n", at, at + _REACH)
            end = min(len(lower), at + _REACH) if end < 0 else end
            if start not in found:
                found.add(start)
                _turn(document, start, end, how, children)
            at = lower.find(word, end)


def _turn(document: Document, start: int, end: int, how: str, children: list[Document]) -> None:
    """The lines of a paragraph that make more sense when they are turned, as one text."""
    turned: list[str] = []
    for line in document.text[start:end].split("\n"):
        other = codecs.encode(line, "rot13") if how == "rot13" else line[::-1]
        if len(_COMMON.findall(other)) > len(_COMMON.findall(line)):
            turned.append(other)
    if turned:
        text = "\n".join(turned)
        children.append(make_child(document, text, guess_language(text), how, start))
