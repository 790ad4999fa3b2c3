"""Long-lived hook processes: one for each hook that handles frequent events, called one event at a time."""

import math
import os
import secrets
import signal
from types import TracebackType

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from msgspec import structs

from clawft.agent.hooks.deno import DenoRunner, read_finished
from clawft.agent.hooks.events import KINDS, HookEvent, HookFailed, HookReply, write_json
from clawft.agent.hooks.handlers import HookLaunch
from clawft.sandbox.process import BROKEN, Finished, Launch, OutputSink, PipedProcess, open_piped_process

_IDLE_S = 300.0  # what is not asked for so long is ended
_OLD_S = 3600.0  # a copy that it runs on is not kept for ever
_EXIT_S = 2.0  # to tell how a process ended that closed its output


class HookProcesses:
    """The processes that run hooks; they are reused where the hook asks for it and it saves time. Leaving the context
    ends them all.

    They live in a task group of their own, since a process outlives the caller of a hook. Outside of `async with` no
    process is reused.
    """

    def __init__(self, deno: DenoRunner, *, idle_s: float = _IDLE_S) -> None:
        self._deno = deno
        self._idle_s = idle_s
        self._group: TaskGroup | None = None
        self._hosts: dict[tuple[str, str, str], _Host] = {}

    async def __aenter__(self) -> "HookProcesses":
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._group is not None
        group, self._group = self._group, None
        group.cancel_scope.cancel()
        # Not told of the caller's error, which it would wrap into a group.
        await group.__aexit__(None, None, None)
        self._hosts.clear()

    async def call(self, job: HookLaunch, event: HookEvent) -> HookReply:
        """Run the handler on an event. Raises: HookFailed; Refused if it cannot be confined or has changed."""
        if self._group is None or not (job.persistent and KINDS[event.key].frequent):
            return await self._deno.call(job, event)
        key = (job.name, job.root, job.handler)
        host = self._hosts.get(key)
        if host is None or host.job != job:  # what it may reach, or what it is, changed
            if host is not None:
                host.retire()
            host = self._hosts[key] = _Host(self._deno, job, self._group, self._idle_s)
        return await host.call(event)


class _Life:
    """One process, from its start to its end."""

    def __init__(self, max_bytes: int) -> None:
        self.started = anyio.Event()  # it is up, or it failed
        self.over = anyio.Event()
        self.unwanted = anyio.Event()
        self.since = anyio.current_time()
        self.asked = self.since
        self.handler = ""
        self.piped_process: PipedProcess | None = None
        self.ended: Finished | None = None
        self.failure: Exception | None = None
        self.errors = OutputSink(max_bytes)
        self.flooded = anyio.Event()

    @property
    def usable(self) -> bool:
        exited = self.piped_process is not None and _has_exited(self.piped_process.process.pid)
        return not (
            exited or self.over.is_set() or self.unwanted.is_set() or anyio.current_time() - self.since > _OLD_S
        )


