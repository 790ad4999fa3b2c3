"""A terminal without a terminal: the real REPL in this process, keys from a pipe, its output on a pyte screen."""

import asyncio
import io
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import pyte
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.posix_pipe import PosixPipeInput
from prompt_toolkit.output.vt100 import Vt100_Output
from pyte.screens import Char

from clawft.app.app import open_app
from clawft.cli.options import TurnOptions
from clawft.cli.repl.context import ReplContext
from clawft.cli.repl.repl import open_repl, run_loop
from clawft.cli.repl.screen import Screen
from wire import WireServer
from world import World

WAIT_S = 15.0
CTRL_C, CTRL_D, CTRL_J, CTRL_O, ALT_ENTER, UP, TAB = "\x03", "\x04", "\n", "\x0f", "\x1b\r", "\x1b[A", "\t"
_QUIET_S = 0.1
_PASTE, _PASTE_END = "\x1b[200~", "\x1b[201~"


class _Glass(io.StringIO):
    """What is written is drawn, and kept as it came."""

    def __init__(self, columns: int, lines: int) -> None:
        super().__init__()
        self.drawn = pyte.HistoryScreen(columns, lines, history=10_000)
        self.changed = asyncio.Event()
        self.drawing_s = 0.0
        self.written_at = 0.0
        self._stream = pyte.Stream(self.drawn)

    def clock(self) -> float:
        """Seconds, without those in which this drew."""
        return time.perf_counter() - self.drawing_s

    def write(self, text: str) -> int:
        self.written_at = self.clock()
        start = time.perf_counter()
        self._stream.feed(text.replace("\n", "\r\n"))  # as a terminal's driver does
        self.drawing_s += time.perf_counter() - start
        self.changed.set()
        return super().write(text)


def _read_row(row: Mapping[int, Char], columns: int) -> str:
    """A row's text. Only cells that were written are in it, so an empty screen costs nothing to read."""
    written = min(columns, max(row, default=-1) + 1)
    return "".join([row[at].data for at in range(written)]).rstrip()


class Terminal:
    """One run of the REPL. Every wait is bounded, and ends as soon as the text is there."""

    def __init__(self, source: PosixPipeInput, columns: int, lines: int, **how: bool) -> None:
        self._glass = _Glass(columns, lines)
        self._source = source
        self.size = Size(lines, columns)
        self.output = Vt100_Output(self._glass, lambda: self.size, term="xterm-256color", enable_cpr=False)
        self.screen = Screen(self.output, **how)
        self.repl: ReplContext
        self.running: asyncio.Task[int]

    def type(self, keys: str) -> None:
        self._source.send_text(keys)

    async def paste(self, text: str, then: str = "") -> None:
        """As a terminal sends it; from a thread, since a pipe holds but little."""
        left = f"{_PASTE}{text}{_PASTE_END}{then}".encode()

        def send() -> None:
            view = memoryview(left)
            while view:
                view = view[os.write(self._source.pipe.write_fd, view[:4096]) :]

        await asyncio.to_thread(send)

    def hang_up(self) -> None:
        self._source.close()

    def lines(self) -> list[str]:
        """What stands on the screen now."""
        buffer, columns = self._glass.drawn.buffer, self._glass.drawn.columns
        return [_read_row(buffer[number], columns) for number in range(self._glass.drawn.lines)]

    def text(self) -> str:
        """The screen, and all that has moved above it."""
        columns = self._glass.drawn.columns
        above = [_read_row(row, columns) for row in self._glass.drawn.history.top]
        return "\n".join([*above, *self.lines()])

    def cells(self) -> list[list[tuple[str, str, bool]]]:
        """The screen with its looks: for each cell the character, its colour, and whether it is bold."""
        drawn = self._glass.drawn
        rows = [drawn.buffer[number] for number in range(drawn.lines)]
        return [[(row[at].data, row[at].fg, row[at].bold) for at in range(drawn.columns)] for row in rows]

    def raw(self) -> str:
        """Everything that was written, with its escape codes."""
        return self._glass.getvalue()

    async def wait_for(self, text: str, count: int = 1) -> None:
        """Until a text is to be seen so many times."""
        await self._wait_until(lambda: self.text().count(text) >= count, repr(text))

    async def _wait_until(self, holds: Callable[[], bool], what: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_S):
                while not holds() and not self.running.done():
                    self._glass.changed.clear()
                    changed = asyncio.create_task(self._glass.changed.wait())
                    await asyncio.wait({changed, self.running}, return_when=asyncio.FIRST_COMPLETED)
                    changed.cancel()
        assert holds(), f"There is no {what} on the screen:\n{self.text().rstrip()}"

    async def prompt(self, typed: str = "") -> None:
        """Until the prompt is the last thing on the screen."""
        await self._wait_until(lambda: self.text().rstrip().split("\n")[-1].rstrip() == f"> {typed}".rstrip(), "prompt")

    async def time_key(self, key: str) -> float:
        """Seconds from a key to the last thing that is written because of it; what this screen itself takes apart."""
        self._glass.changed.clear()
        start = self._glass.clock()
        self.type(key)
        with suppress(TimeoutError):
            while True:
                await asyncio.wait_for(self._glass.changed.wait(), _QUIET_S)
                self._glass.changed.clear()
        return self._glass.written_at - start

    async def ended(self) -> int:
        async with asyncio.timeout(WAIT_S):
            return await self.running


@asynccontextmanager
async def open_terminal(
    world: World, *, columns: int = 80, lines: int = 24, options: TurnOptions | None = None, **how: Any
) -> AsyncIterator[Terminal]:
    """The REPL in a world, at its first prompt; the world's server answers. It is ended on leaving."""
    with create_pipe_input() as source, WireServer(world.replies) as world.server:
        assert isinstance(source, PosixPipeInput)
        default = "" if "[agents.defaults]" in world.config else '[agents.defaults]\nmodel = "local/m"\n'
        provider = f'[providers.local]\nwire = "openai"\nbase_url = "{world.server.url}"\n{world.provider}\n'
        (world.user_dir / "config.toml").write_text(f"{default}{world.config}\n{provider}")
        terminal = Terminal(source, columns, lines, **how)
        app = open_app(world.environ, str(world.project))
        terminal.repl = open_repl(app, options or TurnOptions(), source, terminal.screen, terminal.output)
        terminal.running = asyncio.create_task(run_loop(terminal.repl))
        try:
            await terminal.wait_for("\n>")
            yield terminal
        finally:
            terminal.running.cancel()
            await asyncio.wait({terminal.running}, timeout=WAIT_S)


Open = Callable[..., AbstractAsyncContextManager[Terminal]]
