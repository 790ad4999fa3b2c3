"""An answer that arrives in pieces to terminal text: what is printed once is never taken back."""

from collections.abc import Iterable

from clawft.cli.output import clean
from clawft.repl.markdown.blocks import MAX_PENDING, Block, BlockReader
from clawft.repl.markdown.layout import Layout

__all__ = ["MarkdownStream"]


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
        self._layout = Layout(colour=self._colour, plain=self._plain)
        self._line = ""  # its end has not come
        self._passing = False  # the line was too long to wait for and is passed on as it comes
        self._return = False  # the last piece ended with a carriage return, of which a line feed may follow

    @property
    def pending(self) -> str:
        """The end of the source of which nothing was printed, safe to show."""
        return "".join(f"{line}\n" for line in self._reader.pending) + self._line

    def feed(self, text: str) -> str:
        """What can be printed now: whole lines, mostly none."""
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

    def _render(self, blocks: Iterable[Block]) -> str:
        return "".join(self._layout.render(block, self.width) for block in blocks)
