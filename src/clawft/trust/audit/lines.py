"""Lines of the audit log, chained by hash, and the sealed head that names the last one."""

import errno
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawft.files import check_version, why_damaged
from clawft.trust.records import Seal

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


class AuditLogLine(_Open, frozen=True, forbid_unknown_fields=True):
    """One decision or deed."""

    hash: str

    @property
    def time(self) -> datetime | None:
        """The time at which the line was written; None where something else than a time was written there."""
        try:
            return datetime.fromisoformat(self.at).astimezone(UTC)
        except (ValueError, OverflowError):
            return None


def encode_line(fields: Mapping[str, Any]) -> tuple[bytes, str]:
    """A line with its end, and its hash."""
    body = msgspec.json.encode(_Open(**fields))[:-1]
    digest = hash_bytes(body)
    return body + _MARK + digest.encode() + b'"}\n', digest


def parse_line(raw: bytes) -> tuple[AuditLogLine, bool] | None:
    """A line without its end, and whether its hash fits its bytes; None if it is no line at all."""
    try:
        line = msgspec.json.decode(raw, type=AuditLogLine)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    fits = raw[-_END:-66] == _MARK and hash_bytes(raw[:-_END]) == line.hash
    return line, fits


def hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def bound_texts(
    subject: str, texts: Sequence[str], detail: Mapping[str, Any], mask: Callable[[Any], Any]
) -> tuple[str, list[str], dict[str, Any]]:
    """The subject, short texts and further facts that a line may hold: without secrets, and not too long. Where the
    subject is cut, the facts have the digest of the whole of it.

    All is masked before anything is cut: half of a secret is none to find.
    """
    whole, short, facts = mask((subject, list(texts), _make_plain(detail)))
    whole = _clean(whole)
    bounded = _bound(facts)
    size = len(msgspec.json.encode(bounded))
    if size > MAX_DETAIL:
        bounded = {"cut": size}
    if len(whole) > MAX_SUBJECT:
        bounded["subject_sha256"] = hash_bytes(whole.encode())
    return _cut(whole, MAX_SUBJECT), [_bound(text, MAX_FIELD) for text in short], bounded


def _make_plain(value: Any) -> Any:
    """A value of JSON, in which every other thing is a text."""
    if isinstance(value, Mapping):
        return {str(name): _make_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_make_plain(inner) for inner in value]
    plain = value is None or isinstance(value, bool | float) or (isinstance(value, int) and -MAX_INT < value < MAX_INT)
    return value if plain else str(value)


def _bound(value: Any, limit: int = MAX_SUBJECT) -> Any:
    if isinstance(value, str):
        return _cut(_clean(value), limit)
    if isinstance(value, dict):
        return {_bound(name, MAX_FIELD): _bound(inner) for name, inner in value.items()}
    return [_bound(inner) for inner in value] if isinstance(value, list) else value


def _clean(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()  # a file name may be no text


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… [cut: {len(text) - limit} characters]"


HEAD_BYTES = 512  # one page at most, so that nobody reads half of it
LABEL = "audit-head"
VERSION = 1  # of the lines and of the head, under whose seal it is


class AuditHead(Struct, frozen=True, array_like=True):
    """The end of the log: the number and hash of its last line, and how many bytes its file has."""

    seq: int = 0
    hash: str = NO_HASH
    size: int = 0
    files: int = 0  # how many full ones lie beside it
    next: str = ""
    version: int = VERSION


_VERSION_AT = AuditHead.__struct_fields__.index("version")


def write_head(descriptor: int, head: AuditHead, seal: Seal) -> None:
    """Raises: OSError; ClawftError for a key that cannot be used."""
    content = msgspec.json.encode(head)
    signed = content + b" " + seal.sign(content, LABEL).encode()
    if os.pwrite(descriptor, signed.ljust(HEAD_BYTES - 1) + b"\n", 0) != HEAD_BYTES:  # a new file on a full disk
        os.ftruncate(descriptor, 0)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_head(descriptor: int, seal: Seal, log: str) -> AuditHead | None:
    """Read the sealed head; None where the seal does not fit. A new file is an empty log. `log` is the file it is of.

    Raises: OSError; ClawftError for a key that cannot be used, and for a log of a newer version.
    """
    data = os.pread(descriptor, HEAD_BYTES, 0)
    if not data:
        return AuditHead()
    content, _, mac = data.rstrip().rpartition(b" ")
    if not seal.holds(content, LABEL, mac.decode("ascii", "replace")):
        return None
    fields = msgspec.json.decode(content, type=list[Any])
    check_version(fields[_VERSION_AT] if len(fields) > _VERSION_AT else 1, VERSION, log)
    return msgspec.convert(fields, AuditHead)


def why_unsealed(descriptor: int, seal: Seal) -> str:
    """Say why a head tells no end of the log: something is missing or damaged, or its seal does not hold.

    Raises: OSError; ClawftError for a key that cannot be used.
    """
    data = os.pread(descriptor, HEAD_BYTES, 0)
    if seal.is_missing:
        return "trust.key, the key that seals its end, is missing"
    try:
        msgspec.json.decode(data.rstrip().rpartition(b" ")[0], type=AuditHead)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return f"audit.head is damaged ({why_damaged(data, error)})"
    return "The seal of its end does not hold: audit.head or trust.key was changed or replaced"


def judge_extra(extra: bytes, sealed: AuditHead) -> Literal["own", "torn", "foreign"]:
    """Judge what follows the sealed end: the line that was being written, the start of one, or something else."""
    line = extra.removesuffix(b"\n")
    if not extra or b"\n" in line:
        return "foreign"
    parsed = parse_line(line)
    if parsed is None:
        return "torn"
    return "own" if parsed[1] and parsed[0].hash == sealed.next else "foreign"
