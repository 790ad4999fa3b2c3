"""Blocks to terminal text: marks of quotes and lists in front, every line ended and complete in itself."""

import re
from collections.abc import Sequence

from clawft.repl.markdown.blocks import Block, Container
from clawft.repl.markdown.code import Highlighter
from clawft.repl.markdown.inline import BOLD, DIM, Span, cells, paint, parse_inline, trim, unfold, wrap
from clawft.repl.markdown.tables import layout_table

__all__ = ["Layout"]

_MIN_WIDTH = 10  # what deep nesting leaves for text
_RULE_WIDTH = 40
_HEADINGS = {1: "1;4", 2: BOLD}
_DEEPER = "1;3"
_CODE_INDENT = "  "
_BULLETS = "•◦▪"
_LANGUAGE = re.compile(r"[{.]*([\w+#-]+)")  # also of `{.python}` and `ts{1,3}`

Line = list[Span]


class Layout:
    """Renders the blocks of one text, in order."""

    def __init__(self, *, colour: bool, plain: bool) -> None:
        self._colour = colour and not plain
        self._plain = plain
        self._highlighter = Highlighter("")

    def render(self, block: Block, width: int) -> str:
        """The text of a block, each line with its end."""
        head, rest = self._marks(block.path, block.fresh)
        room = None if self._plain else max(width - cells(paint(rest, colour=False)), _MIN_WIDTH)
        lines = [(rest if number else head, line) for number, line in enumerate(self._lines(block, room))]
        if block.gap:
            lines.insert(0, (self._marks(block.path[: block.fresh], block.fresh)[1], []))
        return "".join(self._paint(marks, line) + "\n" for marks, line in lines)

    def _paint(self, marks: Line, line: Line) -> str:
        if not any(span.text for span in line):
            marks = trim(marks)
        return paint([*marks, *line], colour=self._colour)

    def _marks(self, path: Sequence[Container], fresh: int) -> tuple[Line, Line]:
        """What stands before the first line of a block, and before its other lines."""
        head: Line = []
        rest: Line = []
        bullets = 0
        for number, container in enumerate(path):
            if not container.marker:
                first = after = Span("> ") if self._plain else Span("│ ", DIM)
            else:
                marker = container.marker
                if not marker[0].isdigit():
                    marker = "-" if self._plain else _BULLETS[min(bullets, len(_BULLETS) - 1)]
                    bullets += 1
                first, after = Span(marker + " "), Span(" " * (len(marker) + 1))
            head.append(first if number >= fresh else after)
            rest.append(after)
        return head, rest

    def _lines(self, block: Block, room: int | None) -> list[Line]:
        match block.kind:
            case "paragraph":
                return wrap(parse_inline(unfold(block.text)), room)
            case "text":
                return wrap([Span(block.text)], room)
            case "heading":
                return wrap(parse_inline(block.text, _HEADINGS.get(block.level, _DEEPER)), room)
            case "rule":
                return [[Span("---")] if room is None else [Span("─" * min(room, _RULE_WIDTH), DIM)]]
            case "table":
                return layout_table(block.text, room)
            case "indented":
                label = [[Span("code:")]] if self._plain else []
                return [*label, *([Span(_CODE_INDENT), Span(line)] for line in block.text.split("\n"))]
            case "label":
                return self._open_code(block)
            case "code":
                return [[Span(_CODE_INDENT), *self._highlighter.line(block.text)] if block.text else []]
            case "raw" | "empty":
                return [[Span(block.text)]]

    def _open_code(self, block: Block) -> list[Line]:
        """The label of a code block; without one only the mark of an item that starts with the code."""
        word = _LANGUAGE.match(block.text) if self._colour else None
        self._highlighter = Highlighter(word[1] if word else "")
        if self._plain:
            return [[Span(f"code ({block.text}):" if block.text else "code:")]]
        if block.text:
            return [[Span(f"{block.text}:", DIM)]]
        return [[]] if any(container.marker for container in block.path[block.fresh :]) else []
