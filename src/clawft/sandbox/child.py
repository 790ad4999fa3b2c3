"""The supervisor of a child process that outlives the call that started it: a plugin, a kept hook, an MCP server.

What it runs, what it hears and how it is asked to end is passed in; when another is started is its owner's to decide.
"""

import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import TaskGroup

from clawft.sandbox.process import BROKEN, Finished, Launch, PipedProcess, open_piped_process

_WORDS_BYTES = 8_192


class LineTooLong(Exception):
    """A line of more bytes than were allowed, of which the end has not come yet."""


class ChildProcess:
    """One program from its start to its end. `prepare` gives its launch, in the sandbox or without one, and is left
    once nothing of the process is left. Each piece of its stderr goes to `hear`. It is first asked to end if we are
    `patient`.
    """

    def __init__(
        self,
        prepare: Callable[[], AbstractAsyncContextManager[Launch]],
        hear: Callable[[bytes], None],
        *,
        patient: bool = False,
    ) -> None:
        self.started = anyio.Event()  # it is up, or it failed to
        self.over = anyio.Event()  # nothing of it is left
        self.unwanted = anyio.Event()
        self.ended: Finished | None = None  # without its output
        self.failure: Exception | None = None
        self.words = b""  # the end of its stderr
        self._prepare = prepare
        self._hear = hear
        self._patient = patient
        self._piped: PipedProcess | None = None

    @property
    def piped(self) -> PipedProcess:
        assert self._piped is not None, "it was started"
        return self._piped

    @property
    def usable(self) -> bool:
        """Return whether it runs or is about to, as the kernel says: the loop may not have heard yet of its end."""
        exited = self._piped is not None and _has_exited(self._piped.process.pid)
        return not (exited or self.over.is_set() or self.unwanted.is_set())

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[TaskGroup, None]:
        """Run it until this is left, and the tasks of the group beside it. Raises: OSError; ClawftError if the program
        itself was never started."""
        async with self._prepare() as launch:
            async with open_piped_process(launch, patient=self._patient) as self._piped:
                self._piped.group.start_soon(self._read_errors)
                try:
                    yield self._piped.group
                finally:
                    code = self._piped.process.returncode
            ended = Finished(-signal.SIGKILL if code is None else code, b"", self.words, 0)
            self.ended = launch.finish(ended) if launch.finish else ended

    async def live(self, *tasks: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run it in a task of the owner's until it is unwanted; what goes wrong is its `failure`."""
        try:
            async with self.open() as group:
                for task in tasks:
                    group.start_soon(task)
                self.started.set()
                await self.unwanted.wait()
        except Exception as error:  # who waits for it raises this
            self.failure = error
        finally:
            self.started.set()
            self.over.set()

    async def bury(self) -> None:
        """Have it ended, and wait until nothing of it is left."""
        self.unwanted.set()
        with anyio.CancelScope(shield=True):
            await self.over.wait()  # bounded: its process is being ended

    async def send(self, line: bytes) -> None:
        """Write to its stdin. Raises: BROKEN."""
        await self.piped.stdin.send(line)

    async def read_lines(self, max_bytes: int) -> AsyncIterator[bytes]:
        """Yield the lines of its stdout until that ends. Raises: LineTooLong; BROKEN."""
        rest = bytearray()
        async for chunk in self.piped.stdout:
            *ends, begun = chunk.split(b"\n")
            for end in ends:
                line, rest = bytes(rest + end), bytearray()
                yield line
            rest += begun
            if len(rest) > max_bytes:
                raise LineTooLong

    async def leave(self, patience_s: float) -> None:
        """Give a program that closed its stdout a while to end by itself; then it is unwanted."""
        with anyio.move_on_after(patience_s):
            await self.piped.process.wait()
        self.unwanted.set()

    async def _read_errors(self) -> None:
        with suppress(*BROKEN):
            async for chunk in self.piped.stderr:
                self.words = (self.words + chunk)[-_WORDS_BYTES:]
                self._hear(chunk)


def _has_exited(pid: int) -> bool:
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # and was reaped
        return True


async def close_tasks(group: TaskGroup) -> None:
    """Cancel and leave a group that was entered by hand. It is not given the caller's error, which it would wrap."""
    group.cancel_scope.cancel()
    await group.__aexit__(None, None, None)
