"""Processes of a session that go on while the model does other things: their output, their state and their end."""

import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial

import anyio
from anyio.abc import TaskGroup

from clawft.errors import ClawftError
from clawft.sandbox.process import Finished

MAX_PROCESSES = 16  # that run at a time in one session
_MAX_ENDED = 16  # that are remembered
_MAX_LOG_BYTES = 4 * 1024 * 1024
_MAX_LINE_BYTES = 16 * 1024
_END_S = 30.0
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ProcessLog:
    """The newest output of a process, in a file of bounded size. A secret in a line is masked before it is written."""

    def __init__(self, path: str, mask: Callable[[str], str]) -> None:
        """Raises: OSError."""
        self.path = path
        self._mask = mask
        self._file = os.open(path, _NEW, 0o600)
        self._line = b""  # has no end yet
        self._size = 0
        self._dropped = 0  # bytes before the start of the file
        self._read = 0  # how far the model has read, counted from the very start

    def add(self, chunk: bytes) -> None:
        lines, end, rest = (self._line + chunk).rpartition(b"\n")
        if len(rest) > _MAX_LINE_BYTES:
            lines, rest = lines + end + rest, b""
        self._line = rest
        self._write(lines + end if rest or end else lines)

    def flush(self) -> None:
        """Write the last line though it has no end."""
        line, self._line = self._line, b""
        self._write(line)

    def read_new(self, max_bytes: int) -> tuple[str, int]:
        """The output since the last time, of it the end, and how many bytes before that are left out."""
        start = max(self._dropped, self._read)
        cut = max(0, self._dropped + self._size - start - max_bytes)
        skipped = start + cut - self._read
        text = os.pread(self._file, max_bytes, start + cut - self._dropped)
        self._read = self._dropped + self._size
        return text.decode("utf-8", "replace") + self._masked(self._line).decode("utf-8", "replace"), skipped

    def read_end(self, max_bytes: int) -> str:
        """The last of the output, for a person, whatever the model has read."""
        text = os.pread(self._file, max_bytes, max(0, self._size - max_bytes)) + self._masked(self._line)
        return text.decode("utf-8", "replace")

    def close(self) -> None:
        os.close(self._file)

    def _masked(self, content: bytes) -> bytes:
        return self._mask(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _write(self, content: bytes) -> None:
        content = self._masked(content)
        with suppress(OSError):  # a full disk does not stop the program
            self._size += os.pwrite(self._file, content, self._size)
            if self._size > _MAX_LOG_BYTES:
                newest = os.pread(self._file, _MAX_LOG_BYTES // 2, self._size - _MAX_LOG_BYTES // 2)
                self._dropped += self._size - len(newest)
                os.ftruncate(self._file, 0)
                self._size = os.pwrite(self._file, newest, 0)


class BackgroundProcess:
    """One process, from its start on."""

    def __init__(self, number: int, command: str, cwd: str, log: ProcessLog) -> None:
        self.number = number
        self.command = command
        self.cwd = cwd
        self.log = log
        self.started = time.time()
        self.over = anyio.Event()
        self.finished: Finished | None = None
        self.failure: ClawftError | OSError | None = None
        self._scope = anyio.CancelScope()
        self._is_ended = False  # because it was asked for

    @property
    def state(self) -> str:
        if not self.over.is_set():
            return "running"
        if self._is_ended:
            return "ended on request"
        if self.finished is None:
            return f"failed: {self.failure or 'it was ended'}"
        if self.finished.exceeded:
            return f"ended: too much {self.finished.exceeded}"
        code = self.finished.code
        return f"ended with exit code {code}" if code >= 0 else f"ended by signal {-code}"

    async def run(self, work: Callable[[], Awaitable[Finished]]) -> None:
        try:
            with self._scope:
                self.finished = await work()
        except (ClawftError, OSError) as error:
            self.failure = error
        finally:
            self.log.flush()
            self.over.set()

    async def end(self) -> None:
        """End it with all that it started. The wait is bounded."""
        self._is_ended = self._is_ended or not self.over.is_set()
        self._scope.cancel()
        with anyio.move_on_after(_END_S, shield=True):
            await self.over.wait()


class BackgroundProcesses:
    """Those of one session, by number."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._known: dict[int, BackgroundProcess] = {}
        self._last = 0

    def __iter__(self) -> Iterator[BackgroundProcess]:
        return iter(self._known.values())

    @property
    def running(self) -> list[BackgroundProcess]:
        return [process for process in self if not process.over.is_set()]

    def find(self, number: int) -> BackgroundProcess | None:
        return self._known.get(number)

    def start(
        self,
        command: str,
        cwd: str,
        open_log: Callable[[], ProcessLog],
        work: Callable[[ProcessLog], Awaitable[Finished]],
    ) -> BackgroundProcess:
        """Start `work`, which runs the command to its end. Raises: ClawftError where too many run already; OSError."""
        if len(self.running) >= MAX_PROCESSES:
            hint = "End one of them first"
            raise ClawftError("too-many-processes", f"{MAX_PROCESSES} processes run in the background", hint=hint)
        for process in [process for process in self if process.over.is_set()][:-_MAX_ENDED]:
            self._known.pop(process.number).log.close()
        log = open_log()
        self._last += 1
        process = self._known[self._last] = BackgroundProcess(self._last, command, cwd, log)
        self._tasks.start_soon(process.run, partial(work, log))
        return process

    async def close(self) -> None:
        """End all of them."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as ending:
                for process in self.running:
                    ending.start_soon(process.end)
        for process in self:
            process.log.close()
        self._known.clear()
