"""Records as other programs read them: the objects of `clawft.sessions.list.v1`, `clawft.sessions.show.v1`,
`clawft.audit.v1` and `clawft.audit.verify.v1`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from clawft.agent.sessions import (
    CompactionRecord,
    MessageRecord,
    RewindRecord,
    SessionSummary,
    SkillRecord,
    Transcript,
    TurnRecord,
)
from clawft.agent.sessions.record import SessionRecord
from clawft.agent.sessions.summary import SessionHit
from clawft.messages import Message
from clawft.server.protocol.base import copy_fields
from clawft.server.protocol.records import AuditBreak, AuditLine, AuditVerdict, SessionEntry, SessionMatch
from clawft.trust.audit.lines import AuditLogLine
from clawft.trust.audit.reader import AuditLogVerdict

MAX_TEXT = 64_000  # characters of one text in a page
MAX_PAGE = 4_000_000  # characters of all texts in a page; it ends before the one that would be too much


def view_session(session: SessionSummary, hits: Sequence[SessionHit] = ()) -> SessionEntry:
    """One session of a list, with the places where something was found in it."""
    found = [hit for hit in hits if hit.key == session.key]
    return copy_fields(SessionEntry, session, matches=tuple(copy_fields(SessionMatch, hit) for hit in found))


def transcript_json(transcript: Transcript) -> dict[str, Any]:
    """A whole session."""
    header, records = transcript.header, transcript.records
    return {
        "key": transcript.key,
        "path": transcript.path,
        "created": header.created or None,
        "cwd": header.cwd or None,
        "forked_from": header.forked_from or None,
        "turns": [_turn_json(turn) for turn in transcript.turns],
        "messages": [_message_json(record) for record in records if isinstance(record, MessageRecord)],
        "skills": [_skill_json(skill) for skill in transcript.skills],
        "usage": msgspec.to_builtins(structs.asdict(transcript.usage)),
    }


def page_of(transcript: Transcript, start: int, limit: int) -> tuple[dict[str, Any], ...]:
    """Some of its records, each with its type; at least one where there is one, and not more than a page holds."""
    page: list[dict[str, Any]] = []
    left = MAX_PAGE
    for record in transcript.records[start : start + limit]:
        values = _bound(_record_json(record))
        left -= sum(len(text) for text in values.values() if isinstance(text, str)) + len(str(values.get("tool_calls")))
        if page and left < 0:
            break
        page.append(values)
    return tuple(page)


def _record_json(record: SessionRecord) -> dict[str, Any]:
    match record:
        case MessageRecord():
            return {"type": "message", **_message_json(record)}
        case SkillRecord():
            return {"type": "skill", **_skill_json(record)}
        case TurnRecord():
            return {"type": "turn", **_turn_json(record)}
        case CompactionRecord():
            return {"type": "compaction", **_fields(record, "turn", "at", "summary", "replaces", "keeps")}
        case RewindRecord():
            return {"type": "rewind", **_fields(record, "turn", "at", "to", "head", "redo")}
    return {"type": str(record.__struct_config__.tag)}


def _message_json(record: MessageRecord) -> dict[str, Any]:
    message: Message = record.message
    return {"turn": record.turn, "at": record.at, **msgspec.to_builtins(structs.asdict(message))}


def _turn_json(record: TurnRecord) -> dict[str, Any]:
    return _fields(record, "turn", "at", "status", "usage", "model", "run")


def _skill_json(record: SkillRecord) -> dict[str, Any]:
    return _fields(record, "turn", "at", "name", "scope", "digest")


def _fields(record: SessionRecord, *names: str) -> dict[str, Any]:
    values = {name: getattr(record, name) for name in names}
    if "usage" in values:
        values["usage"] = structs.asdict(values["usage"])
    return values


def _bound(values: dict[str, Any]) -> dict[str, Any]:
    """Return values with long texts cut, and without the bytes of pictures."""
    for name in ("content", "summary"):
        text = values.get(name)
        if isinstance(text, str) and len(text) > MAX_TEXT:
            values |= {name: text[:MAX_TEXT], "cut": len(text) - MAX_TEXT}
    if values.get("images"):
        values["images"] = [{"media_type": value["media_type"]} for value in values["images"]]
    if "tool_calls" in values:
        values["tool_calls"] = [_bound_call(value) for value in values["tool_calls"]]
    return values


def _bound_call(call: dict[str, Any]) -> dict[str, Any]:
    """A call whose arguments are text of a bearable length; as much of longer ones as a person would read."""
    text = msgspec.json.encode(call.get("arguments", {})).decode()
    if len(text) <= MAX_TEXT and len(call.get("malformed", "")) <= MAX_TEXT:
        return call
    malformed = call.get("malformed", "") or text
    return {**call, "arguments": {}, "malformed": malformed[:MAX_TEXT], "cut": len(malformed) - MAX_TEXT}


def view_audit_line(line: AuditLogLine) -> AuditLine:
    return copy_fields(AuditLine, line)


def view_audit_verdict(verdict: AuditLogVerdict) -> AuditVerdict:
    broken = verdict.broken
    shown = copy_fields(AuditBreak, broken, line=broken.line or None) if broken else None
    since = verdict.since or None
    return copy_fields(AuditVerdict, verdict, intact=broken is None, lines=verdict.held, since=since, broken=shown)
