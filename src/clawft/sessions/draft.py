"""A session as of a moment, and a turn that is added to its file only when it is over: once, for one run.

A run may be begun again by another process, on another day: what it added so far is then made anew, on the same base.
"""

import os
from collections.abc import Callable, Sequence

from msgspec import Struct, field, structs

from clawft.errors import ClawftError, Diagnostic
from clawft.sessions.log import find_end, open_regular, read_range
from clawft.sessions.migrate import HEAD_BYTES, check_header, load_header
from clawft.sessions.opened import OpenSession
from clawft.sessions.record import (
    CompactionRecord,
    Header,
    InTurn,
    MessageRecord,
    Record,
    TurnRecord,
)
from clawft.sessions.session import Session
from clawft.sessions.transcript import decode_lines
from clawft.sessions.window import Window, load_window

__all__ = ["Draft", "Past", "load_past"]


class Past(Struct, frozen=True):
    """What a draft goes on from: the first bytes of a file, or a session that is still to be made."""

    header: Header
    base: int = 0
    window: Window = field(default_factory=Window)


class Draft(OpenSession):
    """A session that nothing is written to before `commit`. Made by `SessionStore.open_draft`; holds no lock.

    `base` is how many bytes of the file it goes on from. Whoever opens it again there reads the same.
    """

    def __init__(self, past: Past, path: str, clock: Callable[[], float], start: Callable[[Header], Session]) -> None:
        super().__init__(past.header, path, clock, lambda: past.window)
        self.base = past.base
        self._start = start
        self._last_turn = past.window.last_turn
        self._records: list[InTurn] = []
        self._said: tuple[Diagnostic, ...] = ()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was left out when it was read, and when it was committed."""
        return (*super().diagnostics, *self._said)

    def commit(self, run: str) -> None:
        """Add all of it to the file at once, unless this run did so before; it is safe on disk when this returns.

        Raises: ClawftError, with code `session-busy` while another process writes the session: then try again.
        """
        if not self._records:
            return
        if not any(isinstance(one, TurnRecord) for one in self._records):  # the turn was broken off
            self.finish_turn(max(one.turn for one in self._records), "failed")
        with self._start(self.header) as session:
            since = self._read_since(session)
            if not any(isinstance(one, TurnRecord) and one.run == run for one in since):
                session.add_all(self._move(since, session.load_window(), run))
            session.sync()  # who wrote it may have been killed before this

    def close(self) -> None:
        """Nothing is held. What was not committed is gone."""

    def _keep(self, record: InTurn) -> None:
        self._records.append(record)

    def _read_since(self, session: Session) -> list[Record]:
        """What others added since the base. Raises: ClawftError if the file is not the one that was read."""
        start = max(0, self.base - 1)
        data = session.read_from(start)
        if self.base and not data.startswith(b"\n"):
            raise _not_here(self.key, self.path)
        return decode_lines(data, self.path, first=0)[0]

    def _move(self, since: Sequence[Record], window: Window, run: str) -> list[InTurn]:
        """The records as they have to be below what others added: numbers of turns, totals, and what summaries keep.

        The model's view stays right, since the messages of others stand above the draft's and none of them is lost: a
        summary that stands for some of the base keeps as many more messages as came between. One that would hide a
        message of others, or the summary that they made, is left out: all that it stood for is shown again.
        """
        shift = window.last_turn - self._last_turn
        others = [one.message for one in since if isinstance(one, MessageRecord)]
        torn_off = bool(others) and others[0].role == "tool"  # its call stands in the base
        shut = torn_off or any(isinstance(one, CompactionRecord) for one in since)
        own = 0  # messages of the draft so far
        moved: list[InTurn] = []
        for record in self._records:
            if isinstance(record, CompactionRecord) and (shut or (others and record.keeps < own)):
                self._said = (_left_out(self.path),)
                continue
            new = _place(record, window, shift, len(others))
            window.add(new)
            moved.append(new)
            own += isinstance(new, MessageRecord)
        last = max(at for at, one in enumerate(moved) if isinstance(one, TurnRecord))
        moved[last] = structs.replace(moved[last], run=run)
        return moved


def load_past(path: str, base: int | None, header: Header) -> Past:
    """What a file said when it had `base` bytes, or says now. `header` is for a session that is new.

    Raises: ClawftError.
    """
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        if base:
            raise _not_here(header.key, path) from None
        return Past(header)
    try:
        known = check_header(load_header(descriptor, path), header.key, path)
        base = _find_base(descriptor, path) if base is None else base
        if not base:
            return Past(header)
        if read_range(descriptor, base - 1, base, path) != b"\n":
            raise _not_here(header.key, path)
        return Past(known, base, load_window(descriptor, base, path))
    finally:
        os.close(descriptor)


def _find_base(descriptor: int, path: str) -> int:
    """How much of a file can be gone on from; a header alone is nothing, since whoever wrote it may remove it."""
    end = find_end(descriptor, path)
    is_alone = end <= HEAD_BYTES and read_range(descriptor, 0, end, path).count(b"\n") == 1
    return 0 if is_alone and load_header(descriptor, path) else end


def _not_here(key: str, path: str) -> ClawftError:
    """Whoever began a run saw a file that is not this one."""
    message = f"The session '{key}' that the run goes on with is not on this machine"
    hint = "It lives on the machine where the run was started, or was removed: start a worker there"
    return ClawftError("session-not-here", message, path=path, hint=hint)


def _place(record: InTurn, window: Window, shift: int, others: int) -> InTurn:
    """A record for a place further down, where the window is what stands above it."""
    record = structs.replace(record, turn=record.turn + shift)
    if isinstance(record, TurnRecord):
        return structs.replace(record, totals=window.count_turn(record.usage))
    if isinstance(record, CompactionRecord):
        keeps, skills = record.keeps + others, window.skill_records
        replaces = len(window.messages) - keeps
        return structs.replace(record, replaces=replaces, keeps=keeps, skills=skills, totals=window.so_far)
    return record


def _left_out(path: str) -> Diagnostic:
    message = "The run's summary of the conversation was not kept, since others had added to the session meanwhile"
    return Diagnostic("session-summary-left-out", "note", message, path)
