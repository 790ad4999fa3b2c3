"""The Markdown of MEMORY.md and HISTORY.md: parse and render entries, keeping every byte that is not changed."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

_SECTION = re.compile(r"^##[ \t]+(.*)$", re.MULTILINE)
_ESCAPED = re.compile(r"^\\+(?:##?[ \t]|<!-- clawft: )", re.MULTILINE)
_HEADING = re.compile(r"^\\*(?:##?[ \t]|<!-- clawft: )", re.MULTILINE)
_TITLE = re.compile(r"\\*#[ \t]")  # counts outside code only
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_METADATA = re.compile(r"\s*<!-- clawft: (\{[^\n]*\}) -->[ \t\r]*(?:\n|$)")
_BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]")
_BARE = re.compile(r"#{1,6}(?:[ \t][^\n]*)?|<!--.*-->", re.DOTALL)
_BOUNDARY = "## \n"  # a heading without a key ends an entry, and whatever code fence was left open in it


class MemoryEntry(Struct, frozen=True):
    """A fact: its key, its text, and what else was kept with it."""

    key: str
    value: str
    metadata: dict[str, Any] | None = None


class MemoryNote(Struct, frozen=True):
    """A paragraph or bullet that belongs to no entry, and the line it begins at."""

    line: int
    text: str


class _Part(Struct, frozen=True):
    """A stretch of the text: an entry with its heading, or (key None) the person's own."""

    key: str | None
    text: str


def parse_entries(text: str) -> tuple[MemoryEntry, ...]:
    """Every entry, in the order in which their keys first stand."""
    merged: dict[str, MemoryEntry] = {}
    for part in _split(text):
        if part.key is not None:
            entry = _parse_part(part.key, part.text)
            merged[part.key] = _join(merged[part.key], entry) if part.key in merged else entry
    return tuple(merged.values())


def find_entry(text: str, key: str) -> MemoryEntry | None:
    """The entry of a key."""
    parts = [part.text for part in _split(text) if part.key == key]
    return parse_entries("".join(parts))[0] if parts else None


def parse_notes(text: str) -> Iterator[MemoryNote]:
    """Parse the text outside entries, cut at blank lines and bullets; bare headings and comments are left out."""
    line = 1
    for part in _split(text):
        if part.key is None:
            yield from _parse_notes(part.text, line)
        line += part.text.count("\n")


def render_entry(entry: MemoryEntry) -> str:
    """An entry as it stands in the text."""
    return f"## {entry.key}\n\n{_render_metadata(entry.metadata)}{_escape(entry.value)}\n"


def store_entry(text: str, entry: MemoryEntry) -> str:
    """The text with an entry in the place of those of its key, or at the end."""
    parts = _split(text)
    places = [at for at, part in enumerate(parts) if part.key == entry.key]
    if not places:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{render_entry(entry)}"
    last = all(at in places for at in range(places[0], len(parts)))
    parts[places[0]] = _Part(entry.key, render_entry(entry) + ("" if last else "\n"))
    return _rejoin(parts, set(places[1:]))


def delete_entry(text: str, key: str) -> str:
    """The text without the entries of a key."""
    parts = _split(text)
    return _rejoin(parts, {at for at, part in enumerate(parts) if part.key == key})


def _rejoin(parts: list[_Part], dropped: set[int]) -> str:
    """The parts without some. What comes next to an open code fence by that is kept apart from it."""
    remaining: list[_Part] = []
    for at, part in enumerate(parts):
        if at in dropped:
            continue
        pair = [*remaining[-1:], part]
        if (
            part.key is None
            and remaining
            and remaining[-1].key is not None
            and _split(remaining[-1].text + part.text) != pair
        ):
            remaining.append(_Part(None, _BOUNDARY))
        remaining.append(part)
    return "".join(part.text for part in remaining)


