"""One conversation that goes on: what the model should see now, and writing down what happens next."""

import os
from collections.abc import Callable
from types import TracebackType

from clawft.errors import Diagnostic
from clawft.files import sync_folder
from clawft.messages import Message, Usage
from clawft.sessions.conversation import find_cut, pair_calls, summary_message
from clawft.sessions.log import Log
from clawft.sessions.record import (
    CompactionRecord,
    Header,
    MessageRecord,
    Record,
    SkillRecord,
    Status,
    Totals,
    TurnRecord,
    encode_lines,
    format_time,
)
from clawft.sessions.window import Window, load_window

__all__ = ["Session"]


class Session:
    """A session that this process alone may write. Made by `SessionStore.open`; reads its file when first asked.

    Turns are numbered from 1: take `next_turn`, append its messages, then finish it.
    """

    def __init__(self, header: Header, log: Log, clock: Callable[[], float], *, fresh: bool) -> None:
        self.header = header
        self._log = log
        self._clock = clock
        self._unused = fresh
        self._named = not fresh  # its name would survive a loss of power
        self._loaded: Window | None = None
        self._shown: tuple[Message, ...] | None = None

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def key(self) -> str:
        return self.header.key

    @property
    def path(self) -> str:
        return self._log.path

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model should see now: the last summary, what came after it, and a result for every tool call."""
        if self._shown is None:
            summary = self._window.summary
            before = () if summary is None else (summary_message(summary),)
            self._shown = (*before, *pair_calls(self._window.messages))
        return self._shown

    @property
    def activated(self) -> dict[str, SkillRecord]:
        """The skills whose text reached the model, by name; a compaction does not drop them."""
        return dict(self._window.skills)

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
        """What had to be mended or left out when the session was opened."""
        return (*self._log.diagnostics, *self._window.diagnostics)

    def append(self, message: Message, turn: int) -> None:
        """Write down one message. Raises: ClawftError."""
        self._write(MessageRecord(turn=turn, at=self._now(), message=message))

    def activate(self, name: str, content: str, turn: int, *, scope: str = "", digest: str = "") -> None:
        """Write down that a skill's text reached the model. Raises: ClawftError."""
        self._write(SkillRecord(turn=turn, at=self._now(), name=name, scope=scope, digest=digest, content=content))

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
            skills=tuple(window.skills.values()),
            totals=Totals(window.totals.turns, window.messages_ever, window.totals.usage),
        )
        self._write(record)

    def finish_turn(self, turn: int, status: Status = "finished", usage: Usage | None = None, model: str = "") -> None:
        """Write down that a turn is over; all of it is safe on disk when this returns. Raises: ClawftError."""
        used, so_far = usage or Usage(), self._window.totals
        totals = Totals(so_far.turns + 1, self._window.messages_ever, so_far.usage.merge(used))
        self._write(TurnRecord(turn=turn, at=self._now(), status=status, usage=used, model=model, totals=totals))
        self._log.sync()
        if not self._named:  # after the file: most file systems have then written its name too, and this is quick
            sync_folder(os.path.dirname(self._log.path))
            self._named = True

    def close(self) -> None:
        """Let others write. A new session that nothing was written to leaves no file."""
        if self._unused and self._log.descriptor >= 0:
            os.unlink(self._log.path)
        self._unused = False
        self._log.close()

    @property
    def _window(self) -> Window:
        if self._loaded is None:
            self._loaded = load_window(self._log.descriptor, self._log.size, self._log.path)
        return self._loaded

    def _write(self, record: Record) -> None:
        window = self._window  # read before it grows
        self._log.append(encode_lines((record,)))
        window.add(record)
        self._shown = None
        self._unused = False

    def _now(self) -> str:
        return format_time(self._clock())
