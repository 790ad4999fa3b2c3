"""Conversations on disk: append-only, one writer at a time, whole after any crash."""

from clawft.agent.sessions.keys import decode_key, encode_key, is_fork_key, new_fork_key
from clawft.agent.sessions.record import (
    CompactionRecord,
    MessageRecord,
    RewindRecord,
    SkillRecord,
    TextLimits,
    TurnRecord,
    TurnStatus,
)
from clawft.agent.sessions.session import OpenSession, Session, SessionDraft
from clawft.agent.sessions.store import SessionStore
from clawft.agent.sessions.summary import SessionSummary
from clawft.agent.sessions.transcript import Transcript

__all__ = [
    "CompactionRecord",
    "MessageRecord",
    "OpenSession",
    "RewindRecord",
    "Session",
    "SessionDraft",
    "SessionStore",
    "SessionSummary",
    "SkillRecord",
    "TextLimits",
    "Transcript",
    "TurnRecord",
    "TurnStatus",
    "decode_key",
    "encode_key",
    "is_fork_key",
    "new_fork_key",
]
