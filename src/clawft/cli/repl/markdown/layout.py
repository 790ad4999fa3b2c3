"""Streamed Markdown as terminal text: code highlighting, marks in front of lines, and the stream itself."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from clawft.cli.output import clean
from clawft.cli.repl.markdown.blocks import MAX_PENDING, BlockReader, MarkdownBlock, MarkdownContainer
from clawft.cli.repl.markdown.inline import BOLD, DIM, TextSpan, cells, paint, parse_inline, trim, unfold, wrap
from clawft.cli.repl.markdown.tables import layout_table

# Each lexer is a set of regular expressions that a hostile text could aim at: only well-known ones, on short lines.
_LANGUAGES = (
    " bash c c++ cpp cs csharp css diff docker dockerfile go graphql haskell hcl html ini java javascript js json jsx "
    "kotlin lua make makefile nix perl php powershell proto protobuf ps1 py python r rb rs ruby rust scala sh "
    "shell sql swift terraform toml ts tsx typescript xml yaml yml zsh "
)
_COMMENTS = (("/*", "*/"), ("<!--", "-->"))
_MAX_LINE = 400
_STRING = "32"
_STYLES = {
    "Comment": DIM,
    "Keyword": "35",
    "Literal.String": _STRING,
    "Literal.Number": "36",
    "Name.Function": "34",
    "Name.Class": "34",
    "Name.Builtin": "36",
    "Name.Decorator": "33",
    "Name.Tag": "34",
    "Name.Attribute": "36",
    "Generic.Inserted": "32",
    "Generic.Deleted": "31",
    "Generic.Heading": "1",
    "Generic.Subheading": "1",
}


class Highlighter:
    """The colours of one code block."""

    def __init__(self, language: str) -> None:
        self._lexer = _find_lexer(language.lower())
        self._opening = ""  # the line in which the string or comment opened that is not closed yet
        self._inside: Any = None

    def line(self, text: str) -> list[TextSpan]:
        """The spans of the next line."""
        if self._lexer is None or len(text) > _MAX_LINE:
            return [TextSpan(text)]
        for begin, end in _COMMENTS:
            source = self._opening + text
            if source.rfind(begin) > source.rfind(end):
                # Lexers know a comment by its end: lend it one, and see whether they agree.
                spans, inside = self._lex(text, end)
                if inside is not None and _style_of(inside) == DIM:
                    self._opening, self._inside = begin, inside
                    return spans
        spans, inside = self._lex(text, "\nx")
        self._go_on(text, inside)
        return spans

    def _lex(self, text: str, probe: str) -> tuple[list[TextSpan], Any]:
        """The spans of a line, and the string or comment that the end of the probe after it belongs to."""
        start, stop = len(self._opening), len(self._opening) + len(text)
        last = stop + len(probe) - 1
        spans: list[TextSpan] = []
        inside = None
        for offset, kind, value in self._lexer.get_tokens_unprocessed(f"{self._opening}{text}{probe}\n"):
            shown = value[max(0, start - offset) : max(0, stop - offset)]
            if shown:
                spans.append(TextSpan(shown, _style_of(kind)))
            if offset <= last < offset + len(value) and _style_of(kind) in (_STRING, DIM):
                inside = kind
        if "".join(span.text for span in spans) != text:  # HCL's lexer says an open heredoc twice
            return [TextSpan(text)], inside
        return spans, inside

    def _go_on(self, text: str, inside: Any) -> None:
        """Keep what the next line needs: only the opening line, so that a long string costs no more than its lines."""
        if inside is None:
            self._opening = ""
        elif inside is not self._inside:
            self._opening = f"{text}\n"
        self._inside = inside


def _find_lexer(language: str) -> Any:
    if f" {language} " not in _LANGUAGES:
        return None
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(language, startinline=True)  # PHP without `<?php`
    except ClassNotFound:  # older releases know fewer
        return None


def _style_of(kind: Any) -> str:
    while kind.parent is not None:
        style = _STYLES.get(str(kind).removeprefix("Token."))
        if style is not None:
            return style
        kind = kind.parent
    return ""


_MIN_WIDTH = 10  # what deep nesting leaves for text
_RULE_WIDTH = 40
_HEADINGS = {1: "1;4", 2: BOLD}
_DEEPER = "1;3"
_CODE_INDENT = "  "
_BULLETS = "•◦▪"
_LANGUAGE = re.compile(r"[{.]*([\w+#-]+)")  # also of `{.python}` and `ts{1,3}`

Line = list[TextSpan]


class MarkdownLayout:
    """Renders the blocks of one text, in order."""

    def __init__(self, *, colour: bool, plain: bool) -> None:
        self._colour = colour and not plain
        self._plain = plain
        self._highlighter = Highlighter("")

    def render(self, block: MarkdownBlock, width: int) -> str:
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

    def _marks(self, path: Sequence[MarkdownContainer], fresh: int) -> tuple[Line, Line]:
        """Return the prefix of a block's first line, and the prefix of its other lines."""
        head: Line = []
        rest: Line = []
        bullets = 0
        for number, container in enumerate(path):
            if not container.marker:
                first = after = TextSpan("> ") if self._plain else TextSpan("│ ", DIM)
            else:
                marker = container.marker
                if not marker[0].isdigit():
                    marker = "-" if self._plain else _BULLETS[min(bullets, len(_BULLETS) - 1)]
                    bullets += 1
                first, after = TextSpan(marker + " "), TextSpan(" " * (len(marker) + 1))
            head.append(first if number >= fresh else after)
            rest.append(after)
        return head, rest

    def _lines(self, block: MarkdownBlock, room: int | None) -> list[Line]:
        match block.kind:
            case "paragraph":
                return wrap(parse_inline(unfold(block.text)), room)
            case "text":
                return wrap([TextSpan(block.text)], room)
            case "heading":
                return wrap(parse_inline(block.text, _HEADINGS.get(block.level, _DEEPER)), room)
            case "rule":
                return [[TextSpan("---")] if room is None else [TextSpan("─" * min(room, _RULE_WIDTH), DIM)]]
            case "table":
                return layout_table(block.text, room)
            case "indented":
                label = [[TextSpan("code:")]] if self._plain else []
                return [*label, *([TextSpan(_CODE_INDENT), TextSpan(line)] for line in block.text.split("\n"))]
            case "label":
                return self._open_code(block)
            case "code":
                return [[TextSpan(_CODE_INDENT), *self._highlighter.line(block.text)] if block.text else []]
            case "raw" | "empty":
                return [[TextSpan(block.text)]]

    def _open_code(self, block: MarkdownBlock) -> list[Line]:
        """The label of a code block; without one only the mark of an item that starts with the code."""
        word = _LANGUAGE.match(block.text) if self._colour else None
        self._highlighter = Highlighter(word[1] if word else "")
        if self._plain:
            return [[TextSpan(f"code ({block.text}):" if block.text else "code:")]]
        if block.text:
            return [[TextSpan(f"{block.text}:", DIM)]]
        return [[]] if any(container.marker for container in block.path[block.fresh :]) else []


