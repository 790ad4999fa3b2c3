"""What the status of an answer means to the person, and how long a server wants us to wait."""

import shlex
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from clawft.config.registries import CLAWHUB
from clawft.errors import ClawftError, NotFound
from clawft.sandbox.reach import FetchError
from clawft.sources.plain import plain_line

__all__ = ["Asked", "HttpError", "read_wait", "tell_status"]


_LIST = "Run: weft registries list"


class HttpError(ClawftError):
    """An answer that is none. Codes: `source-denied`, `source-conflict`, `source-gone`, `source-pending`,
    `source-busy`, `source-failed`."""

    status = 0
    body = b""
    said = ""  # the server's own words


class _Missing(HttpError, NotFound):
    """Code `source-not-found`."""


class Asked(msgspec.Struct, frozen=True):
    """A place as people know it: by its address, and by the name of the registry that it is, if it is one."""

    origin: str
    name: str = ""

    def __str__(self) -> str:
        return f"'{self.name}' ({self.origin})" if self.name else f"'{self.origin}'"

    def tell_silence(self, origin: str, error: FetchError) -> FetchError:
        """What it means that nobody answers at an address: its own, or one that it leads to."""
        who = str(self) if origin == self.origin else f"{origin}, to which {self} leads,"
        if error.code == "fetch-unresolved":
            message, hint = f"{who} cannot be found: its name has no address", "Is there a network? "
            drop = f"To do without it: weft registries remove {CLAWHUB}"
            hint += drop if self.name == CLAWHUB else "If there is, check its spelling"
        else:
            message = f"{who} does not answer: {plain_line(str(error).partition(': ')[2] or str(error), 100)}"
            hint = "Is it running, and is this its address? " + (_LIST if self.name else "Is there a network?")
        return FetchError(error.code, message, hint=hint)


def tell_status(place: Asked, status: int, body: bytes, url: str = "") -> HttpError:
    """What a status means to the person, at which address; the server's own words with it."""
    said = plain_line(_read_message(body), 200)
    code, message = _STATUS.get(status, ("source-failed", f"answers with status {status}"))
    hint = ""
    if status == 401:
        add = f"weft registries add NAME {shlex.quote(place.origin)}, then: weft registries token NAME"
        hint = f"Give it one: weft registries token {place.name}" if place.name else f"Add it as a registry: {add}"
    kind = _Missing if status == 404 else HttpError
    error = kind(code, f"{place} {message}" + (f": {said}" if said else ""), path=plain_line(url, 200), hint=hint)
    error.status, error.body, error.said = status, body, said
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
