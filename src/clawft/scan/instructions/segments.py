"""The parts of a Markdown text: blocks of prose with their headings, and the code, comments and metadata between them.

A light reading line by line, not a renderer: what matters is which words stand together, under which heading, and what
a reader of the rendered page would not see. Every part is a slice of the text, so its offset gives its line.
"""

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

__all__ = ["Part", "split_markdown"]

MAX_HEADING = 200
MAX_LEAD = 600


class Part(Struct):
    """A block of a Markdown text: offsets, and the titles above it but for the document's own."""

    kind: str  # "prose", "quote", "table", "heading", "code", "comment", "frontmatter"
    start: int
    end: int
    headings: tuple[str, ...] = ()
    info: str = ""  # the info string of a fence
    lead: str = ""  # for code: the prose right before it


_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})([^`\n]*)$")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


def split_markdown(text: str, limit: int | None = None) -> list[Part]:
    """Every block of a text, in order, or so many. Text that is no Markdown is one or more blocks of prose."""
    return list(islice(_Splitter(text).split(), limit))


class _Splitter:
    """The state of one reading: where it is, the headings above, the block that is open."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.titles: list[tuple[int, str]] = []
        self.titled = False  # the first heading names the document: it says nothing of a place in it
        self.headings: tuple[str, ...] = ()
        self.kind = ""
        self.start = 0
        self.end = 0
        self.lead = (0, 0)
        self.in_list = False

    def split(self) -> Iterator[Part]:
        text, size = self.text, len(self.text)
        yield from self._frontmatter()
        while self.at < size:
            stop = text.find("\n", self.at)
            stop = size if stop < 0 else stop
            line = text[self.at : stop]
            bare = line.strip()
            if not bare:
                yield from self._close()
                self.at = stop + 1
            else:
                yield from self._line(line, bare, stop)
        yield from self._close()

    def _frontmatter(self) -> Iterator[Part]:
        match = re.match(r"\ufeff?\s{0,20}---[ \t]*\r?\n", self.text)
        if match is None:
            return
        end = re.compile(r"^(?:---|\.\.\.)[ \t\r]*$", re.MULTILINE).search(self.text, match.end())
        if end is not None:
            yield Part("frontmatter", match.end(), end.start())
            self.at = min(len(self.text), end.end() + 1)

    def _line(self, line: str, bare: str, stop: int) -> Iterator[Part]:
        first = bare[0]
        if ("```" in line or "~~~" in line) and (match := _FENCE.match(line)):
            yield from self._fence(match, stop)
        elif "<!--" in line and (comment := self._find_comment(line)):
            yield from self._comment(*comment)
        elif first == "#" and (match := _HEADING.match(line)):
            yield from self._close()
            yield from self._heading(len(match[1]), match[2].strip(" \t#\r"), stop)
        elif first in "=-" and self.kind == "prose" and _UNDERLINE.match(line):
            title = self.text[self.start : self.end].strip()
            self.kind = ""
            if title.count("\n") == 0:
                yield from self._heading(1 if first == "=" else 2, title, stop)
            else:
                yield Part("prose", self.start, self.end, self.headings)
                self.at = stop + 1
        elif not self.kind and not self.in_list and line[:1] in " \t" and (line[:1] == "\t" or line[:4] == "    "):
            yield from self._indented()
        else:
            yield from self._add(first, line, stop)

    def _add(self, first: str, line: str, stop: int) -> Iterator[Part]:
        kind = "quote" if first == ">" else "table" if first == "|" else "prose"
        if kind != self.kind:
            yield from self._close()
            self.kind, self.start = kind, self.at
        if line[:1] not in " \t" or self.kind != "prose":
            self.in_list = False
        if _MARKER.match(line):
            self.in_list = True
        self.end = stop
        self.at = stop + 1

    def _close(self) -> Iterator[Part]:
        if self.kind:
            yield Part(self.kind, self.start, self.end, self.headings)
            self.lead = (self.start, self.end)
            self.kind = ""

    def _heading(self, level: int, title: str, stop: int) -> Iterator[Part]:
        while self.titles and self.titles[-1][0] >= level:
            self.titles.pop()
        self.titles.append((level, title[:MAX_HEADING] if self.titled or level > 1 else ""))
        self.titled = True
        self.headings = tuple(one for _, one in self.titles if one)
        self.lead = (0, 0)
        self.in_list = False
        yield Part("heading", self.at, stop, self.headings)
        self.at = stop + 1

    def _fence(self, match: re.Match[str], stop: int) -> Iterator[Part]:
        yield from self._close()
        mark, start = match[1], stop + 1
        at = start
        close = re.compile(rf"^[ \t>]*{mark[0]}{{{len(mark)},}}[ \t\r]*$", re.MULTILINE).search(self.text, at)
        end = close.start() if close else len(self.text)
        yield Part("code", min(start, end), end, self.headings, match[2].strip(), self._lead())
        self.at = close.end() + 1 if close else end

    def _find_comment(self, line: str) -> tuple[int, int] | None:
        """Where a comment begins and ends; none when it is shown as code or never ends (then it is read as prose)."""
        at = line.find("<!--")
        if line[:at].count("`") % 2:
            return None
        at += self.at
        end = self.text.find("-->", at + 4)
        return None if end < 0 else (at, end)

    def _comment(self, at: int, end: int) -> Iterator[Part]:
        if self.text[self.at : at].strip():
            self.kind = self.kind or "prose"
            self.start = self.start if self.end >= self.at - 1 and self.end else self.at
            self.end = at
        yield from self._close()
        yield Part("comment", at + 4, end, self.headings)
        self.at = min(len(self.text), end + 3)
        if self.text[self.at : self.at + 1] == "\n":
            self.at += 1

    def _indented(self) -> Iterator[Part]:
        match = re.compile(r"(?:(?: {4}|\t)[^\n]*(?:\n|\Z)|[ \t]*\n)+").match(self.text, self.at)
        end = match.end() if match else self.text.find("\n", self.at) + 1 or len(self.text)
        end = max(end, self.at + 1)
        yield Part("code", self.at, end, self.headings, "", self._lead())
        self.at = end

    def _lead(self) -> str:
        start, end = self.lead
        return self.text[max(start, end - MAX_LEAD) : end].strip()
