"""Output of the REPL on one terminal, with a status line; plain output for screen readers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prompt_toolkit.buffer import Buffer

from clawft.cli.output import clean, fit

if TYPE_CHECKING:
    from prompt_toolkit.output import Output


_RESET = "\x1b[0m"
_STYLES = {
    "red": "\x1b[31m",
    "yellow": "\x1b[33m",
    "green": "\x1b[32m",
    "blue": "\x1b[34m",
    "bold": "\x1b[1m",
    "dim": "\x1b[2m",
}
_ERASE = "\r\x1b[K"


class Screen:
    """Text out. `plain` is for screen readers: no colour, no status line, nothing that moves."""

    def __init__(self, output: "Output", *, plain: bool = False, colour: bool = True) -> None:
        self._output = output
        self.plain = plain
        self.colour = colour and not plain
        self._status = ""
        self._mid_line = False

    @property
    def width(self) -> int:
        return max(20, self._output.get_size().columns)

    def style(self, text: str, name: str) -> str:
        """A text in a colour, or as it is."""
        return f"{_STYLES[name]}{text}{_RESET}" if self.colour and text else text

    def print(self, text: str = "") -> None:
        """A whole line, or several."""
        self.end_line()
        self.write(f"{text}\n")

    def write(self, text: str) -> None:
        """Print a piece of text, which may end in the middle of a line.

        The caller removes control characters from untrusted text first.
        """
        if not text:
            return
        self._hide_status()
        self._output.write_raw(text)
        self._mid_line = not text.endswith("\n")
        self._output.flush()

    def end_line(self) -> None:
        """Begin a new line, unless one has just begun."""
        if self._mid_line:
            self.write("\n")

    def show_status(self, text: str) -> None:
        """A line at the bottom that the next text takes the place of; '' takes it away. Not below half a line."""
        if self.plain or self._mid_line or text == self._status:
            return
        self._hide_status()
        if text:
            self._output.write_raw(self.style(fit(text, self.width - 1).rstrip(), "dim"))
            self._status = text
        self._output.flush()

    def clear(self) -> None:
        if not self.plain:
            self._output.erase_screen()
            self._output.cursor_goto(0, 0)
            self._output.flush()

    def _hide_status(self) -> None:
        if self._status:
            self._output.write_raw(_ERASE)
            self._status = ""


@contextmanager
def echoing(buffer: Buffer, screen: Screen, prompt: str, *, hidden: bool = False) -> Iterator[None]:
    """Write the prompt, then what is added at the end; after any other change the whole line again.

    Of what is `hidden` nothing is written.
    """
    shown = ""
    screen.write(prompt)

    def show(_: object) -> None:
        nonlocal shown
        text = "" if hidden else clean(buffer.text)
        if text.startswith(shown):
            screen.write(text[len(shown) :])
        elif shown.startswith(text) and "\n" not in shown[len(text) :]:
            screen.write("\b \b" * (len(shown) - len(text)))
        else:
            screen.write(f"\n{prompt}{text}")
        shown = text

    buffer.on_text_changed += show
    try:
        yield
    finally:
        buffer.on_text_changed -= show
        screen.write("\n")
