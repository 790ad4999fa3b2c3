"""The interface of every provider: a request in, a stream of chunks out. It is the same for all wire formats."""

from collections.abc import AsyncGenerator
from typing import Any, Literal, Protocol

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.messages import Message, ReasoningKind, ToolCall, Usage

Stop = Literal["end", "tools", "length", "refusal"]


class ModelTool(Struct, frozen=True):
    """A tool as a model sees it; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class ModelRequest(Struct, frozen=True):
    """One model call. `model` is the provider's own name for it; a system message comes first if there is one."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ModelTool, ...] = ()
    temperature: float | None = None
    max_tokens: int = 4096


class TextChunk(Struct, frozen=True):
    text: str


class ReasoningChunk(Struct, frozen=True):
    """Part of what a model thought before it answered; a `signature` ends a block of it."""

    kind: ReasoningKind
    text: str = ""
    signature: str = ""


class CallChunk(Struct, frozen=True):
    """A tool call, whole."""

    call: ToolCall


class RetryChunk(Struct, frozen=True):
    """The request failed in a way that may pass, and is tried again after a pause."""

    attempt: int
    wait_s: float
    reason: str


class DoneChunk(Struct, frozen=True):
    """The last chunk of every stream that came to its end."""

    stop: Stop
    usage: Usage = Usage()


Chunk = TextChunk | ReasoningChunk | CallChunk | RetryChunk | DoneChunk


class Provider(Protocol):
    """A client of one wire, or something that answers by itself."""

    name: str

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """An async generator: closing it closes the connection. Raises: ProviderError."""
        ...

    async def close(self) -> None: ...


class ProviderError(ClawftError):
    """The provider did not answer. Codes: `provider-unreachable`, `provider-timeout`, `provider-refused` (401, 403),
    `provider-limited` (429 to the end), `provider-failed` (5xx, or another status), `provider-bad-answer`."""


class ContextFull(ProviderError):
    """The conversation is too long for the model. Code `provider-context`."""


class StreamCut(ProviderError):
    """The answer broke off after part of it had come; nothing that came is complete. Code `provider-cut`."""
