"""What a wire is to the HTTP client: how a request is written, and how the frames of an answer are read."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol
from uuid import uuid4

import msgspec

from clawft.messages import ToolCall
from clawft.providers.endpoint import Endpoint
from clawft.providers.request import Chunk, ProviderError, Request

__all__ = [
    "Reader",
    "ServerSaid",
    "Wire",
    "arguments_of",
    "as_dict",
    "count_tokens",
    "decode_frame",
    "find_error",
    "is_json",
    "parse_call",
    "read_error",
    "safe_name",
]

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_MAX_COUNT = 10**12
_STATUS_OF_TYPE = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 402,  # comes as 429, and waiting does not help
    "api_error": 500,
    "server_error": 500,
    "internal_server_error": 500,
    "timeout_error": 504,
    "authentication_error": 401,
    "permission_error": 403,
}


class ServerSaid(Exception):
    """The server answered with an error, as a status or inside its stream."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Reader(Protocol):
    """Reads one answer. `complete`: nothing of it is missing; `ended`: the server said that nothing follows."""

    complete: bool
    ended: bool

    def read(self, frame: str) -> Iterator[Chunk]:
        """What one frame, or a whole JSON answer, adds. Raises: ProviderError, ServerSaid."""
        ...

    def finish(self) -> Iterator[Chunk]:
        """What was held back, and at last a Done."""
        ...


class Wire(Protocol):
    """One of the two languages that servers speak."""

    path: str

    def build_headers(self, key: str) -> dict[str, str]: ...

    def build_body(self, request: Request, endpoint: Endpoint) -> dict[str, Any]: ...

    def open_reader(self) -> Reader: ...


def decode_frame(frame: str) -> dict[str, Any]:
    """A JSON object. Raises: ProviderError."""
    value = _decode(frame)
    if not isinstance(value, dict):
        raise ProviderError("provider-bad-answer", "The answer holds an event that is no JSON object")
    return value


def is_json(text: str) -> bool:
    return _decode(text) is not None


def as_dict(value: object) -> dict[str, Any]:
    """The object itself, or an empty one where a server sent something else."""
    return value if isinstance(value, dict) else {}


def count_tokens(value: object) -> int:
    """A number of tokens as it should have been: whole, and not negative (R155)."""
    return min(max(value, 0), _MAX_COUNT) if isinstance(value, int) and not isinstance(value, bool) else 0


def parse_call(call_id: str, name: str, written: str) -> ToolCall:
    """A call from the text of its arguments; what is no JSON object is kept as it came."""
    made_id = call_id or f"call_{uuid4().hex[:24]}"
    arguments = _decode(written) if written.strip() else {}
    if not isinstance(arguments, dict):
        return ToolCall(made_id, name, malformed=written)
    return ToolCall(made_id, name, arguments)


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments as a model is shown them again: servers refuse a history that holds broken JSON."""
    return {"malformed": call.malformed} if call.malformed else call.arguments


def safe_name(name: str) -> str:
    """A name of a tool or call as both wires take it: models make up others, and other wires have wider ones."""
    return _UNSAFE.sub("_", name)[:64] or "unknown"


def read_error(body: Mapping[str, Any]) -> ServerSaid:
    """The error object of either wire, in a stream or as a body."""
    error = body.get("error")
    if not isinstance(error, dict):
        return ServerSaid(400, str(error or body.get("message") or body.get("detail") or ""))
    message = str(error.get("message") or error.get("type") or "")
    for kind in (error.get("code"), error.get("type")):
        if isinstance(kind, int) and 400 <= kind < 600:
            return ServerSaid(kind, message)
        if isinstance(kind, str) and kind in _STATUS_OF_TYPE:
            return ServerSaid(_STATUS_OF_TYPE[kind], message)
    return ServerSaid(400, message)


def find_error(body: str) -> ServerSaid | None:
    """What the body of an error says, if it says it as both wires do."""
    value = _decode(body)
    return read_error(value) if isinstance(value, dict) else None


def _decode(text: str) -> Any:
    """The value of a JSON text; None where it is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
