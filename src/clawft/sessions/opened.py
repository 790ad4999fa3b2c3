"""One conversation that goes on: what the model should see now, and writing down what happens next.

Where that is written is the matter of session.py (its file, at once) and of draft.py (its file, once all is done).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypedDict, Unpack

from clawft.errors import Diagnostic
from clawft.messages import Message, Usage
from clawft.sessions.conversation import find_cut, pair_calls, summary_message
from clawft.sessions.record import (
    CompactionRecord,
    Header,
    InTurn,
    MessageRecord,
    SkillRecord,
    Status,
    TextLimits,
    TurnRecord,
    format_time,
)
from clawft.sessions.window import Window

__all__ = ["AboutSkill", "OpenSession"]


class AboutSkill(TypedDict, total=False):
    """What else a session keeps of a skill that was loaded: as in `SkillRecord`."""

    scope: str
    digest: str
    arguments: str
    limits: tuple[TextLimits, ...] | None


class OpenSession(ABC):
    """A session that can be added to.

    Turns are numbered from 1: take `next_turn`, append its messages, then finish it.
    """

    def __init__(self, header: Header, path: str, clock: Callable[[], float], load: Callable[[], Window]) -> None:
        self.header = header
        self.path = path
        self._clock = clock
        self._load = load
        self._loaded: Window | None = None
        self._shown: tuple[Message, ...] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def key(self) -> str:
        return self.header.key

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model should see now: the last summary, what came after it, and a result for every tool call."""
        if self._shown is None:
            summary = self._window.summary
            before = () if summary is None else (summary_message(summary),)
            self._shown = (*before, *pair_calls(self._window.messages))
        return self._shown

    @property
    def is_compacted(self) -> bool:
        """Whether the first of its messages is a summary."""
        return self._window.summary is not None

    @property
    def activated(self) -> dict[str, SkillRecord]:
        """The skills whose text reached the model, by name; a compaction does not drop them."""
        return dict(self._window.skills)

    @property
    def skill_records(self) -> tuple[SkillRecord, ...]:
        """Every text that was read and binds, those of one name too; a compaction does not drop them."""
        return self._window.skill_records

    @property
    def turns(self) -> int:
        """How many turns are over."""
        return self._window.totals.turns

    @property
    def next_turn(self) -> int:
        return self._window.last_turn + 1

    @property
    def usage(self) -> Usage:
        """What all turns that are over used."""
        return self._window.totals.usage

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What had to be mended or left out."""
        return self._window.diagnostics

    def append(self, message: Message, turn: int) -> None:
        """Write down one message. Raises: ClawftError."""
        self._write(MessageRecord(turn=turn, at=self._now(), message=message))

    def activate(self, name: str, content: str, turn: int, **more: Unpack[AboutSkill]) -> None:
        """Write down that a skill's text reaches the model, and what binds it since. Raises: ClawftError."""
        self._write(SkillRecord(turn=turn, at=self._now(), name=name, content=content, **more))

    def compact(self, summary: str, keep: int) -> None:
        """Let a summary stand for all but the last `keep` messages. A result is never parted from its call.

        Raises: ClawftError.
        """
        window = self._window
        cut = find_cut(window.messages, self.messages, keep)
        record = CompactionRecord(
            turn=window.last_turn,
            at=self._now(),
            summary=summary,
            replaces=cut,
            keeps=len(window.messages) - cut,
            skills=window.skill_records,
            totals=window.so_far,
        )
        self._write(record)

    def finish_turn(self, turn: int, status: Status = "finished", usage: Usage | None = None, model: str = "") -> None:
        """Write down that a turn is over. Raises: ClawftError."""
        used = usage or Usage()
        totals = self._window.count_turn(used)
        self._write(TurnRecord(turn=turn, at=self._now(), status=status, usage=used, model=model, totals=totals))

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    @abstractmethod
    def _keep(self, record: InTurn) -> None:
        """Put a record where it belongs. Raises: ClawftError."""

    @property
    def _window(self) -> Window:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _write(self, record: InTurn) -> None:
        window = self._window  # read before it grows
        self._keep(record)
        window.add(record)
        self._shown = None

    def _now(self) -> str:
        return format_time(self._clock())
