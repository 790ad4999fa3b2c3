"""The wire format as the HTTP client sees it: how a request is written, and how the frames of an answer are read."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol
from uuid import uuid4

import msgspec

from clawft.agent.providers.endpoint import Endpoint
from clawft.agent.providers.request import Chunk, ModelRequest, ProviderError
from clawft.messages import ToolCall

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|request_too_large|maximum context length|prompt is too long"
    r"|exceeds? (?:the )?(?:available |model's |maximum )?context"
    r"|(?:input|token count).{0,60}exceeds? the (?:maximum|limit)"
    r"|too many (?:input )?tokens|reduce the length of the (?:messages|input|prompt)",
    re.IGNORECASE,
)
_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])', re.DOTALL)
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


class ServerError(Exception):
    """The server answered with an error, as a status or inside its stream."""

    def __init__(self, status: int, message: str, about: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.about = about  # its other words for what is wrong

    @property
    def is_too_long(self) -> bool:
        """Return whether the conversation does not fit the model's window."""
        return self.status in (400, 413, 422, 500) and bool(_TOO_LONG.search(f"{self.about} {self.message}"))


class AnswerReader(Protocol):
    """Reads one answer. `complete`: nothing of it is missing; `ended`: the server said that nothing follows."""

    complete: bool
    ended: bool

    def read(self, frame: str) -> Iterator[Chunk]:
        """Read the chunks of one frame, or of a whole JSON answer. Raises: ProviderError, ServerError."""
        ...

    def finish(self) -> Iterator[Chunk]:
        """Yield what was held back, and finally a Done."""
        ...


class ProviderWire(Protocol):
    """One of the two languages that servers speak."""

    path: str

    def build_headers(self, key: str) -> dict[str, str]: ...

    def build_body(self, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]: ...

    def open_reader(self) -> AnswerReader: ...


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
    """Return a number of tokens as a whole number that is not negative; 0 for anything else."""
    return min(max(value, 0), _MAX_COUNT) if isinstance(value, int) and not isinstance(value, bool) else 0


def parse_call(call_id: str, name: str, written: str) -> ToolCall:
    """A call from the text of its arguments; what is no JSON object is kept as it came."""
    made_id = call_id or f"call_{uuid4().hex[:24]}"
    if not written.strip():
        return ToolCall(made_id, name)
    arguments, problem = parse_arguments(written)
    return (
        ToolCall(made_id, name, arguments)
        if not problem
        else ToolCall(made_id, name, {}, written, f"The arguments are no JSON object. {problem}")
    )


def parse_arguments(written: str) -> tuple[dict[str, Any], str]:
    """Parse arguments, repaired where it is clear what was meant: a trailing comma, a raw newline or tab in a string,
    JSON inside a JSON string. Where they cannot be, also say what is wrong."""
    value = _decode(written)
    try:
        if value is None:
            value = _decode_leniently(written)
        if isinstance(value, str):
            value = _decode_leniently(value)
    except ValueError as error:
        return {}, _tell_error(error)
    except RecursionError:
        return {}, "They are nested too deeply"
    if not isinstance(value, dict):
        return {}, f"They are {_NAMES.get(type(value), 'a number')}, and must be an object: {{…}}"
    return value, ""


_NAMES = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}


def _decode_leniently(text: str) -> Any:
    """Decode JSON with commas too many and control characters in strings. Raises: ValueError, RecursionError."""
    plain = _COMMA.sub(lambda match: "" if match[0] == "," else match[0], text)
    value = json.loads(plain, strict=False)
    msgspec.json.encode(value)  # the library takes numbers and half characters that are no JSON
    return value


def _tell_error(error: ValueError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return "They hold what JSON does not know"
    near = error.doc[max(0, error.pos - 30) : error.pos + 10]
    return f"{error.msg} at line {error.lineno}, column {error.colno}, near {near!r}"


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments as a model is shown them again: servers refuse a history that holds broken JSON."""
    return {"malformed": call.malformed} if call.malformed else call.arguments


def safe_name(name: str) -> str:
    """A name of a tool or call as both wires take it: models make up others, and other wires have wider ones."""
    return _UNSAFE.sub("_", name)[:64] or "unknown"


def read_error(body: Mapping[str, Any]) -> ServerError:
    """The error object of either wire, in a stream or as a body."""
    error = body.get("error")
    if not isinstance(error, dict):
        return ServerError(400, str(error or body.get("message") or body.get("detail") or ""))
    message = str(error.get("message") or error.get("type") or "")
    about = f"{error.get('code')} {error.get('type')}"
    for kind in (error.get("code"), error.get("type")):
        if isinstance(kind, int) and 400 <= kind < 600:
            return ServerError(kind, message, about)
        if isinstance(kind, str) and kind in _STATUS_OF_TYPE:
            return ServerError(_STATUS_OF_TYPE[kind], message, about)
    return ServerError(400, message, about)


def find_error(body: str) -> ServerError | None:
    """Find the error in a response body, if it has the form that both wire formats use."""
    value = _decode(body)
    return read_error(value) if isinstance(value, dict) else None


def _decode(text: str) -> Any:
    """The value of a JSON text; None where it is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
