"""A Python plugin at work: a process of its own in the sandbox, kept, and spoken with over its pipes."""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec import structs

from clawft.contracts import ChannelError, PluginError
from clawft.errors import ClawftError, Refused
from clawft.plugins.guest.wire import MAX_LINE, GuestRequest, PluginStart, RefusalReport
from clawft.plugins.launch import PluginLaunch
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
from clawft.sandbox.process import BROKEN, Finished, Launch, PipedProcess, open_piped_process
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
        job: PluginLaunch,
        around: PluginEnvironment,
        group: TaskGroup,
        find_inbound: Callable[[str], InboundReceiver | None],
    ) -> None:
        self.job = job
        self._around = around
        self._group = group
        self._find_inbound = find_inbound
        self._log = PluginLog(log_path(around.workspace.user_dir, job.id), around.secrets.mask)
        self._talk = PluginConnection(self._send, around.secrets.mask)
        self._up = anyio.Event()  # it runs, or it failed to
        self._over = anyio.Event()
        self._unwanted = anyio.Event()
        self._piped: PipedProcess | None = None
        self._copy = ""
        self._words = b""
        self._refused: set[str] = set()

    @property
    def alive(self) -> bool:
        return self._up.is_set() and self._talk.failure is None and not self._unwanted.is_set()

    async def start(self) -> None:
        """Raises: ClawftError."""
        self._group.start_soon(self._live_on)
        try:
            with anyio.fail_after(self.job.times.init_s):
                await self._up.wait()
                start = msgspec.to_builtins(self._describe_start()) if self._copy else None
                await self._talk.order("start", parameters=start, grace_s=_GRACE_S)
        except BaseException as error:
            self._unwanted.set()
            await self._bury()
            if isinstance(error, TimeoutError):
                message = f"It was not ready within {self.job.times.init_s:g} seconds"
                raise PluginFailed(message, code="plugin-timeout", hint="See plugins.init_timeout_s") from error
            raise

    def _describe_start(self) -> PluginStart:
        opened, confined = (*self.job.readable, *self.job.writable), self._around.sandbox.settings.mode != "off"
        return structs.replace(self.job.start(self._copy), id=self.job.id, opened=opened, confined=confined)

    async def call(self, what: str, parameters: Mapping[str, Any]) -> Any:
        """A call of `start_channel` lasts as long as the channel. Raises: PluginError; PluginFailed."""
        plain = msgspec.to_builtins(dict(parameters))
        if what == "start_channel":
            return await self._run_channel(plain)
        limit_s = self.job.times.call_s
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
            await self._bury()

    async def _run_channel(self, parameters: dict[str, Any]) -> Any:
        """Nothing limits how long a channel runs, so it is looked at from time to time."""

        async def look() -> None:
            before: Health = "healthy"
            while self.alive:
                await anyio.sleep(min(_LOOK_S, self.job.times.call_s))
                now = await self.health()
                if now == before == "hangs":
                    self._end(PluginFailed("It does nothing any more, and does not answer", code="plugin-hangs"))
                before = now

        error: PluginError | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)
            try:
                await self._talk.order(
                    "call", "start_channel", parameters, grace_s=self.job.times.shutdown_s + _GRACE_S
                )
            except PluginError as raised:  # not in a group
                error = raised
            finally:
                self._look_over()
            tasks.cancel_scope.cancel()
        if error is not None:
            raise error

    async def _shut_down(self) -> None:
        try:
            with anyio.fail_after(self.job.times.shutdown_s):
                left = await self._talk.order("shutdown")
        except TimeoutError as error:
            message = f"It did not end within {self.job.times.shutdown_s:g} seconds"
            raise PluginFailed(message, code="plugin-timeout", hint="See plugins.shutdown_timeout_s") from error
        named = [f"{kind} {', '.join(map(str, names))}" for kind, names in dict(left or {}).items() if names]
        if named:
            raise PluginFailed(f"It left behind {'; '.join(named)[:500]}", code="plugin-leaks")

    async def _bury(self) -> None:
        """Wait until nothing of it is left."""
        self._unwanted.set()
        with anyio.CancelScope(shield=True):
            await self._over.wait()  # bounded: its process is being ended

    async def _live_on(self) -> None:
        """Run the process until the host closes it: a cancellation would not let the plugin shut down."""
        with anyio.CancelScope(shield=True):
            await self._live()

    async def _live(self) -> None:
        """Start the process, and stay with it until nobody wants it."""
        job, around = self.job, self._around
        try:
            for folder in (os.path.dirname(job.data_dir), job.data_dir):
                os.makedirs(folder, mode=0o700, exist_ok=True)
            async with (
                open_skill_copy(around.workspace.user_dir, job.folder, job.digest) as copy,
                around.sandbox.prepare(
                    job.words,
                    cwd=job.data_dir,
                    env={**job.env, **job.own_env},
                    confinement=job.confine(copy),
                    record=self._record,
                ) as launch,
                open_piped_process(launch, patient=False) as piped,
            ):
                self._copy, self._piped = copy, piped
                piped.group.start_soon(self._read_errors, piped)
                piped.group.start_soon(self._read_lines, piped, launch)
                piped.group.start_soon(_keep_fresh, copy)
                self._up.set()
                await self._unwanted.wait()
        except ClawftError as error:
            self._end(_name(error, job))
        except OSError as error:
            self._end(PluginFailed(f"It cannot be started: {error}", code="plugin-start"))
        finally:
            self._end(PluginFailed("Its process was ended", code="plugin-ended"))
            self._log.close()
            self._up.set()
            self._over.set()

    def _end(self, error: ClawftError) -> None:
        """Have it ended, for this reason."""
        self._talk.end(error)
        self._unwanted.set()

    def _look_over(self) -> None:
        """A talk that is over ends the process."""
        if self._talk.failure is not None:
            self._unwanted.set()

    async def _send(self, line: bytes) -> None:
        assert self._piped is not None
        await self._piped.stdin.send(line)

    async def _read_errors(self, piped: PipedProcess) -> None:
        """Copy the process's stderr to its log, and end a process that prints too much."""
        room, last = _FLOOD_BYTES, anyio.current_time()
        with suppress(*BROKEN):
            async for chunk in piped.stderr:
                now = anyio.current_time()
                room, last = min(_FLOOD_BYTES, room + (now - last) * _FLOOD_RATE) - len(chunk), now
                if room < 0:
                    self._end(PluginFailed("It prints without end", code="plugin-flooded"))
                    return
                self._words = (self._words + chunk)[-_LAST_WORDS:]
                self._log.add(chunk)

    async def _read_lines(self, piped: PipedProcess, launch: Launch) -> None:
        rest = bytearray()
        try:
            async for chunk in piped.stdout:
                rest += chunk
                if b"\n" in chunk:
                    *lines, left = rest.split(b"\n")
                    rest = bytearray(left)
                    for line in lines:
                        match self._talk.hear(bytes(line)):
                            case GuestRequest() as ask:
                                piped.group.start_soon(self._answer, ask)
                            case RefusalReport() as told:
                                self._note_refusal(told)
                if len(rest) > MAX_LINE:
                    raise make_protocol_error(f"a line of more than {MAX_LINE} bytes")
        except PluginFailed as error:
            self._end(error)
        except BROKEN:
            pass
        self._end(await self._find_end(piped, launch))

    async def _answer(self, ask: GuestRequest) -> None:
        with suppress(PluginError):  # it may be gone
            await self._talk.answer(ask, self._deliver)

    async def _deliver(self, ask: GuestRequest) -> bool:
        """Raises: PluginError."""
        inbound = self._find_inbound(ask.channel) if ask.channel in self.job.declared.channels else None
        if inbound is None:
            raise ChannelError(f"Nobody takes messages of the channel '{ask.channel[:80]}'", code="channel-closed")
        return await deliver_received(ask, inbound)

    async def _find_end(self, piped: PipedProcess, launch: Launch) -> ClawftError:
        """Find the reason why a process ended unasked."""
        if not self._unwanted.is_set():
            with anyio.move_on_after(_GRACE_S):
                await piped.process.wait()
        code = piped.process.returncode
        words = self._words
        finished = Finished(-signal.SIGKILL if code is None else code, b"", words, 0)
        try:
            finished = launch.finish(finished) if launch.finish else finished
        except ClawftError as error:
            return error
        if finished.exceeded in _EXCEEDED:
            message, kind, hint = _EXCEEDED[finished.exceeded]
            return PluginFailed(message, code=kind, hint=hint)
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
        audit = self._around.audit
        write = audit.tell if decision == "deny" else audit.write
        if decision == "deny":
            self._log.say(render_refusal(self.job.id, subject, rule))
        write(kind, subject, decision=decision, rule=rule, digest=self.job.digest, detail={"plugin": self.job.id})


async def _keep_fresh(copy: str) -> None:
    """Touch the copy at intervals: old copies are removed as left over from a killed process, and this one may run for
    weeks."""
    while True:
        await anyio.sleep(_FRESH_S)
        with suppress(OSError):
            os.utime(copy)


def _name(error: ClawftError, job: PluginLaunch) -> ClawftError:
    """Turn the error of a changed skill into that of a changed plugin."""
    if error.code != "skill-changed":
        return error
    hint = f"Look at it, then: weft plugins enable {job.id}"
    return Refused("plugin-changed", "It changed since it was granted", path=job.folder, hint=hint)
