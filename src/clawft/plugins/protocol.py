"""The talk with a plugin's process: orders go out, and each waits for its answer.

Whatever comes in is somebody else's: it is decoded, checked and expected, or the talk is over.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any, Literal

import anyio
import msgspec

from clawft.contracts import PluginError, Unsupported
from clawft.errors import ClawftError
from clawft.plugins.guest.wire import MAX_LINE, Answer, Ask, Error, FromGuest, Order, Told
from clawft.plugins.results import make_error
from clawft.plugins.running import PluginFailed
from clawft.sandbox.kept import BROKEN

__all__ = ["Talk", "nonsense"]

_SEND_S = 5.0  # its pipe is read at all times, unless nothing of it runs
_MAX_ASKED = 64  # deliveries at once; the guest itself holds back before that
_ASKS, _ASKS_RATE = 10_000.0, 1000.0  # deliveries at once, and for each second
Do = Literal["start", "call", "ping", "shutdown"]


class _Waiting:
    """An order that is not answered yet."""

    def __init__(self, do: Do, what: str) -> None:
        self.do = do
        self.what = what
        self.done = anyio.Event()
        self.answer: Answer | None = None


class Talk:
    """`send` writes a line to the process, and `mask` takes secrets out of what it says of itself."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]], mask: Callable[[str], str]) -> None:
        self._send_line = send
        self._mask = mask
        self._numbers = count(1)
        self._waiting: dict[int, _Waiting] = {}
        self._forgotten: set[int] = set()  # nobody waits for these, and an answer may still come
        self._asked = 0
        self._room, self._since = _ASKS, anyio.current_time()
        self._sending = anyio.Lock()
        self._decoder: msgspec.json.Decoder[FromGuest] = msgspec.json.Decoder(FromGuest)
        self.failure: ClawftError | None = None  # why it is over

    def is_busy(self) -> bool:
        """Whether something is being done that has an end of its own."""
        return any(
            one.do == "call" and one.what not in ("start_channel", "is_healthy") for one in self._waiting.values()
        )

    def end(self, error: ClawftError) -> None:
        """It is over: all who wait are told; the first reason counts."""
        self.failure = self.failure or error
        for waiting in self._waiting.values():
            waiting.done.set()

    async def order(self, do: Do, what: str = "", given: Any = None, *, grace_s: float = 0.0) -> Any:
        """Have something done, and wait for what comes of it.

        When the wait is cancelled, so is what was ordered; it has `grace_s` to end, or the talk is over. Without any,
        it is only forgotten.

        Raises: PluginError; PluginFailed.
        """
        number = next(self._numbers)
        waiting = self._waiting[number] = _Waiting(do, what)
        sent = False
        try:
            await self._send(Order(number, do, what, given))
            sent = True
            await waiting.done.wait()
        except anyio.get_cancelled_exc_class():
            if grace_s and sent:
                with anyio.CancelScope(shield=True):
                    await self._withdraw(number, waiting, grace_s)
            raise
        finally:
            del self._waiting[number]
            if waiting.answer is None:
                self._forgotten.add(number)
        if waiting.answer is None:
            raise self._tell_failure()
        if waiting.answer.error is not None:
            raise make_error(waiting.answer.error, self._mask)
        return waiting.answer.value

    async def answer(self, ask: Ask, deliver: Callable[[Ask], Awaitable[bool]]) -> None:
        """Do what the process asks for, and tell it what came of it."""
        value, error = False, None
        try:
            value = await deliver(ask)
        except PluginError as problem:
            kind: Literal["unsupported", "channel"] = "unsupported" if isinstance(problem, Unsupported) else "channel"
            error = Error(kind, str(problem), problem.code, problem.hint)
        finally:
            self._asked -= 1
        await self._send(Order(ask.id, "answer", given=value, error=error))

    def hear(self, line: bytes) -> Ask | Told | None:
        """Take a line; what it asks for or tells, if it does. Raises: PluginFailed for what no honest guest says."""
        try:
            said = self._decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
            raise nonsense("a line that is none of its protocol") from error
        if isinstance(said, Ask | Told):
            self._admit(said)
            return said
        waiting = self._waiting.get(said.id)
        if waiting is not None and not waiting.done.is_set():
            waiting.answer = said
            waiting.done.set()
        elif said.id in self._forgotten:
            self._forgotten.discard(said.id)
        else:
            raise nonsense("an answer to what it was not asked")
        return None

    def _admit(self, said: Ask | Told) -> None:
        """Raises: PluginFailed for a flood."""
        now = anyio.current_time()
        self._room, self._since = min(_ASKS, self._room + (now - self._since) * _ASKS_RATE) - 1, now
        self._asked += isinstance(said, Ask)
        if self._asked > _MAX_ASKED or self._room < 0:
            raise PluginFailed("It hands in more messages than anybody could take", code="plugin-flooded")

    async def _withdraw(self, number: int, waiting: _Waiting, grace_s: float) -> None:
        """Nobody waits for an order any more."""
        with anyio.move_on_after(grace_s):
            await self._send(Order(number, "cancel"))
            await waiting.done.wait()
        if waiting.answer is None:
            self.end(PluginFailed("It did not end what was cancelled", code="plugin-hangs"))

    async def _send(self, order: Order) -> None:
        """Raises: PluginFailed; PluginError for what is too much."""
        line = msgspec.json.encode(order)
        if len(line) >= MAX_LINE:
            message = f"{len(line)} bytes are too much for a plugin; the most is {MAX_LINE}"
            raise PluginError(message, code="plugin-size")
        async with self._sending:
            if self.failure is not None:
                raise self._tell_failure()
            sent = False
            with anyio.move_on_after(_SEND_S, shield=True), suppress(*BROKEN):  # nobody would understand half a line
                await self._send_line(line + b"\n")
                sent = True
            if not sent:
                self.end(PluginFailed("It no longer listens", code="plugin-ended"))
                raise self._tell_failure()

    def _tell_failure(self) -> PluginFailed:
        assert self.failure is not None
        return PluginFailed(str(self.failure), code=self.failure.code, hint=self.failure.hint)


def nonsense(what: str) -> PluginFailed:
    """What a plugin said that it has no reason to say."""
    return PluginFailed(f"It said {what}", code="plugin-nonsense")
