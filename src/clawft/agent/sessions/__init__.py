"""Conversations on disk: append-only, one writer at a time, whole after any crash."""

from clawft.sessions.draft import Draft
from clawft.sessions.keys import decode_key, encode_key, is_fork_key, new_fork_key
from clawft.sessions.opened import OpenSession
from clawft.sessions.record import CompactionRecord, MessageRecord, SkillRecord, Status, TextLimits, Totals, TurnRecord
from clawft.sessions.session import Session
from clawft.sessions.store import SessionStore
from clawft.sessions.summary import SessionSummary
from clawft.sessions.transcript import Transcript

__all__ = [
    "CompactionRecord",
    "Draft",
    "MessageRecord",
    "OpenSession",
    "Session",
    "SessionStore",
    "SessionSummary",
    "SkillRecord",
    "Status",
    "TextLimits",
    "Totals",
    "Transcript",
    "TurnRecord",
    "decode_key",
    "encode_key",
    "is_fork_key",
    "new_fork_key",
]
