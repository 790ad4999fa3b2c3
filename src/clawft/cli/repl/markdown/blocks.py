"""Lines of Markdown to blocks, each as soon as it is complete. Every line is looked at once; nothing recurses.

Containers (quotes and list items) are matched by CommonMark's rules, and a block inside them is handed on by itself,
so that long lists and code in them do not wait. It differs where text would get lost or wait: link definitions and
HTML are text, a table ends with a line that has no `|`, and code in an item need not be indented.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from clawft.cli.repl.markdown.tables import split_row

MAX_PENDING = 64 * 1024  # characters that wait for the end of their block
_MAX_DEPTH = 12  # quotes and lists deeper than this are text

BlockKind = Literal["paragraph", "text", "heading", "rule", "table", "indented", "label", "code", "raw", "empty"]

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})(.*)")
_HEADING = re.compile(r"(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r"(=+|-+)[ \t]*$")
_ITEM = re.compile(r"([-+*]|(\d{1,9})[.)])(?=[ \t]|$)")
_BULLETS = ("- ", "* ", "+ ")
_DELIMITERS = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")


@dataclass(eq=False, slots=True)
class MarkdownContainer:
    """A quote (no marker) or a list item, and whether a block was shown in it."""

    marker: str = ""
    indent: int = 0  # columns of its content
    written: int = 0  # the number in the source
    number: int = 0
    used: bool = False


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """A piece to show: inside `path`, of which the containers from `fresh` on begin here."""

    kind: BlockKind
    text: str
    path: Sequence[MarkdownContainer]
    fresh: int
    gap: bool  # a blank line comes before
    level: int = 0


@dataclass(slots=True)
class _Fence:
    mark: str
    indent: int


class BlockReader:
    """Takes complete lines without their ends; gives the blocks that are complete with them."""

    def __init__(self) -> None:
        self._open: list[MarkdownContainer] = []
        self._leaf: list[str] = []  # lines of the block that is not complete
        self._kind: BlockKind = "paragraph"
        self._source: list[str] = []  # the same lines with the marks of their containers
        self._size = 0
        self._fence: _Fence | None = None
        self._blank = False
        self._first = True
        self._out: list[MarkdownBlock] = []

    @property
    def pending(self) -> list[str]:
        """Source lines of which nothing was handed on."""
        return self._source

    def read(self, line: str) -> list[MarkdownBlock]:
        """The blocks that this line completes."""
        self._read(line)
        return self._take()

    def close(self) -> list[MarkdownBlock]:
        """The blocks that the end of the text completes."""
        self._pop(0)
        self._end_leaf()
        return self._take()

    def read_raw(self, text: str) -> list[MarkdownBlock]:
        """Show the start of a line that is too long to wait for. The caller shows the rest of it."""
        if self._fence is None:
            self._pop(0)
            self._end_leaf()
        self._emit("code" if self._fence else "raw", text, gap=False if self._fence else None)
        return self._take()

    def _take(self) -> list[MarkdownBlock]:
        done, self._out = self._out, []
        return done

    def _read(self, line: str) -> None:
        matched, rest = self._match(line)
        # Models close their code but do not always indent it below its item.
        if self._fence and all(container.marker for container in self._open[matched:]):
            self._read_code(self._fence, rest)
            return
        if not rest.strip(" \t"):
            self._read_blank(matched)
            return
        rest = _untabbed(rest)
        if matched < len(self._open) and self._is_lazy(rest):
            self._add(rest, line)
            return
        sibling = self._open[matched] if matched < len(self._open) else None
        self._pop(matched)
        self._read_leaf(self._enter(rest, sibling), line)

    def _match(self, line: str) -> tuple[int, str]:
        """Return how many open containers continue in this line, and the rest of the line inside them."""
        for depth, container in enumerate(self._open):
            line = _untabbed(line)
            bare = line.lstrip(" ")
            indent = len(line) - len(bare)
            if not container.marker:
                if indent > 3 or not bare.startswith(">"):
                    return depth, line
                line = bare[2:] if bare[1:2] == " " else bare[1:]
            elif not bare:
                # An item that starts with an empty line ends with the next.
                if not container.used and not self._leaf and depth == len(self._open) - 1:
                    return depth, line
            elif indent >= container.indent or (indent >= 2 and container.written and bare[:2] in _BULLETS):
                line = line[min(indent, container.indent) :]  # models indent bullets below `1.` by two
            else:
                return depth, line
        return len(self._open), line

    def _read_code(self, fence: _Fence, rest: str) -> None:
        bare = rest.strip(" \t")
        if len(bare) >= len(fence.mark) and not bare.strip(fence.mark[0]) and not rest.startswith("    "):
            self._fence = None
            return
        spaces = len(rest) - len(rest.lstrip(" "))
        self._emit("code", rest[min(spaces, fence.indent) :], gap=False)

    def _read_blank(self, matched: int) -> None:
        self._pop(matched)
        self._end_leaf()
        self._blank = True

    def _is_lazy(self, rest: str) -> bool:
        """Return whether a line without the marks of its containers still goes on with their paragraph."""
        if not self._leaf or self._kind != "paragraph":
            return False
        return rest.startswith("    ") or not _starts_block(rest, in_paragraph=False)

    def _enter(self, rest: str, sibling: MarkdownContainer | None) -> str:
        """Open the quotes and items that start here; what is left of the line."""
        while len(self._open) < _MAX_DEPTH and not rest.startswith("    "):
            bare = rest.lstrip(" ")
            item = _ITEM.match(bare)
            if bare.startswith(">"):
                self._end_leaf()
                self._open.append(MarkdownContainer())
                rest = _untabbed(bare[2:] if bare[1:2] in (" ", "\t") else bare[1:])
            elif item and not _is_rule(bare) and not (self._leaf and not _interrupts(item, bare)):
                self._end_leaf()
                rest = self._enter_item(item, len(rest) - len(bare), _untabbed(bare[item.end() :]), sibling)
            else:
                break
            sibling = None
        return rest

    def _enter_item(self, item: re.Match[str], indent: int, content: str, sibling: MarkdownContainer | None) -> str:
        mark, digits = item[1], item[2]
        written = number = int(digits or 0)
        if sibling and sibling.marker[-1:] == mark[-1] and sibling.written == written:
            number = sibling.number + 1  # `1.` again and again counts; other numbers are as written
        spaces = len(content) - len(content.lstrip(" "))
        pad = spaces if 1 <= spaces <= 4 and content.strip() else 1
        marker = f"{number}{mark[-1]}" if digits else mark
        self._open.append(MarkdownContainer(marker, indent + len(mark) + pad, written, number))
        return content[pad:]

    def _read_leaf(self, rest: str, line: str) -> None:
        bare = rest.strip(" \t")
        if not bare:  # a quote or an item that starts with an empty line
            self._source.append(line)
        elif self._kind == "indented" and self._leaf and rest.startswith("    "):
            self._add(rest, line)
        elif rest.startswith("    ") and not self._leaf:
            self._add(rest, line, "indented")
        elif self._leaf and self._kind == "paragraph" and not rest.startswith("    ") and self._underlined(bare, line):
            return
        elif _starts_block(rest, in_paragraph=bool(self._leaf)) and not rest.startswith("    "):
            self._end_leaf()
            self._read_single(rest, bare, line)
        else:
            if self._kind == "indented" or (self._kind == "table" and "|" not in bare):
                self._end_leaf()
            self._add(rest, line)

    def _underlined(self, bare: str, line: str) -> bool:
        """Return whether this line makes a heading or a table of the lines before it."""
        head = self._leaf[-1]
        if "|" in head and _DELIMITERS.match(bare) and len(split_row(head)) == len(split_row(bare)):
            source = self._source[-1]
            del self._leaf[-1], self._source[-1]
            self._end_leaf()
            self._add(head, source, "table")
            self._add(bare, line)
            return True
        underline = _UNDERLINE.match(bare)
        if underline:
            text = "\n".join(self._leaf)
            self._leaf = []
            self._emit("heading", text, level=1 if underline[1][0] == "=" else 2)
            return True
        return False

    def _read_single(self, rest: str, bare: str, line: str) -> None:
        """A block of one line, or the line that opens one that is shown line by line."""
        fence, heading = _FENCE.match(bare), _HEADING.match(bare)
        if fence:
            self._emit("label", fence[2].strip())
            self._fence = _Fence(fence[1], len(rest) - len(rest.lstrip(" ")))
        elif heading:
            self._emit("heading", _heading_text(bare[heading.end() :].strip(" \t")), level=len(heading[1]))
        elif _is_rule(bare):
            self._emit("rule", "")
        else:  # a quote or item that is too deep
            self._add(rest, line)

    def _add(self, rest: str, line: str, kind: BlockKind = "paragraph") -> None:
        if not self._leaf:
            self._kind = kind
            self._size = 0
        elif self._size + len(line) > MAX_PENDING:
            self._kind = "text" if self._kind == "paragraph" else self._kind
            self._end_leaf()
            self._kind, self._size = "paragraph", 0
        self._size += len(line) + 1
        self._leaf.append(rest[4:] if self._kind == "indented" else rest.lstrip(" "))
        self._source.append(line)

    def _end_leaf(self) -> None:
        if self._leaf:
            lines, self._leaf = self._leaf, []
            self._emit(self._kind, "\n".join(lines))
            self._kind = "paragraph"

    def _pop(self, depth: int) -> None:
        """Close what is open inside the outer `depth` containers."""
        if depth < len(self._open):
            self._end_leaf()
            self._fence = None
        while len(self._open) > depth:
            if not self._open[-1].used:
                self._emit("empty", "")
            self._open.pop()

    def _emit(self, kind: BlockKind, text: str, *, level: int = 0, gap: bool | None = None) -> None:
        path = tuple(self._open)
        fresh = sum(container.used for container in path)
        if gap is None:
            gap = not self._first and (self._blank or not path)
        for container in path:
            container.used = True
        self._first, self._blank = False, kind == "heading"
        self._source = []
        self._out.append(MarkdownBlock(kind, text, path, fresh, gap, level))


def _untabbed(line: str) -> str:
    """A line whose indentation has no tabs."""
    bare = line.lstrip(" \t")
    return line[: len(line) - len(bare)].expandtabs(4) + bare


def _interrupts(item: re.Match[str], bare: str) -> bool:
    """Return whether a list may start in the middle of a paragraph: `1984. A year` does not."""
    return item[2] in (None, "1") and bool(bare[item.end() :].strip())


def _starts_block(rest: str, *, in_paragraph: bool) -> bool:
    bare = rest.strip(" \t")
    if bare.startswith(">") or _FENCE.match(bare) or _HEADING.match(bare) or _is_rule(bare):
        return True
    item = _ITEM.match(bare)
    return item is not None and (not in_paragraph or _interrupts(item, bare))


def _is_rule(bare: str) -> bool:
    marks = bare.replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and marks[0] in "*-_" and not marks.strip(marks[0])


def _heading_text(text: str) -> str:
    """A heading without the `#` that may close it."""
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else text
