"""Keys that are typed while no prompt is shown: Ctrl-C stops, Ctrl-O opens what was folded, the rest waits.

Also reads long pastes quickly: prompt_toolkit takes a kilobyte at a time and searches all that came before.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from prompt_toolkit.input import Input
from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output

__all__ = ["KeyWatch", "read_quickly"]

MAX_TYPED = 100_000  # characters that are kept for the next prompt
_READ_BYTES = 1 << 16
_PASTE_END = "\x1b[201~"

Actions = Mapping[Keys, Callable[[], None]]


class KeyWatch:
    """Watches an input outside of prompts. What is typed ahead is kept: it answers no question, and sends nothing."""

    def __init__(self, source: Input, output: Output, shorten: Callable[[str], str]) -> None:
        self._source = source
        self._output = output
        self._shorten = shorten  # what a paste is shown as
        self._actions: Actions = {}
        self._on_closed: Callable[[], None] = _nothing
        self._typed = ""

    @contextmanager
    def watching(self, actions: Actions, on_closed: Callable[[], None]) -> Iterator[None]:
        """Until the end of the block."""
        self._actions, self._on_closed = actions, on_closed
        self._output.enable_bracketed_paste()
        self._output.flush()
        try:
            with self._source.attach(self._read):
                self.drain()
                yield
                self.drain()
        finally:
            self._actions, self._on_closed = {}, _nothing
            self._output.disable_bracketed_paste()
            self._output.flush()

    def drain(self) -> None:
        """Take all that was typed until now, also what a prompt had read beyond its end."""
        for press in get_typeahead(self._source):
            self._press(press)
        while presses := self._source.read_keys():
            for press in presses:
                self._press(press)

    def take_typed(self) -> str:
        """What waits for the next prompt."""
        typed, self._typed = self._typed, ""
        return typed

    def _read(self) -> None:
        for press in self._source.read_keys():
            self._press(press)
        if self._source.closed:
            self._on_closed()

    def _press(self, press: KeyPress) -> None:
        action = self._actions.get(press.key) if isinstance(press.key, Keys) else None
        if action is not None:
            action()
        elif press.key in (Keys.Backspace, Keys.ControlH):
            self._typed = self._typed[:-1]
        elif len(self._typed) < MAX_TYPED:
            self._typed += self._text_of(press)

    def _text_of(self, press: KeyPress) -> str:
        if press.key == Keys.BracketedPaste:
            return self._shorten(press.data)
        if press.key in (Keys.Enter, Keys.ControlJ):
            return "\n"
        return press.data if not isinstance(press.key, Keys) else ""


def read_quickly(source: Input) -> None:
    """Let an input take a paste of a megabyte in one go."""
    if isinstance(source, Vt100Input):
        source.stdin_reader = _Reader(source.fileno())
        source.vt100_parser = _Parser(lambda press: source._buffer.append(press))


class _Reader(PosixStdinReader):
    def read(self, count: int = _READ_BYTES) -> str:
        return super().read(count)


class _Parser(Vt100Parser):
    """Looks for the end of a paste in what is new only."""

    def reset(self, request: bool = False) -> None:
        self._parts: list[str] = []
        super().reset(request)

    def feed(self, data: str) -> None:
        if not self._in_bracketed_paste:
            super().feed(data)
            return
        last = self._parts.pop() if self._parts else ""
        before, mark, after = (last + data).partition(_PASTE_END)
        if not mark:
            self._parts += [before[: -len(_PASTE_END)], before[-len(_PASTE_END) :]]
            return
        pasted, self._parts = "".join([*self._parts, before]), []
        self._in_bracketed_paste = False
        self.feed_key_callback(KeyPress(Keys.BracketedPaste, pasted))
        self.feed(after)


def _nothing() -> None:
    return None
