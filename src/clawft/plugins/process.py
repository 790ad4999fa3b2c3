"""A Python plugin at work: a process of its own in the sandbox, kept, and asked over its pipes.

Whatever comes from it is somebody else's: every line is bounded, checked, and expected, or its process is ended.
"""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from clawft.contracts import (
    ChannelError,
    InboundMessage,
    MemoryResult,
    MessagePayload,
    PipelineContext,
    PluginError,
    ToolOutput,
    Unsupported,
)
from clawft.errors import ClawftError, Refused
from clawft.plugins.guest.wire import MAX_LINE, Answer, Ask, Error, FromGuest, Order
from clawft.plugins.job import PluginJob
from clawft.plugins.log import PluginLog, log_path
from clawft.plugins.running import Around, Health, Inbound, PluginFailed
from clawft.sandbox.kept import BROKEN, Kept, open_kept
from clawft.sandbox.process import Finished, Launch
from clawft.trust.copies import open_skill_copy

__all__ = ["PythonProcess"]

_GRACE_S = 1.0  # for a call to end that was cancelled, and for a process to tell how it ended
_PING_S = 2.0
_MAX_ASKED = 64  # deliveries at once; the guest itself holds back before that
_FLOOD_BYTES, _FLOOD_RATE = 4 << 20, 256 << 10  # of what it prints: at once, and for each second
_RESULTS: dict[str, Any] = {
    "execute_tool": ToolOutput,
    "process": PipelineContext,
    "store": None,
    "append": None,
    "retrieve": str | None,
    "search": list[MemoryResult],
    "delete": bool,
    "list_keys": list[str],
    "is_healthy": bool,
}
_KINDS: dict[str, type[PluginError]] = {"answer": PluginError, "channel": ChannelError, "unsupported": Unsupported}