class MarkdownStream:
    """Markdown in, terminal text out, block by block. The text is the same however its source was cut.

    `width` may be set between pieces. `plain` is for screen readers: no colour, no drawing, no line breaks of ours.
    """

    def __init__(self, width: int, *, colour: bool, plain: bool = False) -> None:
        self.width = width
        self._colour = colour
        self._plain = plain
        self._start()

    def _start(self) -> None:
        self._reader = BlockReader()
        self._layout = MarkdownLayout(colour=self._colour, plain=self._plain)
        self._line = ""  # its end has not come
        self._passing = False  # the line was too long to wait for and is passed on as it comes
        self._return = False  # the last piece ended with a carriage return, of which a line feed may follow

    @property
    def pending(self) -> str:
        """The end of the source of which nothing was printed, safe to show."""
        return "".join(f"{line}\n" for line in self._reader.pending) + self._line

    def feed(self, text: str) -> str:
        """Return the text that can be printed now: whole lines in most cases."""
        if self._return:
            text = "\r" + text
        self._return = text.endswith("\r")
        text = text[:-1] if self._return else text
        *lines, tail = clean(text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
        shown = [self._add(line) + self._end_line() for line in lines]
        return "".join(shown) + self._add(tail)

    def flush(self) -> str:
        """The rest. What is fed after it is a text of its own."""
        shown = self._end_line() if self._line or self._passing else ""
        shown += self._render(self._reader.close())
        self._start()
        return shown

    def _add(self, text: str) -> str:
        if self._passing:
            return text
        self._line += text
        if len(self._line) <= MAX_PENDING:
            return ""
        line, self._line, self._passing = self._line, "", True
        return self._render(self._reader.read_raw(line)).removesuffix("\n")

    def _end_line(self) -> str:
        if self._passing:
            self._passing = False
            return "\n"
        line, self._line = self._line, ""
        return self._render(self._reader.read(line))

    def _render(self, blocks: Iterable[MarkdownBlock]) -> str:
        return "".join(self._layout.render(block, self.width) for block in blocks)
