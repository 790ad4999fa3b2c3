"""Long-lived hook processes: one for each hook that handles frequent events, called one event at a time."""

import math
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from msgspec import structs

from clawft.agent.hooks.deno import DenoRunner, read_finished
from clawft.agent.hooks.events import KINDS, HookEvent, HookFailed, HookReply, write_json
from clawft.agent.hooks.handlers import HookLaunch
from clawft.sandbox.child import ChildProcess, close_tasks
from clawft.sandbox.process import BROKEN, Finished, Launch, OutputSink

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
        await close_tasks(group)
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


class _Host:
    """One hook as it is now, and its process, if there is one."""

    def __init__(self, deno: DenoRunner, job: HookLaunch, group: TaskGroup, idle_s: float) -> None:
        self.job = job
        self._idle_s = idle_s
        self._deno = deno
        self._group = group
        self._lock = anyio.Lock()
        self._child: ChildProcess | None = None
        self._retired = False
        self._since = self._asked = 0.0  # when the process was made, and last asked
        self._handler = ""  # as the process sees it
        self._errors = OutputSink(job.max_bytes)  # of the call that is under way
        self._flooded = False

    def retire(self) -> None:
        """It is not called again; what it is at is finished."""
        self._retired = True
        if self._child is not None and not self._lock.locked():
            self._child.unwanted.set()

    async def call(self, event: HookEvent) -> HookReply:
        """Raises: HookFailed; ClawftError."""
        mark = secrets.token_hex(16)
        async with self._lock:
            try:
                child = await self._come_alive()
                finished = await self._ask(child, event, mark)
            except BaseException:
                if self._child is not None:
                    self._child.unwanted.set()  # whatever it is at now, nobody waits for it
                raise
            if self._retired:
                child.unwanted.set()
        return read_finished(self.job, event, finished, mark.encode())

    async def _come_alive(self) -> ChildProcess:
        child, now = self._child, anyio.current_time()
        if child is not None and (not child.usable or now - self._since > _OLD_S):
            await child.bury()
            child = None
        if child is None:
            child = self._child = ChildProcess(self._prepare, self._hear)
            self._since, self._flooded, self._errors = now, False, OutputSink(self.job.max_bytes)
            self._group.start_soon(child.live, self._end_idle)
        self._asked = math.inf  # as long as it is being asked it is not idle
        await child.started.wait()
        if child.failure is not None:
            raise child.failure
        return child

    @asynccontextmanager
    async def _prepare(self) -> AsyncIterator[Launch]:
        async with self._deno.open(self.job, "host.js") as (launch, self._handler):
            yield launch

    def _hear(self, chunk: bytes) -> None:
        if not self._errors.add(chunk) and self._child is not None:
            self._flooded = True
            self._child.unwanted.set()

    async def _end_idle(self) -> None:
        """Wait until it was not asked anything for long."""
        while anyio.current_time() - self._asked <= self._idle_s:
            await anyio.sleep(self._idle_s)
        assert self._child is not None
        self._child.unwanted.set()

    async def _ask(self, child: ChildProcess, event: HookEvent, mark: str) -> Finished:
        """Send a call, and read what is written until it is answered."""
        job, started = self.job, anyio.current_time()
        call = {"mark": mark, "handler": self._handler, "export": job.export, **event.to_call()}
        self._errors, output = OutputSink(job.max_bytes), OutputSink(job.max_bytes)
        answered = False
        with anyio.move_on_after(job.timeout_s) as scope:
            answered = await self._exchange(child, write_json(call) + b"\n", mark.encode(), output)
            for _ in range(2 * answered):  # what it wrote on the other pipe before is there, and only to be read
                await checkpoint()
        self._asked = anyio.current_time()
        finished = Finished(
            0,
            output.content(),
            self._errors.content(),
            anyio.current_time() - started,
            truncated=output.cut_bytes > 0,
            timed_out=scope.cancelled_caught,
            flooded=self._flooded,
        )
        return finished if answered else await self._find_end(child, finished)

    async def _exchange(self, child: ChildProcess, line: bytes, mark: bytes, output: OutputSink) -> bool:
        """Return whether a line that begins with the mark came, before the end or too much of something else."""
        sought, seen, scanned, at = b"\n" + mark, bytearray(), 0, -1
        try:
            await child.piped.stdin.send(line)
            while output.cut_bytes == 0 and not self._flooded:
                chunk = await child.piped.stdout.receive()
                output.add(chunk)
                seen += chunk
                at = at if at >= 0 else seen.find(sought, max(0, scanned - len(sought)))
                scanned = len(seen)
                if at >= 0 and seen.find(b"\n", at + len(sought)) >= 0:
                    return output.cut_bytes == 0
        except (*BROKEN, anyio.EndOfStream):
            return False
        return False

    async def _find_end(self, child: ChildProcess, finished: Finished) -> Finished:
        """Return how a process ended that gave no answer."""
        is_killed = finished.timed_out or finished.truncated or finished.flooded
        await child.leave(0 if is_killed else _EXIT_S)
        await child.over.wait()
        if child.ended is None:
            raise child.failure or HookFailed("hook-ended", "Its process was ended")
        ended, errors = child.ended, self._errors.content()
        return structs.replace(finished, code=ended.code, exceeded=ended.exceeded, errors=errors)
