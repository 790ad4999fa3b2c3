"""What every provider takes and gives: a request, and a stream of chunks. Wires differ; this does not."""

from collections.abc import AsyncGenerator
from typing import Any, Literal, Protocol

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.messages import Message, ToolCall, Usage

__all__ = [
    "Call",
    "Chunk",
    "Done",
    "Provider",
    "ProviderError",
    "Request",
    "Retry",
    "Stop",
    "StreamCut",
    "Text",
    "ToolSpec",
]

Stop = Literal["end", "tools", "length", "refusal"]


class ToolSpec(Struct, frozen=True):
    """A tool as a model sees it; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class Request(Struct, frozen=True):
    """One model call. `model` is the provider's own name for it; a system message comes first if there is one."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_tokens: int = 4096


class Text(Struct, frozen=True):
    text: str


class Call(Struct, frozen=True):
    """A tool call, whole."""

    call: ToolCall


class Retry(Struct, frozen=True):
    """The request failed in a way that may pass, and is tried again after a pause."""

    attempt: int
    wait_s: float
    reason: str


class Done(Struct, frozen=True):
    """The last chunk of every stream that came to its end."""

    stop: Stop
    usage: Usage = Usage()


Chunk = Text | Call | Retry | Done


class Provider(Protocol):
    """A client of one wire, or something that answers by itself."""

    name: str

    def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        """An async generator: closing it closes the connection. Raises: ProviderError."""
        ...

    async def close(self) -> None: ...


class ProviderError(ClawftError):
    """The provider did not answer. Codes: `provider-unreachable`, `provider-timeout`, `provider-refused` (401, 403),
    `provider-limited` (429 to the end), `provider-failed` (5xx, or another status), `provider-bad-answer`."""


class StreamCut(ProviderError):
    """The answer broke off after part of it had come; nothing that came is complete. Code `provider-cut`."""
