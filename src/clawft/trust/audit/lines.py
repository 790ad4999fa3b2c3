"""One line of the audit log: its fields, its bounds, and how it hangs on the line before.

The hash of a line is the SHA-256 of its bytes up to, and without, `,"hash":`. It can be checked with any tool.
"""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["NO_HASH", "Line", "bound_detail", "bound_subject", "bound_text", "encode_line", "hash_bytes", "parse_line"]

NO_HASH = "0" * 64  # what the first line hangs on
MAX_SUBJECT = 2000  # characters
MAX_FIELD = 400
MAX_DETAIL = 4000  # bytes of its JSON
MAX_INT = 1 << 63
_MARK = b',"hash":"'
_END = len(_MARK) + 64 + len(b'"}')


class _Open(Struct, frozen=True, forbid_unknown_fields=True):
    """A line before its hash. `skill` and `digest` name every active skill, in the same order."""

    seq: int
    at: str  # UTC, with milliseconds
    kind: str
    subject: str
    decision: str
    rule: str
    skill: str
    digest: str
    session: str
    detail: dict[str, Any]
    prev: str


class Line(_Open, frozen=True, forbid_unknown_fields=True):
    """One decision or deed."""

    hash: str

    @property
    def time(self) -> datetime | None:
        """When it was written; None where another hand wrote something else."""
        try:
            return datetime.fromisoformat(self.at).astimezone(UTC)
        except (ValueError, OverflowError):
            return None


def encode_line(fields: Mapping[str, Any]) -> tuple[bytes, str]:
    """A line with its end, and its hash."""
    body = msgspec.json.encode(_Open(**fields))[:-1]
    digest = hash_bytes(body)
    return body + _MARK + digest.encode() + b'"}\n', digest


def parse_line(raw: bytes) -> tuple[Line, bool] | None:
    """A line without its end, and whether its hash fits its bytes; None if it is no line at all."""
    try:
        line = msgspec.json.decode(raw, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    fits = raw[-_END:-66] == _MARK and hash_bytes(raw[:-_END]) == line.hash
    return line, fits


def hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def bound_subject(text: str, mask: Callable[[str], str]) -> tuple[str, dict[str, str]]:
    """A subject that a line may hold, and the digest of the whole of it, without secrets, if it is cut."""
    whole = _clean(text, mask)
    if len(whole) <= MAX_SUBJECT:
        return whole, {}
    return _cut(whole, MAX_SUBJECT), {"subject_sha256": hash_bytes(whole.encode())}


def bound_text(text: str, mask: Callable[[str], str], limit: int = MAX_FIELD) -> str:
    """A text that a line may hold: without secrets, and not too long."""
    return _cut(_clean(text, mask), limit)


def _clean(text: str, mask: Callable[[str], str]) -> str:
    text = mask(text)  # before it is cut: half of a secret is none to find
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()  # a file name may be no text


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… [cut: {len(text) - limit} characters]"


def bound_detail(detail: Mapping[str, Any] | None, mask: Callable[[str], str]) -> dict[str, Any]:
    """Further facts that a line may hold."""
    if not detail:
        return {}
    masked = {bound_text(str(key), mask): _bound(value, mask) for key, value in detail.items()}
    size = len(msgspec.json.encode(masked))
    return masked if size <= MAX_DETAIL else {"cut": size}


def _bound(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return bound_text(value, mask, MAX_SUBJECT)
    if isinstance(value, Mapping):
        return {bound_text(str(key), mask): _bound(inner, mask) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_bound(inner, mask) for inner in value]
    plain = value is None or isinstance(value, bool | float) or (isinstance(value, int) and -MAX_INT < value < MAX_INT)
    return value if plain else bound_text(str(value), mask)