class _Host:
    """One hook as it is now, and its process, if there is one."""

    def __init__(self, deno: DenoRunner, job: HookLaunch, group: TaskGroup, idle_s: float) -> None:
        self.job = job
        self._idle_s = idle_s
        self._deno = deno
        self._group = group
        self._lock = anyio.Lock()
        self._life: _Life | None = None
        self._retired = False

    def retire(self) -> None:
        """It is not called again; what it is at is finished."""
        self._retired = True
        if self._life is not None and not self._lock.locked():
            self._life.unwanted.set()

    async def call(self, event: HookEvent) -> HookReply:
        """Raises: HookFailed; ClawftError."""
        mark = secrets.token_hex(16)
        async with self._lock:
            try:
                life = await self._come_alive()
                finished = await self._ask(life, event, mark)
            except BaseException:
                if self._life is not None:
                    self._life.unwanted.set()  # whatever it is at now, nobody waits for it
                raise
            if self._retired:
                life.unwanted.set()
        return read_finished(self.job, event, finished, mark.encode())

    async def _come_alive(self) -> _Life:
        life = self._life
        if life is not None and not life.usable:
            life.unwanted.set()
            await life.over.wait()  # bounded: its process is being ended
            life = None
        if life is None:
            life = self._life = _Life(self.job.max_bytes)
            self._group.start_soon(self._live, life)
        life.asked = math.inf  # as long as it is being asked it is not idle
        await life.started.wait()
        if life.failure is not None:
            raise life.failure
        return life

    async def _live(self, life: _Life) -> None:
        """Start the process, and stay with it until nobody wants it."""
        try:
            async with self._deno.open(self.job, "host.js") as (launch, handler):
                life.handler = handler
                async with open_piped_process(launch, patient=False) as piped:
                    life.piped_process = piped
                    piped.group.start_soon(_read_errors, piped, life)
                    life.started.set()
                    await _stay(life, self._idle_s)
                life.ended = _finish(launch, piped, life)
        except Exception as error:  # the caller gets this error
            life.failure = error
        finally:
            life.started.set()
            life.over.set()

    async def _ask(self, life: _Life, event: HookEvent, mark: str) -> Finished:
        """Send a call, and read what is written until it is answered."""
        assert life.piped_process is not None
        job, started = self.job, anyio.current_time()
        call = {"mark": mark, "handler": life.handler, "export": job.export, **event.to_call()}
        life.errors = OutputSink(job.max_bytes)
        output = OutputSink(job.max_bytes)
        answered = False
        with anyio.move_on_after(job.timeout_s) as scope:
            answered = await _exchange(life, write_json(call) + b"\n", mark.encode(), output)
            for _ in range(2 * answered):  # what it wrote on the other pipe before is there, and only to be read
                await checkpoint()
        life.asked = anyio.current_time()
        finished = Finished(
            0,
            output.content(),
            life.errors.content(),
            anyio.current_time() - started,
            truncated=output.cut_bytes > 0,
            timed_out=scope.cancelled_caught,
            flooded=life.flooded.is_set(),
        )
        return finished if answered else await self._find_end(life, finished)

    async def _find_end(self, life: _Life, finished: Finished) -> Finished:
        """Return how a process ended that gave no answer."""
        assert life.piped_process is not None
        if not (finished.timed_out or finished.truncated or finished.flooded):
            with anyio.move_on_after(_EXIT_S):
                await life.piped_process.process.wait()
        life.unwanted.set()
        await life.over.wait()
        if life.ended is None:
            raise life.failure or HookFailed("hook-ended", "Its process was ended")
        ended = life.ended
        return structs.replace(finished, code=ended.code, exceeded=ended.exceeded, errors=life.errors.content())


def _has_exited(pid: int) -> bool:
    """Return whether a child has ended, which the loop may not have heard of yet."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # and was reaped
        return True


def _finish(launch: Launch, piped: PipedProcess, life: _Life) -> Finished:
    """Return how the program ended. Raises: ClawftError if it was never started."""
    code = piped.process.returncode
    finished = Finished(-signal.SIGKILL if code is None else code, b"", life.errors.content(), 0)
    return launch.finish(finished) if launch.finish else finished


async def _stay(life: _Life, idle_s: float) -> None:
    """Wait until nobody wants it, or has asked it anything for long."""
    while not life.unwanted.is_set():
        with anyio.move_on_after(idle_s):
            await life.unwanted.wait()
        if anyio.current_time() - life.asked > idle_s:
            life.unwanted.set()


async def _exchange(life: _Life, line: bytes, mark: bytes, output: OutputSink) -> bool:
    """Return whether a line that begins with the mark came, before the end or too much of something else."""
    assert life.piped_process is not None
    sought, seen, scanned, at = b"\n" + mark, bytearray(), 0, -1
    try:
        await life.piped_process.stdin.send(line)
        while output.cut_bytes == 0 and not life.flooded.is_set():
            chunk = await life.piped_process.stdout.receive()
            output.add(chunk)
            seen += chunk
            at = at if at >= 0 else seen.find(sought, max(0, scanned - len(sought)))
            scanned = len(seen)
            if at >= 0 and seen.find(b"\n", at + len(sought)) >= 0:
                return output.cut_bytes == 0
    except (*BROKEN, anyio.EndOfStream):
        return False
    return False


async def _read_errors(piped: PipedProcess, life: _Life) -> None:
    try:
        async for chunk in piped.stderr:
            if not life.errors.add(chunk):
                life.flooded.set()
                life.unwanted.set()
                return
    except BROKEN:
        pass
