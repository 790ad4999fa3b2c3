"""Find a text in what was said: a plain scan, newest session first, of bounded length."""

import os
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.sessions.log import open_regular, read_range
from clawft.sessions.record import MessageRecord, decode_line

__all__ = ["MAX_PER_SESSION", "Hit", "search_files"]

MAX_SCAN_BYTES = 1 << 29
MAX_PER_SESSION = 3
_AROUND = 60  # characters of a snippet on each side
_PLAIN = re.compile(r"[A-Za-z0-9 .,:;/_-]+")  # stands in JSON as it is


class Hit(Struct, frozen=True):
    """A message that holds the text."""

    key: str
    turn: int
    role: str
    snippet: str


def search_files(
    files: Iterable[tuple[str, str]], query: str, limit: int
) -> tuple[tuple[Hit, ...], tuple[Diagnostic, ...]]:
    """At most `limit` hits in sessions given as key and path, and what was not searched."""
    hits: list[Hit] = []
    said: list[Diagnostic] = []
    left = MAX_SCAN_BYTES
    for key, path in files:
        if len(hits) >= limit:
            break
        try:
            data = _load(path)
        except FileNotFoundError:
            continue  # removed since it was listed
        except ClawftError as error:
            said.append(error.diagnostic)
            continue
        left -= len(data)
        if left < 0:
            message = f"Only the newest {MAX_SCAN_BYTES >> 20} MB were searched"
            said.append(Diagnostic("session-search-cut", "note", message, path))
            break
        found = _scan(key, data, query)
        hits.extend(hit for hit, _ in zip(found, range(min(MAX_PER_SESSION, limit - len(hits))), strict=False))
    return tuple(hits), tuple(said)


def _load(path: str) -> bytes:
    descriptor = open_regular(path)
    try:
        return read_range(descriptor, 0, os.fstat(descriptor).st_size, path)
    finally:
        os.close(descriptor)


def _scan(key: str, data: bytes, query: str) -> Iterator[Hit]:
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
                yield Hit(key, record.turn, record.message.role, snippet)


def _cut(text: str, at: int, length: int) -> str:
    start, end = max(0, at - _AROUND), at + length + _AROUND
    inner = " ".join(text[start:end].split())
    return ("…" if start else "") + inner + ("…" if end < len(text) else "")
