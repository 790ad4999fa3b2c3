"""Run a program bounded in time and output, or keep it running and talk over its pipes; end it with all that it
started."""

import math
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import IO, Any, Protocol

import anyio
from anyio import CancelScope, Event, to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, Process, TaskGroup
from msgspec import Struct

from clawft.sandbox.confinement import Confinement

FLOOD_BYTES = 16 * 1024 * 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class OutputSink:
    """Takes output piece by piece. Half of what is shown is its start, half its end, where errors stand."""

    def __init__(self, max_bytes: int, spill_path: str = "") -> None:
        self._max_bytes = max_bytes
        self._keep = max_bytes - max_bytes // 2  # of the end
        self._spill_path = spill_path
        self._file: int | None = None
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self.saved_to = ""

    @property
    def cut_bytes(self) -> int:
        return max(0, self._total - self._max_bytes)

    @property
    def head_bytes(self) -> int:
        return len(self._head)

    def add(self, chunk: bytes) -> bool:
        """Take a piece; False once it is too much."""
        self._total += len(chunk)
        self._spill(chunk)
        room = self._max_bytes // 2 - len(self._head)
        self._head += chunk[: max(0, room)]
        self._tail += chunk[max(0, room) :]
        if len(self._tail) > 2 * self._keep + len(chunk):
            del self._tail[: -self._keep]
        return self._total <= FLOOD_BYTES

    def content(self) -> bytes:
        """The start and the end, which meet where nothing was cut."""
        return bytes(self._head + self._tail[max(0, len(self._tail) - self._keep) :])

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _spill(self, chunk: bytes) -> None:
        """The file begins once the output is longer than what is kept, with all that came before."""
        if self._total <= self._max_bytes or not self._spill_path:
            return
        try:
            if self._file is None:
                self._file = os.open(self._spill_path, _NEW, 0o600)
                self.saved_to = self._spill_path
                _write_all(self._file, self.content())
            _write_all(self._file, chunk)
        except OSError:  # a full disk does not stop the program
            self.close()
            self._spill_path = self.saved_to = ""


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


_GRACE_S = 2.0  # from asking a program to end to ending it
KILLED_S = 30.0  # to be gone after SIGKILL, on a machine with much other work
_GRACE_ALL_S = 10.0  # the same for one that first ends what it holds
_DRAIN_S = 1.0  # for what is left in the pipe once the program has ended
_CHUNK = 64 * 1024


class PausableClock:
    """The clock of a scope with a deadline. Several may stop it at once: it goes on when the last of them lets it."""

    def __init__(self, scope: CancelScope | None = None) -> None:
        """Without a scope it gets one when a program is started."""
        self._scope = scope or CancelScope()
        self._left = math.inf
        self._stops = 0

    def watch(self, scope: CancelScope) -> None:
        self._scope = scope

    @contextmanager
    def stopped(self) -> Iterator[None]:
        if not self._stops:
            self._left = self._scope.deadline - anyio.current_time()
            self._scope.deadline = math.inf
        self._stops += 1
        try:
            yield
        finally:
            self._stops -= 1
            if not self._stops:
                self._scope.deadline = anyio.current_time() + self._left


class Streams(Struct, frozen=True):
    """The input of a program, and the destination of its output."""

    stdin: bytes = b""
    merged: bool = True  # errors go into the output, in the order they were written
    spill_path: str = ""  # where the whole output is saved if it is longer than what is kept
    listen: Callable[[bytes], None] | None = None  # gets every piece as it comes; then there is never too much


class Finished(Struct, frozen=True):
    """The result of a program. `output` is its start and its end where it is `truncated`; `code` is minus the
    signal."""

    code: int
    output: bytes
    errors: bytes
    seconds: float
    truncated: bool = False
    cut_bytes: int = 0  # how many are missing between the start and the end of the output
    head_bytes: int = 0  # how many stand before the gap
    timed_out: bool = False
    flooded: bool = False  # it wrote without end, and was ended
    saved_to: str = ""
    exceeded: str = ""  # which limit of the sandbox ended it: "processes" or "memory"
    held_back: tuple[str, ...] = ()  # what it did to private copies and did not come into the real files, with why


class Runnable(Struct, frozen=True):
    """A program that is ready to be run: its words and variables, what it may reach, and for how long it may run."""

    words: tuple[str, ...]
    env: Mapping[str, str]
    confinement: Confinement
    timeout_s: float
    ask: Callable[[str], Awaitable[bool]] | None = None  # about running it without a sandbox; a person, if this is none


AskChange = Callable[[str, str], bool]  # a question to a person, and why; called in a thread
ImportCopies = Callable[[AskChange], tuple[str, ...]]  # what was held back, with why


