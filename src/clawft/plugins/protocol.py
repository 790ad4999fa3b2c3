"""The host's end of the protocol with a plugin's process: send requests, match responses and check results."""

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Literal

import anyio
import msgspec

from clawft.agent.mcp.remote import clean_text
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
from clawft.errors import ClawftError
from clawft.plugins.guest.wire import (
    MAX_LINE,
    FromGuest,
    GuestError,
    GuestRequest,
    GuestResponse,
    HostRequest,
    RefusalReport,
)
from clawft.plugins.runtime import InboundReceiver, PluginFailed
from clawft.sandbox.process import BROKEN

_KINDS: dict[str, type[PluginError]] = {"answer": PluginError, "channel": ChannelError, "unsupported": Unsupported}
_CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MAX_TEXT = 2000
_RESULTS: dict[str, Any] = {
    "execute_tool": ToolOutput,
    "process": PipelineContext,
    "is_healthy": bool,
    "store": None,
    "append": None,
    "retrieve": str | None,
    "search": list[MemoryResult],
    "delete": bool,
    "list_keys": list[str],
}


def read_result(what: str, parameters: Mapping[str, Any], value: Any) -> Any:
    """Parse the result of a call. Raises: PluginFailed for a result of another type than declared."""
    kind = str(parameters.get("verb")) if what == "memory" else what
    if kind not in _RESULTS:
        return value
    try:
        return msgspec.convert(value, _RESULTS[kind])
    except msgspec.ValidationError as error:
        message = f"What it gave for '{kind}' is of the wrong kind: {error}"
        raise PluginFailed(message, code="plugin-result") from error


def make_error(error: GuestError, mask: Callable[[str], str]) -> PluginError:
    """Build an exception from a plugin's error, with secrets masked: a plugin may have been given some."""
    message, hint = (clean_text(mask(text))[:_MAX_TEXT] for text in (error.message, error.hint))
    code = error.code if _CODE.fullmatch(error.code[:60]) else ""
    if error.kind in _KINDS:
        return _KINDS[error.kind](message, code=code or "plugin-said", hint=hint)
    return PluginFailed(message, code=code or "plugin-failed", hint=hint)


async def deliver_received(ask: GuestRequest, inbound: InboundReceiver) -> bool:
    """Give what a channel received to who takes it. Raises: PluginError."""
    try:
        if ask.what == "deliver_inbound":
            message = msgspec.convert(ask.arguments, InboundMessage)
        else:
            payload: MessagePayload = msgspec.convert(ask.arguments["payload"], MessagePayload)
            sender, conversation = (msgspec.convert(ask.arguments[name], str) for name in ("sender", "conversation"))
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise Unsupported(f"What it hands in is no message: {error}"[:500], code="channel-message") from error
    if ask.what == "deliver_inbound":
        return await inbound.deliver_inbound(message)
    return await inbound.deliver_payload(sender, conversation, payload)


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
        self.answer: GuestResponse | None = None


class PluginConnection:
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
        """Return whether something is being done that has an end of its own."""
        return any(
            waiting.do == "call" and waiting.what not in ("start_channel", "is_healthy")
            for waiting in self._waiting.values()
        )

    def end(self, error: ClawftError) -> None:
        """End the connection and wake all waiting calls; the first reason is the one reported."""
        self.failure = self.failure or error
        for waiting in self._waiting.values():
            waiting.done.set()

    async def order(self, do: Do, what: str = "", parameters: Any = None, *, grace_s: float = 0.0) -> Any:
        """Have something done, and wait for what comes of it.

        When the wait is cancelled, so is what was ordered; it has `grace_s` to end, or the talk is over. Without any,
        it is only forgotten.

        Raises: PluginError; PluginFailed.
        """
        number = next(self._numbers)
        waiting = self._waiting[number] = _Waiting(do, what)
        sent = False
        try:
            await self._send(HostRequest(number, do, what, parameters))
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

    async def answer(self, ask: GuestRequest, deliver: Callable[[GuestRequest], Awaitable[bool]]) -> None:
        """Do what the process asks for, and tell it what came of it."""
        value, error = False, None
        try:
            value = await deliver(ask)
        except PluginError as problem:
            kind: Literal["unsupported", "channel"] = "unsupported" if isinstance(problem, Unsupported) else "channel"
            error = GuestError(kind, str(problem), problem.code, problem.hint)
        finally:
            self._asked -= 1
        await self._send(HostRequest(ask.id, "answer", arguments=value, error=error))

    def hear(self, line: bytes) -> GuestRequest | RefusalReport | None:
        """Take a line; what it asks for or tells, if it does. Raises: PluginFailed for what no honest guest says."""
        try:
            message = self._decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
            raise make_protocol_error("a line that is none of its protocol") from error
        if isinstance(message, GuestRequest | RefusalReport):
            self._admit(message)
            return message
        waiting = self._waiting.get(message.id)
        if waiting is not None and not waiting.done.is_set():
            waiting.answer = message
            waiting.done.set()
        elif message.id in self._forgotten:
            self._forgotten.discard(message.id)
        else:
            raise make_protocol_error("an answer to what it was not asked")
        return None

    def _admit(self, message: GuestRequest | RefusalReport) -> None:
        """Raises: PluginFailed for a flood."""
        now = anyio.current_time()
        self._room, self._since = min(_ASKS, self._room + (now - self._since) * _ASKS_RATE) - 1, now
        self._asked += isinstance(message, GuestRequest)
        if self._asked > _MAX_ASKED or self._room < 0:
            raise PluginFailed("It hands in more messages than anybody could take", code="plugin-flooded")

    async def _withdraw(self, number: int, waiting: _Waiting, grace_s: float) -> None:
        """Nobody waits for an order any more."""
        with anyio.move_on_after(grace_s):
            await self._send(HostRequest(number, "cancel"))
            await waiting.done.wait()
        if waiting.answer is None:
            self.end(PluginFailed("It did not end what was cancelled", code="plugin-hangs"))

    async def _send(self, order: HostRequest) -> None:
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


def make_protocol_error(what: str) -> PluginFailed:
    """Build the error for a message that a plugin has no reason to send."""
    return PluginFailed(f"It said {what}", code="plugin-nonsense")
