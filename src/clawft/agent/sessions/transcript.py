"""The transcript of a session: every record that can be read, or the window since the last compaction."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct, field, structs

from clawft.agent.sessions.log import read_range, read_tails
from clawft.agent.sessions.record import (
    VERSION,
    CompactionRecord,
    MessageRecord,
    RewindRecord,
    SessionHeader,
    SessionRecord,
    SessionTotals,
    SkillRecord,
    TurnLine,
    TurnRecord,
    UnknownRecord,
    decode_line,
    decode_whole,
)
from clawft.errors import Diagnostic
from clawft.messages import Message, Usage

MAX_DAMAGED_SHOWN = 20  # damaged lines that are named one by one

R = TypeVar("R", bound=SessionRecord)


class Transcript(Struct, frozen=True):
    """All of a session, in the order it was written."""

    key: str
    path: str
    header: SessionHeader
    records: tuple[SessionRecord, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """Every message that was ever said, compacted or not."""
        return tuple(record.message for record in self._of(MessageRecord))

    @property
    def turns(self) -> tuple[TurnRecord, ...]:
        """The turns that are over."""
        return self._of(TurnRecord)

    @property
    def skills(self) -> tuple[SkillRecord, ...]:
        """Every activation of a skill."""
        return self._of(SkillRecord)

    @property
    def branch(self) -> tuple[TurnLine, ...]:
        """The records that the conversation goes on from."""
        return select_branch(self.records)

    @property
    def redoable(self) -> tuple[int, ...]:
        """The turns whose ends a redo could go back to, the next one last."""
        stack: list[int] = []
        for record in self.records:
            if not isinstance(record, RewindRecord):
                stack.clear()
            elif record.redo:
                del stack[-1:]
            else:
                stack.append(record.head)
        return tuple(stack)

    @property
    def usage(self) -> Usage:
        total = Usage()
        for turn in self.turns:
            total = total.merge(turn.usage)
        return total

    def _of(self, kind: type[R]) -> tuple[R, ...]:
        return tuple(record for record in self.records if isinstance(record, kind))


def parse_transcript(data: bytes, key: str, path: str) -> Transcript:
    """The transcript in the bytes of a session file; a line that is still being written is left out."""
    whole = data.rfind(b"\n") + 1
    torn = data[whole:]
    diagnostics: tuple[Diagnostic, ...] = ()
    if torn and decode_line(torn) is None:
        message = f"The last line was not written to its end ({len(torn)} bytes)"
        diagnostics = (Diagnostic("session-torn-line", "note", message, path),)
        data = data[:whole]
    records, damaged = decode_lines(data, path)
    header = records[0] if records and isinstance(records[0], SessionHeader) else SessionHeader(key=key)
    if header.version > VERSION:
        message = f"The session was written by a later version ({header.version}); some of it may be missing here"
        diagnostics = (Diagnostic("session-version", "warning", message, path, 1), *diagnostics)
    rest = tuple(record for record in records if not isinstance(record, SessionHeader))
    return Transcript(key, path, header, rest, (*damaged, *diagnostics))


def decode_lines(data: bytes, path: str, *, first: int = 1) -> tuple[list[SessionRecord], tuple[Diagnostic, ...]]:
    """The records of whole lines. `first` is the number of the first line, 0 where that is not known."""
    good = decode_whole(data)
    if good is not None:
        return good, ()
    records: list[SessionRecord] = []
    damaged: list[int] = []
    unknown: Counter[str] = Counter()
    for number, line in enumerate(data.split(b"\n")):
        record = decode_line(line) if line.strip() else None
        if isinstance(record, UnknownRecord):
            unknown[record.type] += 1
        elif record is not None:
            records.append(record)
        elif line.strip():
            damaged.append(number + first if first else 0)
    return records, (*_say_damaged(damaged, path), *_say_unknown(unknown, path))


def _say_damaged(numbers: Sequence[int], path: str) -> Iterable[Diagnostic]:
    for number in numbers[:MAX_DAMAGED_SHOWN]:
        yield Diagnostic("session-damaged-line", "warning", "A line cannot be read and is left out", path, number)
    if len(numbers) > MAX_DAMAGED_SHOWN:
        message = f"{len(numbers) - MAX_DAMAGED_SHOWN} more lines cannot be read and are left out"
        yield Diagnostic("session-damaged-line", "warning", message, path)


def _say_unknown(kinds: Counter[str], path: str) -> Iterable[Diagnostic]:
    for kind, count in sorted(kinds.items())[:MAX_DAMAGED_SHOWN]:
        message = f"{count} record{'s' * (count != 1)} of the unknown type '{kind[:40]}' left as they are"
        yield Diagnostic("session-unknown-record", "note", message, path, hint="A later version may know them")


def select_branch(records: Sequence[SessionRecord]) -> tuple[TurnLine, ...]:
    """Select the records that the conversation goes on from: without those that were rewound."""
    lines = [record for record in records if isinstance(record, TurnLine)]
    before: list[int] = []  # for each line the one that it follows, -1 for none
    ends: dict[int, int] = {0: -1}  # the last line of each turn
    over: set[int] = set()
    last = -1
    for at, line in enumerate(lines):
        if isinstance(line, RewindRecord):
            last = ends.get(line.to, last)
        elif line.turn not in over:
            ends[line.turn] = at
            if isinstance(line, TurnRecord):
                over.add(line.turn)
        before.append(last)
        last = at
    branch: list[TurnLine] = []
    while last >= 0:
        branch.append(lines[last])
        last = before[last]
    return tuple(reversed(branch))


_COMPACTION = b'\n{"type":"compaction",'
_REWIND = b'\n{"type":"rewind",'


class SessionWindow(Struct):
    """The part of a session's past that a run needs. `totals` are those last written; `since` counts messages after
    them.

    `skills` has the latest text of each name, `superseded` the earlier ones without their text, because their limits
    still apply.
    """

    summary: str | None = None
    messages: list[Message] = field(default_factory=list)
    skills: dict[str, SkillRecord] = field(default_factory=dict)
    superseded: list[SkillRecord] = field(default_factory=list)
    totals: SessionTotals = field(default_factory=SessionTotals)
    since: int = 0
    last_turn: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def skill_records(self) -> tuple[SkillRecord, ...]:
        """Every text that was read and binds, in an order from which the same window can be made."""
        return (*self.superseded, *self.skills.values())

    @property
    def messages_ever(self) -> int:
        return self.totals.messages + self.since

    @property
    def so_far(self) -> SessionTotals:
        """The totals as of now, messages of a turn that is not over included."""
        return SessionTotals(self.totals.turns, self.messages_ever, self.totals.usage)

    def count_turn(self, usage: Usage) -> SessionTotals:
        """The totals once a turn is over that used so much."""
        return SessionTotals(self.totals.turns + 1, self.messages_ever, self.totals.usage.merge(usage))

    def add(self, record: SessionRecord) -> None:
        """Take in what was written."""
        if isinstance(record, MessageRecord):
            self.messages.append(record.message)
            self.since += 1
            self.last_turn = max(self.last_turn, record.turn)
        elif isinstance(record, SkillRecord):
            self._add_skill(record)
        elif isinstance(record, TurnRecord):
            self.totals, self.since = record.totals, 0
            self.last_turn = max(self.last_turn, record.turn)
        elif isinstance(record, CompactionRecord):
            del self.messages[: max(0, len(self.messages) - record.keeps)]
            self.summary, self.totals, self.since = record.summary, record.totals, 0
            self.skills, self.superseded = {}, []
            for skill in record.skills:
                self._add_skill(skill)
            self.last_turn = max(self.last_turn, record.turn)
        elif isinstance(record, RewindRecord):
            self.messages.append(Message("user", record.note))
            self.totals, self.since = record.totals, 0
            self.last_turn = max(self.last_turn, record.turn)

    def _add_skill(self, record: SkillRecord) -> None:
        before = self.skills.get(record.name)
        binds = before is not None and before.limits != ()
        if before and binds and not any(_binds_alike(before, other) for other in (record, *self.superseded)):
            self.superseded.append(structs.replace(before, content=""))
        self.skills[record.name] = record


def _binds_alike(one: SkillRecord, other: SkillRecord) -> bool:
    return (one.name, one.scope, one.digest, one.limits) == (other.name, other.scope, other.digest, other.limits)


def load_window(descriptor: int, size: int, path: str) -> SessionWindow:
    """Read back from the end of a file as far as needed. Raises: Unreadable."""
    for data, whole in read_tails(descriptor, size, path):
        start = _find_start(data, whole=whole)
        if start is None:
            continue
        if data.find(_REWIND, max(0, start - 1)) >= 0:  # what it went back to may stand anywhere
            return _fold_branch(read_range(descriptor, 0, size, path), path)
        return _fold(data, start, path, first=1 if whole and not start else 0)
    return SessionWindow()


def _fold_branch(data: bytes, path: str) -> SessionWindow:
    records, diagnostics = decode_lines(data, path)
    window = SessionWindow(diagnostics=diagnostics)
    for record in select_branch(records):
        window.add(record)
    return window


def _find_start(data: bytes, *, whole: bool) -> int | None:
    """Find where the lines that count begin; None if they begin before the data does."""
    end = len(data)
    while (at := data.rfind(_COMPACTION, 0, end)) >= 0:
        record = decode_line(data[at + 1 : data.find(b"\n", at + 1)])
        if isinstance(record, CompactionRecord):
            return _find_retained(data, at, record.keeps, whole=whole)
        end = at  # damaged: an earlier one serves
    return 0 if whole else None


def _find_retained(data: bytes, end: int, count: int, *, whole: bool) -> int | None:
    """Find where the last `count` messages before a position begin; None if they begin before the data does."""
    start = end + 1
    while count and end > 0:
        start = data.rfind(b"\n", 0, end) + 1
        count -= isinstance(decode_line(data[start:end]), MessageRecord)
        end = start - 1
    return None if count and not whole else start


def _fold(data: bytes, start: int, path: str, *, first: int) -> SessionWindow:
    records, diagnostics = decode_lines(data[start:], path, first=first)
    window = SessionWindow(diagnostics=diagnostics)
    # Of what stands above the last compaction only messages count: totals and skills are said again by it.
    last = max((at for at, record in enumerate(records) if isinstance(record, CompactionRecord)), default=0)
    for at, record in enumerate(records):
        if at >= last or isinstance(record, MessageRecord):
            window.add(record)
    return window