class Launch(Struct, frozen=True):
    """A program to be started, and who attends it.

    `attend` gets the number of the process, runs beside it, and is cancelled when it has ended. `kill` ends at once
    all that was started, and `settle` waits until nothing of it is left. `finish` tells how the program itself ended,
    from how that did which was started for it. `import_copies`, when all is settled, brings what it did in private
    copies into the real files.
    """

    words: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    pass_fds: tuple[int, ...] = ()
    attend: Callable[[int], Coroutine[Any, Any, None]] | None = None
    kill: Callable[[], None] | None = None
    settle: Callable[[], Awaitable[None]] | None = None
    finish: Callable[[Finished], Finished] | None = None
    import_copies: ImportCopies | None = None
    # Starts it where a plain start would not do: in the namespaces that the commands of a session share.
    start: "Callable[[Launch, Streams], StartedProcess] | None" = None


class StartedProcess(Protocol):
    """A program that was started, with our ends of its pipes; a `subprocess.Popen` is one."""

    pid: int
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None
    returncode: Any  # None while it runs; Popen declares it loosely

    def poll(self) -> int | None: ...

    def wait(self) -> int: ...


async def run_process(
    command: Sequence[str] | str,
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout_s: float,
    max_bytes: int,
    streams: Streams = Streams(),  # noqa: B008
) -> Finished:
    """Run words as they are, or a line with the POSIX shell, to its end, its time or its share of output.

    It gets `env` and nothing else of the environment. A cancelled wait ends it too.

    Raises: OSError if it cannot be started.
    """
    words = ("/bin/sh", "-c", command) if isinstance(command, str) else tuple(command)
    return await run_launch(Launch(words, cwd, env), timeout_s=timeout_s, max_bytes=max_bytes, streams=streams)


async def run_launch(
    launch: Launch, *, timeout_s: float, max_bytes: int, streams: Streams, clock: PausableClock | None = None
) -> Finished:
    """Run a launch as `run_process` does, attended as it says; `clock` can stop its time.

    Raises: OSError; what its `finish` raises.
    """
    started = anyio.current_time()
    process = launch.start(launch, streams) if launch.start else _start(launch, streams)
    running = _Running(process, launch, streams, max_bytes)
    try:
        timed_out = await running.follow(timeout_s, clock or PausableClock())
    finally:
        with CancelScope(shield=True):
            await running.end()
    output = running.output
    finished = Finished(
        -signal.SIGKILL if running.process.returncode is None else running.process.returncode,
        output.content(),
        running.errors.content(),
        anyio.current_time() - started,
        truncated=output.cut_bytes > 0,
        cut_bytes=output.cut_bytes,
        head_bytes=output.head_bytes,
        timed_out=timed_out,
        flooded=running.flooded,
        saved_to=output.saved_to,
    )
    return launch.finish(finished) if launch.finish else finished


def _start(launch: Launch, streams: Streams) -> StartedProcess:
    return subprocess.Popen(
        launch.words,
        cwd=launch.cwd,
        env=dict(launch.env),
        stdin=subprocess.PIPE if streams.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if streams.merged else subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        pass_fds=launch.pass_fds,
    )


