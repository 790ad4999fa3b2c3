"""Markdown code and comments, in which nothing is ever run: fences, indented code, code spans.

Where it is not sure, a part counts as code: what is left as text does no harm.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*)")
_QUOTE = re.compile(r"[ \t]{0,3}(?:>[ \t]?)+")
_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$)")
_SPECIAL = frozenset(" \t>`~-*+0123456789\r\f\v")  # what a line may begin with that is more than plain prose
_INDENT = 4  # columns that make a line after a blank one code
_RUN = re.compile(r"`+")


class DynamicBlock(Struct, frozen=True):
    """A fence marked with `!`: where it stands, and the lines in it."""

    start: int
    end: int
    content: str


class Prose(Struct, frozen=True):
    """The lines of a text that are no code, as places in it; and its blocks that are meant to be run."""

    lines: tuple[tuple[int, int], ...]
    blocks: tuple[DynamicBlock, ...]


class _Fence(Struct):
    mark: str
    indent: int
    quoted: bool
    runs: bool
    start: int
    inner: int  # where its first line begins


def split_code(text: str) -> Prose:
    """Tell prose from code, line by line."""
    reader = _Reader(text)
    for start, end in _lines(text):
        reader.take(start, end)
    return Prose(tuple(_without_comments(text, reader.lines)), tuple(reader.blocks))


def is_code(text: str, at: int) -> bool:
    """Return whether a place is in a fence, in indented code or in a comment."""
    lines = _split_once(text).lines
    line = bisect_right(lines, at, key=lambda span: span[0]) - 1
    return line < 0 or at >= lines[line][1]


_split_once = lru_cache(maxsize=4)(split_code)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield start, end
        start = end + 1
    yield start, len(text)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._fence: _Fence | None = None
        self._blank = True  # whether the line before was blank, or indented code
        self._inset = 0  # where the text of the list item above begins
        self.lines: list[tuple[int, int]] = []
        self.blocks: list[DynamicBlock] = []

    def take(self, start: int, end: int) -> None:
        if self._fence is None and start < end and self._text[start] not in _SPECIAL:
            self._inset = 0 if self._blank else self._inset
            self._blank = False
            self.lines.append((start, end))
            return None
        line = self._text[start:end]
        quote = _QUOTE.match(line)
        rest = line[quote.end() :] if quote else line
        if self._fence is not None:
            if not self._fence.quoted or quote:
                return self._inside(self._fence, rest, start, end)
            self._fence = None  # a quote ends, and with it what was open in it
        if not rest.strip():
            self._blank = True
            return None
        return self._outside(rest, bool(quote), start, end)

    def _inside(self, fence: _Fence, rest: str, start: int, end: int) -> None:
        closing = rest.strip()
        is_mark = closing.startswith(fence.mark) and not closing.strip(fence.mark[0])
        if is_mark and _width(rest) <= fence.indent + 3:
            if fence.runs:
                self.blocks.append(DynamicBlock(fence.start, end, self._text[fence.inner : start]))
            self._fence, self._blank = None, False

    def _outside(self, rest: str, quoted: bool, start: int, end: int) -> None:
        indent = _width(rest)
        if self._blank and indent >= self._inset + _INDENT:
            return  # indented code; what follows it without indentation is none
        at = begin = len(rest) - len(rest.lstrip(" \t"))
        while item := _ITEM.match(rest, at):
            at = item.end()
        inset = indent + at - begin
        if inset > indent:
            self._inset = inset
        elif self._blank and indent < self._inset:
            self._inset = 0
        self._blank = False
        fence = _FENCE.match(rest, at)
        if fence and not (fence["fence"][0] == "`" and "`" in fence["info"]):
            runs = fence["info"].strip() == "!" and not quoted
            self._fence = _Fence(fence["fence"], inset, quoted, runs, start, min(end + 1, len(self._text)))
        else:
            self.lines.append((start, end))


def _width(line: str) -> int:
    """Return how far a line is indented, in columns."""
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))


def _without_comments(text: str, lines: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The lines that have no part in an HTML comment."""
    opened, last = -1, text.rfind("-->")
    for start, end in lines:
        touched = opened >= 0
        at = start
        while at >= 0:
            at = text.find("-->", at, end) if opened >= 0 else text.find("<!--", at, end)
            if at >= 0:
                touched, opened = True, (-1 if opened >= 0 else at)
                at += 3
        if opened >= 0 and last < end:
            opened = -1  # it never ends, so it is none
        if not touched:
            yield start, end


def find_code_spans(line: str) -> Iterator[tuple[int, int, bool]]:
    """The parts of a line between backticks, and whether a `!` after white space or at its start calls to run one."""
    runs = [(match.start(), match.end()) for match in _RUN.finditer(line)]
    hopeless: set[int] = set()  # lengths of which there is no more to come
    index = 0
    while index < len(runs):
        start, end = runs[index]
        size = end - start
        following = () if size in hopeless else range(index + 1, len(runs))
        close = next((candidate for candidate in following if runs[candidate][1] - runs[candidate][0] == size), None)
        if close is None:
            hopeless.add(size)
            index += 1
            continue
        called = size == 1 and line[start - 1 : start] == "!" and (start < 2 or line[start - 2].isspace())
        yield start, runs[close][1], called
        index = close + 1