class _Waiting:
    """A call that is not answered yet."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.answer: Answer | None = None


class PythonProcess:
    """One process. It lives in a task of `group`, since whoever calls it is gone long before it ends.

    `find_inbound` tells who takes what a channel receives.
    """

    def __init__(
        self, job: PluginJob, around: Around, group: TaskGroup, find_inbound: Callable[[str], Inbound | None]
    ) -> None:
        self.job = job
        self._around = around
        self._group = group
        self._find_inbound = find_inbound
        self._log = PluginLog(log_path(around.workspace.user_dir, job.id), around.secrets.mask)
        self._numbers = count(1)
        self._waiting: dict[int, _Waiting] = {}
        self._withdrawn: set[int] = set()
        self._asked = 0
        self._sending = anyio.Lock()
        self._up = anyio.Event()  # it runs, or it failed to
        self._over = anyio.Event()
        self._unwanted = anyio.Event()
        self._kept: Kept | None = None
        self._copy = ""
        self._failure: ClawftError | None = None
        self._decoder: msgspec.json.Decoder[FromGuest] = msgspec.json.Decoder(FromGuest)

    @property
    def alive(self) -> bool:
        return self._kept is not None and not (self._unwanted.is_set() or self._over.is_set())

    async def start(self) -> None:
        """Raises: ClawftError."""
        self._group.start_soon(self._live)
        try:
            with anyio.fail_after(self.job.times.init_s):
                await self._up.wait()
                if self._failure is not None:
                    raise self._failure
                await self._order("start", given=msgspec.to_builtins(self.job.start(self._copy)))
        except TimeoutError as error:
            message = f"It was not ready within {self.job.times.init_s:g} seconds"
            raise PluginFailed(message, code="plugin-timeout", hint="See plugins.init_timeout_s") from error
        except BaseException:
            self._unwanted.set()
            raise
        finally:
            if not self.alive:
                await self._bury()

    async def call(self, what: str, given: Mapping[str, Any]) -> Any:
        """Raises: PluginError; PluginFailed."""
        limit = None if what == "start_channel" else self.job.times.call_s
        try:
            with anyio.fail_after(limit):
                value = await self._order("call", what, msgspec.to_builtins(dict(given)))
        except TimeoutError as error:
            message = f"'{what}' took longer than {limit:g} seconds"
            raise PluginFailed(message, code="plugin-timeout", hint="See plugins.call_timeout_s") from error
        return self._read_result(given.get("verb", what) if what == "memory" else what, value)

    async def health(self) -> Health:
        if not self.alive:
            return "stopped"
        try:
            with anyio.fail_after(_PING_S):
                await self._order("ping")
                return "healthy" if await self._order("call", "is_healthy", {}) else "unhealthy"
        except TimeoutError:
            return "hangs"
        except PluginError:
            return "unhealthy"

    async def close(self) -> None:
        """Raises: PluginFailed."""
        try:
            if self.alive:
                await self._shut_down()
        finally:
            await self._bury()

    async def _shut_down(self) -> None:
        try:
            with anyio.fail_after(self.job.times.shutdown_s):
                left = await self._order("shutdown")
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

    # --- The process ---------------------------------------------------------------------------------------------

    async def _live(self) -> None:
        """Start the process, and stay with it until nobody wants it."""
        job, around = self.job, self._around
        try:
            os.makedirs(job.data_dir, mode=0o700, exist_ok=True)
            async with (
                open_skill_copy(around.workspace.user_dir, job.folder, job.digest) as copy,
                around.sandbox.prepare(
                    job.words,
                    cwd=job.data_dir,
                    env={**job.env, **job.own_env},
                    confinement=job.confine(copy),
                    record=self._record,
                ) as launch,
            ):
                self._copy = copy
                async with open_kept(launch, patient=False) as kept:
                    self._kept = kept
                    kept.group.start_soon(self._read_errors, kept)
                    kept.group.start_soon(self._read_lines, kept, launch)
                    self._up.set()
                    await self._unwanted.wait()
        except ClawftError as error:
            self._fail(_name(error, job))
        except OSError as error:
            self._fail(PluginFailed(f"It cannot be started: {error}", code="plugin-start"))
        finally:
            self._fail(PluginFailed("Its process was ended", code="plugin-ended"))
            self._log.close()
            self._over.set()
            self._up.set()

    def _fail(self, error: ClawftError) -> None:
        """End it, and tell all who wait; the first reason counts."""
        self._failure = self._failure or error
        self._unwanted.set()
        self._up.set()
        for waiting in self._waiting.values():
            waiting.done.set()

    async def _read_errors(self, kept: Kept) -> None:
        """What it prints goes to its log, as long as it is not too much."""
        room, last = float(_FLOOD_BYTES), anyio.current_time()
        try:
            async for chunk in kept.stderr:
                now = anyio.current_time()
                room, last = min(_FLOOD_BYTES, room + (now - last) * _FLOOD_RATE) - len(chunk), now
                if room < 0:
                    self._fail(PluginFailed("It prints without end", code="plugin-flooded"))
                    return
                self._log.add(chunk)
        except BROKEN:
            pass

    async def _read_lines(self, kept: Kept, launch: Launch) -> None:
        rest = bytearray()
        try:
            async for chunk in kept.stdout:
                rest += chunk
                if b"\n" in chunk:
                    *lines, left = rest.split(b"\n")
                    rest = bytearray(left)
                    for line in lines:
                        self._hear(bytes(line), kept)
                if len(rest) > MAX_LINE:
                    self._fail(_nonsense(f"a line of more than {MAX_LINE} bytes"))
                if self._unwanted.is_set():
                    return
        except BROKEN:
            pass
        self._fail(await self._find_end(kept, launch))

    async def _find_end(self, kept: Kept, launch: Launch) -> ClawftError:
        """Why a process is gone."""
        with anyio.move_on_after(_GRACE_S):
            await kept.process.wait()
        code = kept.process.returncode
        finished = Finished(-signal.SIGKILL if code is None else code, b"", b"", 0)
        try:
            finished = launch.finish(finished) if launch.finish else finished
        except ClawftError as error:
            return error
        if finished.exceeded:
            named = {"memory": "memory", "processes": "processes or threads"}.get(finished.exceeded, finished.exceeded)
            hint = "See plugins.memory_mb" if finished.exceeded == "memory" else ""
            return PluginFailed(f"It took more {named} than it may", code="plugin-memory", hint=hint)
        return PluginFailed(f"Its process ended by itself, with code {finished.code}", code="plugin-ended")

    # --- What is said --------------------------------------------------------------------------------------------

    async def _order(self, do: Any, what: str = "", given: Any = None) -> Any:
        """Say something, and wait for the answer. Raises: PluginError; PluginFailed."""
        number = next(self._numbers)
        waiting = self._waiting[number] = _Waiting()
        try:
            await self._send(Order(number, do, what, given))
            await waiting.done.wait()
        except anyio.get_cancelled_exc_class():
            if do != "ping":
                with anyio.CancelScope(shield=True):
                    await self._withdraw(number, waiting, _grace_of(what, self.job))
            raise
        finally:
            del self._waiting[number]
            if waiting.answer is None:
                self._withdrawn.add(number)
        if waiting.answer is None:
            assert self._failure is not None
            raise self._failure
        if waiting.answer.error is not None:
            raise self._make_error(waiting.answer.error)
        return waiting.answer.value

    async def _withdraw(self, number: int, waiting: _Waiting, grace_s: float) -> None:
        """Nobody waits for a call any more: it is cancelled, or else the process is ended."""
        with anyio.move_on_after(grace_s):
            await self._send(Order(number, "cancel"))
            await waiting.done.wait()
        if waiting.answer is None:
            self._fail(PluginFailed("It did not end a call that was cancelled", code="plugin-hangs"))

    async def _send(self, order: Order) -> None:
        """Raises: PluginFailed."""
        line = msgspec.json.encode(order)
        if len(line) >= MAX_LINE:
            raise PluginError(
                f"{len(line)} bytes are too much for a plugin; the most is {MAX_LINE}", code="plugin-size"
            )
        async with self._sending:
            if not self.alive or self._kept is None:
                raise self._failure or PluginFailed("Its process was ended", code="plugin-ended")
            sent = False
            try:
                await self._kept.stdin.send(line + b"\n")
                sent = True
            except BROKEN as error:
                raise self._failure or PluginFailed("It no longer listens", code="plugin-ended") from error
            finally:
                if not sent:  # half a line may have gone out: nothing that follows would be understood
                    self._unwanted.set()

    def _hear(self, line: bytes, kept: Kept) -> None:
        try:
            said = self._decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            self._fail(_nonsense("a line that is none of its protocol"))
            return
        if isinstance(said, Ask):
            self._asked += 1
            if self._asked > _MAX_ASKED:
                self._fail(_nonsense("more deliveries at once than it may"))
                return
            kept.group.start_soon(self._deliver, said)
            return
        waiting = self._waiting.get(said.id)
        if waiting is not None and not waiting.done.is_set():
            waiting.answer = said
            waiting.done.set()
        elif said.id in self._withdrawn:
            self._withdrawn.discard(said.id)
        else:
            self._fail(_nonsense("an answer to what it was not asked"))

    async def _deliver(self, ask: Ask) -> None:
        error: Error | None = None
        value = False
        try:
            value = await self._hand_in(ask)
        except (msgspec.ValidationError, KeyError, TypeError) as problem:
            error = Error("unsupported", f"What it hands in is no message: {problem}"[:500], "channel-message")
        except PluginError as problem:
            kind = "unsupported" if isinstance(problem, Unsupported) else "channel"
            error = Error(
                "unsupported" if kind == "unsupported" else "channel", str(problem), problem.code, problem.hint
            )
        finally:
            self._asked -= 1
        with suppress(PluginError):  # it may be gone
            await self._send(Order(ask.id, "answer", given=value, error=error))

    async def _hand_in(self, ask: Ask) -> bool:
        """Raises: PluginError; ValidationError."""
        inbound = self._find_inbound(ask.channel) if ask.channel in self.job.declared.channels else None
        if inbound is None:
            raise ChannelError(f"Nobody takes messages of the channel '{ask.channel[:80]}'", code="channel-closed")
        if ask.what == "deliver_inbound":
            return await inbound.deliver_inbound(msgspec.convert(ask.given, InboundMessage))
        payload: MessagePayload = msgspec.convert(ask.given["payload"], MessagePayload)
        sender, conversation = (msgspec.convert(ask.given[name], str) for name in ("sender", "conversation"))
        return await inbound.deliver_payload(sender, conversation, payload)

    def _read_result(self, what: str, value: Any) -> Any:
        """Raises: PluginFailed for what is not of the promised kind."""
        if what not in _RESULTS:
            return value
        try:
            return msgspec.convert(value, _RESULTS[what])
        except msgspec.ValidationError as error:
            raise PluginFailed(
                f"What it gave for '{what}' is of the wrong kind: {error}", code="plugin-result"
            ) from error

    def _make_error(self, said: Error) -> PluginError:
        """What it said of itself, as an exception; without secrets, of which it may have some."""
        message, hint = (self._around.secrets.mask(text)[:2000] for text in (said.message, said.hint))
        if said.kind in _KINDS:
            return _KINDS[said.kind](message, code=said.code or "plugin-said", hint=hint)
        return PluginFailed(message, code=said.code or "plugin-failed", hint=hint)

    def _record(self, kind: str, subject: str, decision: str, rule: str) -> None:
        audit = self._around.audit
        write = audit.tell if decision == "deny" else audit.write
        write(kind, subject, decision=decision, rule=rule, digest=self.job.digest, detail={"plugin": self.job.id})


def _nonsense(what: str) -> PluginFailed:
    return PluginFailed(f"It said {what}", code="plugin-nonsense")


def _name(error: ClawftError, job: PluginJob) -> ClawftError:
    """What is said of a skill that changed, of a plugin."""
    if error.code != "skill-changed":
        return error
    hint = f"Look at it, then: weft plugins enable {job.id}"
    return Refused("plugin-changed", "It changed since it was granted", path=job.folder, hint=hint)


def _grace_of(what: str, job: PluginJob) -> float:
    return job.times.shutdown_s + _GRACE_S if what == "start_channel" else _GRACE_S
