"""What a client sent over a WebSocket, as a request; and if it is none, what is wrong with it, precisely."""

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError, find_close
from clawft.protocol.base import Id, Request
from clawft.protocol.operations import OPERATIONS, decode_request
from clawft.serve.explaining import explain

__all__ = ["BadFrame", "parse_frame"]

_TYPES = {one.name: one.request for one in OPERATIONS}


class BadFrame(ClawftError):
    """No request. `request` is the id that it came with, as far as that could be read."""

    def __init__(self, request: str, message: str, hint: str = "") -> None:
        super().__init__("request-invalid", message, hint=hint)
        self.request = request


class _Head(Struct):
    type: str = ""
    id: Id = ""


def parse_frame(text: str | None) -> Request:
    """Raises: BadFrame. None stands for a message that is no text."""
    if text is None:
        raise BadFrame("", "Messages are text: a JSON object each", "Binary messages are not read")
    try:
        return decode_request(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise _explain(text, error) from None


def _explain(text: str, error: Exception) -> BadFrame:
    try:
        head = msgspec.json.decode(text, type=_Head)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return BadFrame("", f"This is no request: {_say(error)}", 'A request is a JSON object: {"type": …, "id": …}')
    if head.type in _TYPES:
        said, hint = explain(error, _TYPES[head.type])
        return BadFrame(head.id, f"This is no {head.type}: {said}", hint)
    if not head.type:
        return BadFrame(head.id, "A request says what it is: `type` is missing", f"One of {', '.join(_TYPES)}")
    close = find_close(head.type[:60], _TYPES)
    hint = f"Did you mean '{close}'?" if close else f"One of {', '.join(_TYPES)}"
    return BadFrame(head.id, f"There is no request of the type '{head.type[:60]}'", hint)


def _say(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
