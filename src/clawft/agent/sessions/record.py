"""The lines of a session file: one JSON object each, told apart by `type`.

Lines of older programs (a message without `type`) are read too; what a later version adds is kept and skipped.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from clawft.messages import Message, Usage

VERSION = 1
_MAX_DEPTH = 100

TurnStatus = Literal["finished", "failed", "cancelled"]


class SessionRecord(Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """One line."""


class SessionHeader(SessionRecord, frozen=True, kw_only=True, tag="session"):
    """The first line."""

    version: int = 0
    key: str
    created: str = ""
    cwd: str = ""
    forked_from: str = ""


class TurnLine(SessionRecord, frozen=True, kw_only=True):
    """A line that is part of a turn."""

    turn: int
    at: str = ""


class MessageRecord(TurnLine, frozen=True, kw_only=True, tag="message"):
    message: Message


class TextLimits(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The limits of a text that is not the user's own: what it lets the model do without asking, as granted when the
    model read it.

    They apply as long as the text is in the conversation. `folder` and `digest` name the approval that must still exist
    for `hosts` and `tools` to apply; a hook has none.
    """

    who: str  # the skill 'x'
    hosts: tuple[str, ...]
    tools: tuple[str, ...] | None = ()  # its patterns of tools, which name those of MCP servers; None limits none
    folder: str = ""
    digest: str = ""


class SkillRecord(TurnLine, frozen=True, kw_only=True, tag="skill"):
    """A text reached the model: that of a skill, or words of a `hook`, of a `fork`, or in the system `prompt`.

    `limits` is what binds the conversation since then: nothing for the user's own skill. None means that an earlier
    version wrote the line, so that nobody knows.
    """

    name: str
    scope: str = ""
    digest: str = ""
    content: str = ""
    arguments: str = ""  # the digest of what the skill was given
    limits: tuple[TextLimits, ...] | None = None

    @property
    def is_skill(self) -> bool:
        """Return whether a skill was loaded; all else only binds."""
        return self.scope not in ("hook", "fork", "prompt")


class SessionTotals(Struct, frozen=True, omit_defaults=True):
    """All of a session up to a line: so nobody has to read it from its start."""

    turns: int = 0
    messages: int = 0
    usage: Usage = field(default_factory=Usage)


class CompactionRecord(TurnLine, frozen=True, kw_only=True, tag="compaction"):
    """A summary took the place of `replaces` messages; the last `keeps` before this line stay as they are.

    It says again which skills were activated, so that nothing above those messages is needed to go on.
    """

    summary: str
    replaces: int
    keeps: int
    skills: tuple[SkillRecord, ...] = ()
    totals: SessionTotals = field(default_factory=SessionTotals)


class TurnRecord(TurnLine, frozen=True, kw_only=True, tag="turn"):
    """A turn is over. `totals` count it too; `run` is the background run that all of it came from, if one did."""

    status: TurnStatus
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    totals: SessionTotals = field(default_factory=SessionTotals)
    run: str = ""


class RewindRecord(TurnLine, frozen=True, kw_only=True, tag="rewind"):
    """The conversation goes on from the end of turn `to`, 0 for its beginning: the lines since then are no part of it.

    The last turn so far was `head`. Taking a rewind back is another one, with `redo`, to the end of a later turn. The
    model reads the `note`.
    """

    to: int
    head: int
    redo: bool = False
    note: str = ""
    totals: SessionTotals = field(default_factory=SessionTotals)


class UnknownRecord(Struct, frozen=True):
    """A line of a kind that only a later version knows."""

    type: str


class _LegacyMessage(Struct, frozen=True):
    """A message as older programs wrote it."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    timestamp: str = ""
    tool_call_id: str = ""
    name: str = ""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(
    SessionHeader | MessageRecord | SkillRecord | CompactionRecord | TurnRecord | RewindRecord
)
_LEGACY = msgspec.json.Decoder(_LegacyMessage)
_KNOWN = frozenset({"session", "message", "skill", "compaction", "turn", "rewind"})
_BAD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def encode_lines(records: Iterable[SessionRecord]) -> bytes:
    """Records as whole lines, whatever the texts in them hold."""
    return b"".join(_encode(record) + b"\n" for record in records)


def decode_line(line: bytes) -> SessionRecord | UnknownRecord | None:
    """Decode a line; None if it holds nothing readable."""
    try:
        record: SessionRecord = _DECODER.decode(line)
    except _BAD:
        return _decode_other(line)
    return record


def decode_whole(data: bytes) -> list[SessionRecord] | None:
    """The records of many lines at once; None when one of them needs a closer look."""
    try:
        records: list[SessionRecord] = _DECODER.decode_lines(data)
    except _BAD:
        return None
    return records


def format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _decode_other(line: bytes) -> SessionRecord | UnknownRecord | None:
    try:
        values = msgspec.json.decode(line)
        if not isinstance(values, dict):
            return None
        if "_type" in values:
            return _legacy_header(values)
        kind = values.get("type")
        if isinstance(kind, str):
            return None if kind in _KNOWN else UnknownRecord(kind)
        old = _LEGACY.decode(line)
    except _BAD:
        return None
    # Turn 0: before the first turn that was counted.
    message = Message(old.role, old.content, tool_call_id=old.tool_call_id, name=old.name)
    return MessageRecord(turn=0, at=old.timestamp, message=message)


def _legacy_header(values: dict[str, Any]) -> SessionHeader | UnknownRecord:
    if values["_type"] != "metadata":
        return UnknownRecord(str(values["_type"])[:40])
    key, created = values.get("key"), values.get("created_at")
    return SessionHeader(key=key if isinstance(key, str) else "", created=created if isinstance(created, str) else "")


def _encode(record: SessionRecord) -> bytes:
    try:
        return _ENCODER.encode(record)
    except (UnicodeEncodeError, TypeError, RecursionError):
        # A lone surrogate, or a value in a tool's arguments that JSON lacks: what can be said of it is kept.
        return _ENCODER.encode(_plain({"type": record.__struct_config__.tag, **msgspec.structs.asdict(record)}))


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        # Two halves of a character become one; a half alone becomes U+FFFD.
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, Struct):
        return _plain(msgspec.structs.asdict(value), depth)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth == _MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {_plain(str(key)): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, depth + 1) for inner in value]
    return _plain(str(value))