def _split(text: str) -> list[_Part]:
    """The parts of a text; joined they are the text again."""
    heads = list(_SECTION.finditer(text, 1 if text.startswith("\ufeff") else 0))
    starts = [head.start() for head in heads] + [len(text)]
    parts = [_Part(None, text[: starts[0]])] if starts[0] else []
    for head, start, end in zip(heads, starts, starts[1:], strict=False):
        key, section = head[1].strip(), text[start:end]
        cut = _find_title(section) if key else 0
        parts += [_Part(key, section[:cut])] if cut else []
        parts += [_Part(None, section[cut:])] if section[cut:] else []
    return parts


def _find_title(section: str) -> int:
    """Find where the first `# heading` outside code begins in a section; its end if there is none."""
    if "\n# " not in section and "\n#\t" not in section:
        return len(section)
    at = 0
    for line, in_code in _lines(section):
        if not in_code and line.startswith(("# ", "#\t")):
            return at
        at += len(line) + 1
    return len(section)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is inside a code fence that is closed."""
    lines = text.split("\n")
    closed_at, opened = -1, set[str]()
    for at, line in enumerate(lines):
        fence = _FENCE.match(line)
        if at > closed_at and fence and not (fence[1][0] == "`" and "`" in fence[2]) and fence[1] not in opened:
            closed_at = _find_end(lines, at, fence[1])
            if closed_at < at:  # never closed: no need to look again for one like it
                opened.add(fence[1])
        yield line, at <= closed_at


def _find_end(lines: list[str], start: int, fence: str) -> int:
    """The line that closes a code fence, or -1."""
    for at in range(start + 1, len(lines)):
        found = _FENCE.match(lines[at])
        if found and found[1].startswith(fence) and not found[2].strip():
            return at
    return -1


def _parse_part(key: str, text: str) -> MemoryEntry:
    below = text.partition("\n")[2]
    metadata = None
    if found := _METADATA.match(below):
        metadata = _parse_metadata(found[1])
        below = below if metadata is None else below[found.end() :]
    return MemoryEntry(key, _unescape(below.replace("\r\n", "\n").strip()), metadata)


def _join(one: MemoryEntry, other: MemoryEntry) -> MemoryEntry:
    value = "\n\n".join(filter(None, (one.value, other.value)))
    return MemoryEntry(one.key, value, {**(one.metadata or {}), **(other.metadata or {})} or None)


def _parse_metadata(text: str) -> dict[str, Any] | None:
    try:
        metadata: dict[str, Any] = msgspec.json.decode(text.encode("utf-8", "surrogateescape"), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None  # the person's own comment after all
    return metadata or None


def _render_metadata(metadata: Mapping[str, Any] | None) -> str:
    if not metadata:
        return ""
    encoded = msgspec.json.encode(metadata).decode().replace(">", "\\u003e")  # no `-->` inside
    return f"<!-- clawft: {encoded} -->\n"


def _escape(value: str) -> str:
    if not _HEADING.search(value):
        return value
    return "\n".join("\\" + line if _needs_escape(line, in_code) else line for line, in_code in _lines(value))


def _unescape(value: str) -> str:
    if not _ESCAPED.search(value):
        return value
    return "\n".join(
        line[1:] if line.startswith("\\") and _needs_escape(line, in_code) else line for line, in_code in _lines(value)
    )


def _needs_escape(line: str, in_code: bool) -> bool:
    """Return whether a line would be read as a heading or as metadata, or is such a line with backslashes before it."""
    return bool(_HEADING.match(line)) and not (in_code and _TITLE.match(line))


def _parse_notes(text: str, first: int) -> Iterator[MemoryNote]:
    """Paragraphs and bullets with their lines."""
    note: list[str] = []
    begin = first
    for number, line in enumerate((text.removeprefix("\ufeff") + "\n").split("\n"), first):
        alone = not line.strip() or _BULLET.match(line) or _BARE.fullmatch(line.strip())
        if note and (alone or _BARE.fullmatch(note[-1].strip())):
            joined = "\n".join(note).strip()
            if not _BARE.fullmatch(joined):
                yield MemoryNote(begin, joined)
            note = []
        if line.strip():
            begin = begin if note else number
            note.append(line.rstrip("\r"))


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
