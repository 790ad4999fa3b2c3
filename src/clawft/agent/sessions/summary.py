"""Summaries of session files for a list, and a text search over them."""

import os
import re
import time
from collections.abc import Iterable, Iterator

from msgspec import Struct

from clawft.agent.sessions.log import open_regular, read_range, read_tails
from clawft.agent.sessions.record import (
    CompactionRecord,
    MessageRecord,
    SessionHeader,
    SessionTotals,
    TurnRecord,
    decode_line,
    format_time,
)
from clawft.errors import ClawftError, Diagnostic, Unreadable

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


def _load_head(descriptor: int, size: int, path: str) -> tuple[SessionHeader, str]:
    header, title, is_known = SessionHeader(key=""), "", False
    for length in _HEADS:
        lines = read_range(descriptor, 0, min(length, size), path).split(b"\n")[:-1]
        for record in map(decode_line, lines):
            is_known = is_known or record is not None
            if isinstance(record, SessionHeader):
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


def _load_totals(descriptor: int, size: int, path: str) -> SessionTotals:
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
            return _count(SessionTotals(), data)
    return SessionTotals()


def _count(totals: SessionTotals, rest: bytes) -> SessionTotals:
    lines = rest.split(b"\n")[:-1]
    more = sum(line.startswith(_MESSAGE) or isinstance(decode_line(line), MessageRecord) for line in lines)
    return SessionTotals(totals.turns, totals.messages + more, totals.usage)


MAX_SCAN_BYTES = 1 << 29
MAX_PER_SESSION = 3
_AROUND = 60  # characters of a snippet on each side
_PLAIN = re.compile(r"[A-Za-z0-9 .,:;/_-]+")  # stands in JSON as it is


class SessionHit(Struct, frozen=True):
    """A message that holds the text."""

    key: str
    turn: int
    role: str
    snippet: str


def search_files(
    files: Iterable[tuple[str, str]], query: str, limit: int
) -> tuple[tuple[SessionHit, ...], tuple[Diagnostic, ...]]:
    """At most `limit` hits in sessions given as key and path, and what was not searched."""
    hits: list[SessionHit] = []
    diagnostics: list[Diagnostic] = []
    left = MAX_SCAN_BYTES
    for key, path in files:
        if len(hits) >= limit:
            break
        try:
            data = _load(path)
        except FileNotFoundError:
            continue  # removed since it was listed
        except ClawftError as error:
            diagnostics.append(error.diagnostic)
            continue
        left -= len(data)
        if left < 0:
            message = f"Only the newest {MAX_SCAN_BYTES >> 20} MB were searched"
            diagnostics.append(Diagnostic("session-search-cut", "note", message, path))
            break
        found = _scan(key, data, query)
        hits.extend(hit for hit, _ in zip(found, range(min(MAX_PER_SESSION, limit - len(hits))), strict=False))
    return tuple(hits), tuple(diagnostics)


def _load(path: str) -> bytes:
    descriptor = open_regular(path)
    try:
        return read_range(descriptor, 0, os.fstat(descriptor).st_size, path)
    finally:
        os.close(descriptor)


def _scan(key: str, data: bytes, query: str) -> Iterator[SessionHit]:
    wanted = query.casefold()
    needle = wanted.encode() if _PLAIN.fullmatch(query) else b""
    for line in data.split(b"\n"):
        if needle not in line.lower():
            continue
        record = decode_line(line)
        if isinstance(record, MessageRecord) and record.message.content:
            at = record.message.content.casefold().find(wanted)
            if at >= 0:
                snippet = _cut(record.message.content, at, len(query))
                yield SessionHit(key, record.turn, record.message.role, snippet)


def _cut(text: str, at: int, length: int) -> str:
    start, end = max(0, at - _AROUND), at + length + _AROUND
    inner = " ".join(text[start:end].split())
    return ("…" if start else "") + inner + ("…" if end < len(text) else "")
