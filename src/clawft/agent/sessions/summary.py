"""What a list says of a session, read from the two ends of its file."""

import os
import time

from msgspec import Struct

from clawft.errors import Unreadable
from clawft.sessions.log import open_regular, read_range, read_tails
from clawft.sessions.record import (
    CompactionRecord,
    Header,
    MessageRecord,
    Totals,
    TurnRecord,
    decode_line,
    format_time,
)

__all__ = ["SessionSummary", "load_summary"]

MAX_TITLE = 200  # characters
_YOUNG_S = 60.0  # a file without a byte may be one that is just begun
_HEADS = (1 << 14, 1 << 20)  # bytes; the first user message stands near the start
_TOTALS = (b'\n{"type":"turn",', b'\n{"type":"compaction",')
_MESSAGE = b'{"type":"message",'


class SessionSummary(Struct, frozen=True):
    """One session of a list. `title` is the first line a person wrote."""

    key: str
    path: str
    created: str
    updated: str
    turns: int
    messages: int
    title: str
    bytes: int
    cwd: str = ""


def load_summary(key: str, path: str) -> SessionSummary:
    """Summarise one file. Raises: FileNotFoundError, Unreadable."""
    descriptor = open_regular(path)
    try:
        status = os.fstat(descriptor)
        if not status.st_size and time.time() - status.st_mtime > _YOUNG_S:
            raise _damaged(path, "it is empty")
        header, title = _load_head(descriptor, status.st_size, path)
        totals = _load_totals(descriptor, status.st_size, path)
    finally:
        os.close(descriptor)
    updated = format_time(status.st_mtime)
    counts = (totals.turns, totals.messages)
    return SessionSummary(key, path, header.created, updated, *counts, title, status.st_size, header.cwd)


def _load_head(descriptor: int, size: int, path: str) -> tuple[Header, str]:
    header, title, is_known = Header(key=""), "", False
    for length in _HEADS:
        lines = read_range(descriptor, 0, min(length, size), path).split(b"\n")[:-1]
        for record in map(decode_line, lines):
            is_known = is_known or record is not None
            if isinstance(record, Header):
                header = record
            elif isinstance(record, MessageRecord) and record.message.role == "user":
                title = _first_line(record.message.content or "")
            if title:
                return header, title
        if length >= size:
            break
    if size and not is_known:
        raise _damaged(path, "nothing of it can be read")
    return header, title


def _damaged(path: str, why: str) -> Unreadable:
    hint = "Restore it from a backup; or move it away: what was said in it is lost"
    return Unreadable("session-damaged", f"The session is damaged: {why}", path=path, hint=hint)


def _first_line(text: str) -> str:
    return next((line.strip()[:MAX_TITLE] for line in text.splitlines() if line.strip()), "")


def _load_totals(descriptor: int, size: int, path: str) -> Totals:
    """The totals of the last line that has any, and the messages since."""
    for data, whole in read_tails(descriptor, size, path):
        end = len(data)
        while (at := max(data.rfind(mark, 0, end) for mark in _TOTALS)) >= 0:
            stop = data.find(b"\n", at + 1)
            record = decode_line(data[at + 1 : stop]) if stop >= 0 else None
            if isinstance(record, TurnRecord | CompactionRecord):
                return _count(record.totals, data[stop + 1 :])
            end = at
        if whole:
            return _count(Totals(), data)
    return Totals()


def _count(totals: Totals, rest: bytes) -> Totals:
    lines = rest.split(b"\n")[:-1]
    more = sum(line.startswith(_MESSAGE) or isinstance(decode_line(line), MessageRecord) for line in lines)
    return Totals(totals.turns, totals.messages + more, totals.usage)
