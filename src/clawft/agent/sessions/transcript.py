"""The end of a session file that a run goes on from: since the last compaction, or all of it.

Old lines are not read: the messages that a compaction keeps stand right above it, skills and totals in it.
"""

from msgspec import Struct, field, structs

from clawft.errors import Diagnostic
from clawft.messages import Message, Usage
from clawft.sessions.log import read_tails
from clawft.sessions.record import (
    CompactionRecord,
    MessageRecord,
    Record,
    SkillRecord,
    Totals,
    TurnRecord,
    decode_line,
)
from clawft.sessions.transcript import decode_lines

__all__ = ["Window", "load_window"]

_COMPACTION = b'\n{"type":"compaction",'


class Window(Struct):
    """What a run needs to know of the past. `totals` are those last written; `since` counts messages after them.

    `skills` has the latest text of each name, `superseded` those before it, without their text: what they bind still
    holds.
    """

    summary: str | None = None
    messages: list[Message] = field(default_factory=list)
    skills: dict[str, SkillRecord] = field(default_factory=dict)
    superseded: list[SkillRecord] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
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
    def so_far(self) -> Totals:
        """The totals as of now, messages of a turn that is not over included."""
        return Totals(self.totals.turns, self.messages_ever, self.totals.usage)

    def count_turn(self, usage: Usage) -> Totals:
        """The totals once a turn is over that used so much."""
        return Totals(self.totals.turns + 1, self.messages_ever, self.totals.usage.merge(usage))

    def add(self, record: Record) -> None:
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

    def _add_skill(self, record: SkillRecord) -> None:
        before = self.skills.get(record.name)
        binds = before is not None and before.limits != ()
        if before and binds and not any(_binds_alike(before, one) for one in (record, *self.superseded)):
            self.superseded.append(structs.replace(before, content=""))
        self.skills[record.name] = record


def _binds_alike(one: SkillRecord, other: SkillRecord) -> bool:
    return (one.name, one.scope, one.digest, one.limits) == (other.name, other.scope, other.digest, other.limits)


def load_window(descriptor: int, size: int, path: str) -> Window:
    """Read back from the end of a file as far as needed. Raises: Unreadable."""
    for data, whole in read_tails(descriptor, size, path):
        start = _find_start(data, whole=whole)
        if start is not None:
            return _fold(data, start, path, first=1 if whole and not start else 0)
    return Window()


def _find_start(data: bytes, *, whole: bool) -> int | None:
    """Where the lines that count begin; None when they begin further up than the data does."""
    end = len(data)
    while (at := data.rfind(_COMPACTION, 0, end)) >= 0:
        record = decode_line(data[at + 1 : data.find(b"\n", at + 1)])
        if isinstance(record, CompactionRecord):
            return _find_kept(data, at, record.keeps, whole=whole)
        end = at  # damaged: an earlier one serves
    return 0 if whole else None


def _find_kept(data: bytes, end: int, count: int, *, whole: bool) -> int | None:
    """Where the last `count` messages before a place begin."""
    start = end + 1
    while count and end > 0:
        start = data.rfind(b"\n", 0, end) + 1
        count -= isinstance(decode_line(data[start:end]), MessageRecord)
        end = start - 1
    return None if count and not whole else start


def _fold(data: bytes, start: int, path: str, *, first: int) -> Window:
    records, said = decode_lines(data[start:], path, first=first)
    window = Window(diagnostics=said)
    # Of what stands above the last compaction only messages count: totals and skills are said again by it.
    last = max((at for at, one in enumerate(records) if isinstance(one, CompactionRecord)), default=0)
    for at, record in enumerate(records):
        if at >= last or isinstance(record, MessageRecord):
            window.add(record)
    return window
