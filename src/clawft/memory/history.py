"""HISTORY.md: what happened, entry after entry, each a bullet with its date and session. Pure.

`- 2026-03-01T09:30:00Z [session] text`, further lines of the text indented by two spaces, so that none can be taken
for another entry. The session is percent-encoded. Lines that a person adds belong to the entry above them.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from msgspec import Struct

__all__ = ["HistoryEntry", "parse_history", "render_history"]

_HEAD = re.compile(r"^- (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) \[([^\]\s]*)\] ?", re.MULTILINE)


class HistoryEntry(Struct, frozen=True):
    """One entry. `line` is where it begins; text above the first entry has neither date nor session."""

    date: str
    session: str
    text: str
    line: int = 1


def render_history(text: str, session: str, at: datetime) -> str:
    """An entry as it stands in the file."""
    date = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    first, *rest = text.strip().split("\n")
    lines = [f"  {line}" if line else "" for line in rest]
    return "\n".join((f"- {date} [{quote(session, safe=':@/+', errors='replace')}] {first}", *lines, ""))


def parse_history(text: str) -> Iterator[HistoryEntry]:
    """Every entry, oldest first."""
    heads = list(_HEAD.finditer(text))
    starts = [head.start() for head in heads] + [len(text)]
    if above := text[: starts[0]].strip():
        yield HistoryEntry("", "", above)
    line = 1 + text.count("\n", 0, starts[0])
    for head, end in zip(heads, starts[1:], strict=True):
        written = text[head.end() : end].replace("\r\n", "\n").rstrip()
        yield HistoryEntry(head[1], unquote(head[2]), written.replace("\n  ", "\n"), line)
        line += text.count("\n", head.start(), end)
