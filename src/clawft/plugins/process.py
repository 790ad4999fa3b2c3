"""A Python plugin at work: a process of its own in the sandbox, kept, and spoken with over its pipes."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from clawft.contracts import ChannelError, PluginError
from clawft.errors import ClawftError, Refused
from clawft.plugins.guest.wire import MAX_LINE, GuestRequest, RefusalReport
from clawft.plugins.launch import PluginLaunch, PythonProgram
from clawft.plugins.protocol import PluginConnection, deliver_received, make_protocol_error, read_result
from clawft.plugins.runtime import (
    MAX_REFUSALS,
    Health,
    InboundReceiver,
    PluginEnvironment,
    PluginFailed,
    PluginLog,
    kind_of_refusal,
    log_path,
    render_refusal,
)
from clawft.sandbox.child import ChildProcess, LineTooLong
from clawft.sandbox.process import BROKEN, Finished, Launch
from clawft.trust.run_copies import open_skill_copy

_GRACE_S = 1.0  # for a call to end that was cancelled, and for a process to tell how it ended
_PING_S = 2.0
_LOOK_S = 15.0  # how often a plugin with a channel is looked at
_FLOOD_BYTES, _FLOOD_RATE = float(4 << 20), 256 << 10  # of what it prints: at once, and for each second
_LAST_WORDS = 500
_FRESH_S = 6 * 3600.0
_EXCEEDED = {
    "memory": ("It took more memory than it may", "plugin-memory", "See plugins.memory_mb"),
    "processes": ("It started more processes or threads than it may", "plugin-processes", ""),
}


class PythonProcess:
    """The process of a Python plugin. It lives in a task of `group`, since its callers return long before it ends.

    `find_inbound` returns the receiver of a channel's messages.
    """

    def __init__(
        self,
        program: PythonProgram,
        around: PluginEnvironment,
        group: TaskGroup,
        find_inbound: Callable[[str], InboundReceiver | None],
    ) -> None:
        self.job = job = program.job
        self._program = program
        self._around = around
        self._group = group
        self._find_inbound = find_inbound
        self._log = PluginLog(log_path(around.workspace.user_dir, job.id), around.secrets.mask)
        self._child = ChildProcess(self._prepare, self._hear)
        self._talk = PluginConnection(self._child.send, around.secrets.mask)
        self._copy = ""
        self._room, self._printed_at = _FLOOD_BYTES, anyio.current_time()  # for what it prints
        self._refused: set[str] = set()

    @property
    def alive(self) -> bool:
        child = self._child
        return child.started.is_set() and self._talk.failure is None and not child.unwanted.is_set()

    async def start(self) -> None:
        """Raises: ClawftError."""
        self._group.start_soon(self._live)
        try:
            with anyio.fail_after(self.job.init_s):
                await self._child.started.wait()
                confined = self._around.sandbox.settings.mode != "off"
                start = msgspec.to_builtins(self._program.start(self._copy, confined=confined)) if self._copy else None
                await self._talk.order("start", parameters=start, grace_s=_GRACE_S)
        except BaseException as error:
            await self._child.bury()
            if isinstance(error, TimeoutError):
                message = f"It was not ready within {self.job.init_s:g} seconds"
                raise PluginFailed(message, code="plugin-timeout", hint="See plugins.init_timeout_s") from error
            raise

    async def call(self, what: str, parameters: Mapping[str, Any]) -> Any:
        """A call of `start_channel` lasts as long as the channel. Raises: PluginError; PluginFailed."""
        plain = msgspec.to_builtins(dict(parameters))
        if what == "start_channel":
            return await self._run_channel(plain)
        limit_s = self.job.call_s
        try:
            with anyio.fail_after(limit_s):
                value = await self._talk.order("call", what, plain, grace_s=_GRACE_S)
        except TimeoutError as error:
            message = f"'{what}' took longer than {limit_s:g} seconds"
            raise PluginFailed(message, code="plugin-timeout", hint="See plugins.call_timeout_s") from error
        finally:
            self._look_over()
        return read_result(what, parameters, value)

    async def health(self) -> Health:
        if not self.alive:
            return "stopped"
        try:
            with anyio.fail_after(_PING_S):
                await self._talk.order("ping")
                return "healthy" if await self._talk.order("call", "is_healthy", {}) else "unhealthy"
        except TimeoutError:
            return "busy" if self._talk.is_busy() else "hangs"
        except PluginError:
            return "unhealthy"

    async def close(self) -> None:
        """Raises: PluginFailed."""
        try:
            if self.alive:
                await self._shut_down()
        finally:
            await self._child.bury()

    async def _run_channel(self, parameters: dict[str, Any]) -> Any:
        """Nothing limits how long a channel runs, so it is looked at from time to time."""

        async def look() -> None:
            before: Health = "healthy"
            while self.alive:
                await anyio.sleep(min(_LOOK_S, self.job.call_s))
                now = await self.health()
                if now == before == "hangs":
                    self._end(PluginFailed("It does nothing any more, and does not answer", code="plugin-hangs"))
                before = now

        error: PluginError | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)
            try:
                await self._talk.order("call", "start_channel", parameters, grace_s=self.job.shutdown_s + _GRACE_S)
            except PluginError as raised:  # not in a group
                error = raised
            finally:
                self._look_over()
            tasks.cancel_scope.cancel()
        if error is not None:
            raise error

    async def _shut_down(self) -> None:
        try:
            with anyio.fail_after(self.job.shutdown_s):
                left = await self._talk.order("shutdown")
        except TimeoutError as error:
            message = f"It did not end within {self.job.shutdown_s:g} seconds"
            raise PluginFailed(message, code="plugin-timeout", hint="See plugins.shutdown_timeout_s") from error
        named = [f"{kind} {', '.join(map(str, names))}" for kind, names in dict(left or {}).items() if names]
        if named:
            raise PluginFailed(f"It left behind {'; '.join(named)[:500]}", code="plugin-leaks")

    async def _live(self) -> None:
        """Run the process until the host closes it: a cancellation would not let the plugin shut down."""
        with anyio.CancelScope(shield=True):
            await self._child.live(self._read_messages, self._keep_fresh)

    @asynccontextmanager
    async def _prepare(self) -> AsyncIterator[Launch]:
        """The launch in a copy of what was granted; who waits hears why it ended, or was not started."""
        job, around = self.job, self._around
        try:
            for folder in (os.path.dirname(job.data_dir), job.data_dir):
                os.makedirs(folder, mode=0o700, exist_ok=True)
            async with (
                open_skill_copy(around.workspace.user_dir, job.folder, job.digest) as self._copy,
                around.sandbox.prepare(
                    self._program.words,
                    cwd=job.data_dir,
                    env=self._program.env,
                    confinement=self._program.confine(self._copy),
                    record=self._record,
                ) as launch,
            ):
                yield launch
            if self._child.ended is not None:
                self._end(self._explain_end(self._child.ended))
        except ClawftError as error:
            self._end(_name(error, job))
            raise
        except OSError as error:
            self._end(PluginFailed(f"It cannot be started: {error}", code="plugin-start"))
            raise
        finally:
            self._end(PluginFailed("Its process was ended", code="plugin-ended"))
            self._log.close()

    def _end(self, error: ClawftError) -> None:
        """Have it ended, for this reason."""
        self._talk.end(error)
        self._child.unwanted.set()

    def _look_over(self) -> None:
        """A talk that is over ends the process."""
        if self._talk.failure is not None:
            self._child.unwanted.set()

    def _hear(self, chunk: bytes) -> None:
        """Copy the process's stderr to its log, and end a process that prints too much."""
        now = anyio.current_time()
        self._room = min(_FLOOD_BYTES, self._room + (now - self._printed_at) * _FLOOD_RATE) - len(chunk)
        self._printed_at = now
        if self._room < 0:
            self._end(PluginFailed("It prints without end", code="plugin-flooded"))
        else:
            self._log.add(chunk)

    async def _read_messages(self) -> None:
        try:
            async for line in self._child.read_lines(MAX_LINE):
                match self._talk.hear(line):
                    case GuestRequest() as ask:
                        self._child.piped.group.start_soon(self._answer, ask)
                    case RefusalReport() as told:
                        self._note_refusal(told)
        except LineTooLong:
            self._end(make_protocol_error(f"a line of more than {MAX_LINE} bytes"))
        except PluginFailed as error:
            self._end(error)
        except BROKEN:
            pass
        if not self._child.unwanted.is_set():
            await self._child.leave(_GRACE_S)

    async def _keep_fresh(self) -> None:
        """Touch the copy at intervals: old copies are removed as left over from a killed process, and this one may run
        for weeks."""
        while True:
            await anyio.sleep(_FRESH_S)
            with suppress(OSError):
                os.utime(self._copy)

    async def _answer(self, ask: GuestRequest) -> None:
        with suppress(PluginError):  # it may be gone
            await self._talk.answer(ask, self._deliver)

    async def _deliver(self, ask: GuestRequest) -> bool:
        """Raises: PluginError."""
        inbound = self._find_inbound(ask.channel) if ask.channel in self.job.manifest.channels else None
        if inbound is None:
            raise ChannelError(f"Nobody takes messages of the channel '{ask.channel[:80]}'", code="channel-closed")
        return await deliver_received(ask, inbound)

    def _explain_end(self, finished: Finished) -> ClawftError:
        """Return the reason why a process ended unasked."""
        if finished.exceeded in _EXCEEDED:
            message, kind, hint = _EXCEEDED[finished.exceeded]
            return PluginFailed(message, code=kind, hint=hint)
        words = self._child.words[-_LAST_WORDS:]
        last = self._around.secrets.mask(words.decode("utf-8", "replace")).strip().rpartition("\n")[2]
        suffix = f": {last[:200]}" if last else ""
        return PluginFailed(f"Its process ended by itself, with code {finished.code}{suffix}", code="plugin-ended")

    def _note_refusal(self, refusal: RefusalReport) -> None:
        """It says so itself: nobody knows whether it is true, but each thing is written once, and not for ever."""
        subject = refusal.subject[:_LAST_WORDS]
        if subject in self._refused or len(self._refused) > MAX_REFUSALS:
            return
        if len(self._refused) == MAX_REFUSALS:
            subject = "and more"
        self._refused.add(subject)
        self._record(kind_of_refusal(refusal.rule), subject, "deny", refusal.rule)

    def _record(self, kind: str, subject: str, decision: str, rule: str) -> None:
        if decision == "deny":
            self._log.say(render_refusal(self.job.id, subject, rule))
        digest, detail = self.job.digest, {"plugin": self.job.id}
        self._around.audit.record(kind, subject, decision=decision, rule=rule, digest=digest, detail=detail)


def _name(error: ClawftError, job: PluginLaunch) -> ClawftError:
    """Turn the error of a changed skill into that of a changed plugin."""
    if error.code != "skill-changed":
        return error
    hint = f"Look at it, then: weft plugins enable {job.id}"
    return Refused("plugin-changed", "It changed since it was granted", path=job.folder, hint=hint)