class _Running:
    """A program while it runs."""

    def __init__(self, process: StartedProcess, launch: Launch, streams: Streams, max_bytes: int) -> None:
        self.process = process
        self._launch = launch
        self.output = OutputSink(max_bytes, streams.spill_path)
        self.errors = OutputSink(max_bytes)
        self.flooded = False
        self._ended = Event()  # by itself, or by writing too much
        self._has_ended = False
        self._stdin = streams.stdin
        self._listen = streams.listen

    async def follow(self, timeout_s: float, clock: PausableClock) -> bool:
        """Read what it writes until it ends; whether its time ran out. Its output may end later than itself."""
        drained = Event()
        async with anyio.create_task_group() as tasks:
            if self.process.stdin is not None:
                tasks.start_soon(self._feed, self.process.stdin)
            tasks.start_soon(self._read_all, drained)
            tasks.start_soon(self._watch)
            if self._launch.attend:
                tasks.start_soon(self._launch.attend, self.process.pid)
            with anyio.move_on_after(timeout_s) as scope:
                clock.watch(scope)
                await self._ended.wait()
            if scope.cancelled_caught or self.flooded:
                await self._stop()
            for what in (signal.SIGTERM, signal.SIGKILL):
                self._signal(what)  # what it left behind, which may hold the pipe open
                with anyio.move_on_after(_DRAIN_S):
                    await drained.wait()
                    break
            tasks.cancel_scope.cancel()
        return scope.cancelled_caught

    async def end(self) -> None:
        """Whatever happened: nothing of the group lives on, nothing is left to be reaped, nothing stays open."""
        if not self._has_ended:
            await self._stop()
        self._signal(signal.SIGKILL)
        if self._launch.settle:
            await self._launch.settle()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        if self.process.poll() is None:
            with anyio.move_on_after(KILLED_S):  # what the kernel holds cannot be ended, nor waited for
                await to_thread.run_sync(self.process.wait, abandon_on_cancel=True)
        self.output.close()

    async def _stop(self) -> None:
        """Ask the group to end, and end it if it does not."""
        if self._launch.kill:
            self._launch.kill()
        self._signal(signal.SIGTERM)
        with anyio.move_on_after(_GRACE_S if self._launch.kill is None else _GRACE_ALL_S):
            await self._exit()
        self._signal(signal.SIGKILL)

    async def _watch(self) -> None:
        await self._exit()
        self._ended.set()

    async def _exit(self) -> None:
        """Wait until the program has ended, without reaping it: until then no other group can get its number."""
        try:
            descriptor = os.pidfd_open(self.process.pid)
        except (AttributeError, OSError):  # not Linux, or not allowed in a container
            await to_thread.run_sync(self.process.wait, abandon_on_cancel=True)
        else:
            try:
                await anyio.wait_readable(descriptor)
            finally:
                os.close(descriptor)
        self._has_ended = True

    def _signal(self, what: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):  # nobody is left, or only what changed its user
            os.killpg(self.process.pid, what)

    async def _feed(self, pipe: IO[bytes]) -> None:
        left = memoryview(self._stdin)
        os.set_blocking(pipe.fileno(), False)
        try:
            while left:
                await anyio.wait_writable(pipe)
                left = left[os.write(pipe.fileno(), left[:_CHUNK]) :]
        except BrokenPipeError:
            pass  # it does not want to know more
        finally:
            pipe.close()

    async def _read_all(self, drained: Event) -> None:
        assert self.process.stdout is not None
        if self.process.stderr is None:
            await self._read(self.process.stdout.fileno(), self.output)
        else:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, self.process.stderr.fileno(), self.errors)
                await self._read(self.process.stdout.fileno(), self.output)
        drained.set()

    async def _read(self, descriptor: int, sink: OutputSink) -> None:
        os.set_blocking(descriptor, False)
        while True:
            await anyio.wait_readable(descriptor)
            try:
                chunk = os.read(descriptor, _CHUNK)
            except BlockingIOError:
                continue
            if not chunk:
                return
            if self._listen:
                self._listen(chunk)
            if not sink.add(chunk) and not self._listen:
                self.flooded = True
                self._ended.set()
                return


BROKEN = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)  # it no longer listens, or is gone

_EXIT_S = 1.0  # for a program to end by itself once its stdin is closed, and again after SIGTERM
_POLL_S = 0.01


class PipedProcess(Struct, frozen=True):
    """A program that runs. What `group` holds is cancelled once the program has ended."""

    process: Process
    stdin: ByteSendStream
    stdout: ByteReceiveStream
    stderr: ByteReceiveStream
    group: TaskGroup


@asynccontextmanager
async def open_piped_process(launch: Launch, *, patient: bool = True) -> AsyncGenerator[PipedProcess, None]:
    """Start a program; on leaving it is ended, and first asked to end if we are `patient`.

    Raises: OSError if it cannot be started.
    """
    process = await anyio.open_process(
        launch.words, env=launch.env, cwd=launch.cwd, start_new_session=True, pass_fds=launch.pass_fds
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    # No await until the task group: a cancellation in between would leave the process alive.
    async with anyio.create_task_group() as group:
        if launch.attend is not None:
            group.start_soon(launch.attend, process.pid)
        try:
            yield PipedProcess(process, process.stdin, process.stdout, process.stderr, group)
        finally:
            with anyio.CancelScope(shield=True):  # every wait inside is bounded
                await _end(process, launch, patient=patient)
                if launch.settle is not None:
                    await launch.settle()
            group.cancel_scope.cancel()


async def _end(process: Process, launch: Launch, *, patient: bool) -> None:
    """Close its stdin, then SIGTERM, then SIGKILL to whatever is left of its group."""
    assert process.stdin is not None
    with suppress(*BROKEN):
        await process.stdin.aclose()
    if not patient and launch.kill is not None:
        launch.kill()
    elif not await _has_exited(process):
        _signal_group(process, signal.SIGTERM)
        await _has_exited(process)
    _signal_group(process, signal.SIGKILL)  # also children that outlive a program that ended well
    await _has_exited(process, KILLED_S)
    # A child that left the group may hold a pipe open for ever; nothing public closes our end of it.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


async def _has_exited(process: Process, seconds: float = _EXIT_S) -> bool:
    """Return whether it ended in time. Not `process.wait()`, which also waits for pipes that its children hold open."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:
            await anyio.sleep(_POLL_S)
    return process.returncode is not None


def _signal_group(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)  # it leads a session of its own
