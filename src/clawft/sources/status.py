"""What the status of an answer means to the person, and how long a server wants us to wait."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from clawft.errors import ClawftError, NotFound
from clawft.sources.plain import plain_line

__all__ = ["HttpError", "read_wait", "tell_status"]


class HttpError(ClawftError):
    """An answer that is none. Codes: `source-denied`, `source-conflict`, `source-gone`, `source-pending`,
    `source-busy`, `source-failed`."""

    status = 0
    body = b""


class _Missing(HttpError, NotFound):
    """Code `source-not-found`."""


def tell_status(host: str, status: int, body: bytes) -> HttpError:
    """What a status means to the person; the server's own words with it."""
    said = plain_line(_read_message(body), 200)
    code, message = _STATUS.get(status, ("source-failed", f"answers with status {status}"))
    error = (_Missing if status == 404 else HttpError)(code, f"'{host}' {message}" + (f": {said}" if said else ""))
    error.status, error.body = status, body
    return error


def _read_message(body: bytes) -> str:
    """What a server says in words: as text, or as the `message` of a document; nothing of a page."""
    if body.lstrip().startswith(b"{"):
        try:
            return msgspec.json.decode(body, type=_Said).message
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""
    text = body.decode("utf-8", "replace")
    return "" if text.lstrip().startswith("<") else text


class _Said(msgspec.Struct):
    message: str = ""


_STATUS = {
    400: ("source-failed", "does not understand the question"),
    401: ("source-denied", "wants a token, or another one"),
    403: ("source-denied", "does not give this out"),
    404: ("source-not-found", "has no such thing"),
    409: ("source-conflict", "cannot tell which is meant, or has another state by now"),
    410: ("source-gone", "has it no longer"),
    423: ("source-pending", "is still checking it"),
    429: ("source-busy", "was asked too often"),
}


def read_wait(header: str | None) -> float | None:
    """Seconds to wait, if the server says so in seconds or as a date; ours if it cannot be read."""
    if header is None:
        return None
    digits = header.strip()
    if digits.isascii() and digits.isdigit():
        return float(digits[:9])
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
