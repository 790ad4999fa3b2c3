"""What a plugin gives back, made sure to be of the promised kind, and what it says of itself made harmless."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

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
from clawft.mcp.plain import clean_text
from clawft.plugins.guest.wire import Ask, Error
from clawft.plugins.running import Inbound, PluginFailed

__all__ = ["hand_in", "make_error", "read_result"]

_KINDS: dict[str, type[PluginError]] = {"answer": PluginError, "channel": ChannelError, "unsupported": Unsupported}
_CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MAX_SAID = 2000
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


def read_result(what: str, given: Mapping[str, Any], value: Any) -> Any:
    """What came of a call. Raises: PluginFailed for what is of another kind than promised."""
    kind = str(given.get("verb")) if what == "memory" else what
    if kind not in _RESULTS:
        return value
    try:
        return msgspec.convert(value, _RESULTS[kind])
    except msgspec.ValidationError as error:
        message = f"What it gave for '{kind}' is of the wrong kind: {error}"
        raise PluginFailed(message, code="plugin-result") from error


def make_error(said: Error, mask: Callable[[str], str]) -> PluginError:
    """What a plugin says of itself, as an exception: without secrets, of which it may have some."""
    message, hint = (clean_text(mask(text))[:_MAX_SAID] for text in (said.message, said.hint))
    code = said.code if _CODE.fullmatch(said.code[:60]) else ""
    if said.kind in _KINDS:
        return _KINDS[said.kind](message, code=code or "plugin-said", hint=hint)
    return PluginFailed(message, code=code or "plugin-failed", hint=hint)


async def hand_in(ask: Ask, inbound: Inbound) -> bool:
    """Give what a channel received to who takes it. Raises: PluginError."""
    try:
        if ask.what == "deliver_inbound":
            message = msgspec.convert(ask.given, InboundMessage)
        else:
            payload: MessagePayload = msgspec.convert(ask.given["payload"], MessagePayload)
            sender, conversation = (msgspec.convert(ask.given[name], str) for name in ("sender", "conversation"))
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise Unsupported(f"What it hands in is no message: {error}"[:500], code="channel-message") from error
    if ask.what == "deliver_inbound":
        return await inbound.deliver_inbound(message)
    return await inbound.deliver_payload(sender, conversation, payload)
