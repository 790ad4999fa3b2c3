"""Keys that are typed while a turn runs: Ctrl-C stops it, Ctrl-O opens what was folded, the rest waits."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

__all__ = ["KeyWatch"]


class KeyWatch:
    """Watches an input outside of a prompt. What is typed ahead is kept for the next prompt."""

    def __init__(self, source: Input, actions: Mapping[Keys, Callable[[], None]]) -> None:
        self._source = source
        self._actions = actions
        self._paused = False
        self.typed = ""
        self.closed = asyncio.Event()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Until the end of the block; the terminal is in raw mode, so that Ctrl-C is a key and no signal."""
        with self._source.raw_mode(), self._source.attach(self._take):
            yield

    def _take(self) -> None:
        for press in self._source.read_keys():
            self._press(press)
        if self._source.closed:
            self.closed.set()

    def _press(self, press: KeyPress) -> None:
        action = self._actions.get(press.key) if isinstance(press.key, Keys) else None
        if action is not None:
            action()
        elif press.key == Keys.BracketedPaste or not isinstance(press.key, Keys):
            self.typed += press.data
        elif press.key in (Keys.Enter, Keys.ControlJ):
            self.typed += "\n"
