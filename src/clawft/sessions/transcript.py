"""A session read as a whole: every record that can be read, and a word on those that cannot."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct

from clawft.errors import Diagnostic
from clawft.messages import Message, Usage
from clawft.sessions.record import (
    VERSION,
    Header,
    MessageRecord,
    Record,
    SkillRecord,
    TurnRecord,
    Unknown,
    decode_line,
    decode_whole,
)

__all__ = ["Transcript", "decode_lines", "parse_transcript"]

MAX_SAID = 20  # damaged lines that are named one by one

R = TypeVar("R", bound=Record)


class Transcript(Struct, frozen=True):
    """All of a session, in the order it was written."""

    key: str
    path: str
    header: Header
    records: tuple[Record, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """Every message that was ever said, compacted or not."""
        return tuple(one.message for one in self._of(MessageRecord))

    @property
    def turns(self) -> tuple[TurnRecord, ...]:
        """The turns that are over."""
        return self._of(TurnRecord)

    @property
    def skills(self) -> tuple[SkillRecord, ...]:
        """Every activation of a skill."""
        return self._of(SkillRecord)

    @property
    def usage(self) -> Usage:
        total = Usage()
        for turn in self.turns:
            total = total.merge(turn.usage)
        return total

    def _of(self, kind: type[R]) -> tuple[R, ...]:
        return tuple(one for one in self.records if isinstance(one, kind))


def parse_transcript(data: bytes, key: str, path: str) -> Transcript:
    """The transcript in the bytes of a session file; a line that is still being written is left out."""
    whole = data.rfind(b"\n") + 1
    torn = data[whole:]
    said: tuple[Diagnostic, ...] = ()
    if torn and decode_line(torn) is None:
        message = f"The last line was not written to its end ({len(torn)} bytes)"
        said = (Diagnostic("session-torn-line", "note", message, path),)
        data = data[:whole]
    records, damaged = decode_lines(data, path)
    header = records[0] if records and isinstance(records[0], Header) else Header(key=key)
    if header.version > VERSION:
        message = f"The session was written by a later version ({header.version}); some of it may be missing here"
        said = (Diagnostic("session-version", "warning", message, path, 1), *said)
    rest = tuple(one for one in records if not isinstance(one, Header))
    return Transcript(key, path, header, rest, (*damaged, *said))


def decode_lines(data: bytes, path: str, *, first: int = 1) -> tuple[list[Record], tuple[Diagnostic, ...]]:
    """The records of whole lines. `first` is the number of the first line, 0 where that is not known."""
    good = decode_whole(data)
    if good is not None:
        return good, ()
    records: list[Record] = []
    damaged: list[int] = []
    unknown: Counter[str] = Counter()
    for number, line in enumerate(data.split(b"\n")):
        record = decode_line(line) if line.strip() else None
        if isinstance(record, Unknown):
            unknown[record.type] += 1
        elif record is not None:
            records.append(record)
        elif line.strip():
            damaged.append(number + first if first else 0)
    return records, (*_say_damaged(damaged, path), *_say_unknown(unknown, path))


def _say_damaged(numbers: Sequence[int], path: str) -> Iterable[Diagnostic]:
    for number in numbers[:MAX_SAID]:
        yield Diagnostic("session-damaged-line", "warning", "A line cannot be read and is left out", path, number)
    if len(numbers) > MAX_SAID:
        message = f"{len(numbers) - MAX_SAID} more lines cannot be read and are left out"
        yield Diagnostic("session-damaged-line", "warning", message, path)


def _say_unknown(kinds: Counter[str], path: str) -> Iterable[Diagnostic]:
    for kind, count in sorted(kinds.items())[:MAX_SAID]:
        message = f"{count} record{'s' * (count != 1)} of the unknown type '{kind[:40]}' left as they are"
        yield Diagnostic("session-unknown-record", "note", message, path, hint="A later version may know them")
