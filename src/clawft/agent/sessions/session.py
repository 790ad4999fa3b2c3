"""An open session: the messages a model may be shown, and what happens next, written line by line or as a draft
that is committed once.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self, TypedDict, Unpack

from msgspec import Struct, field, structs

from clawft.agent.sessions.keys import HEAD_BYTES, check_header, load_header
from clawft.agent.sessions.log import SessionLog, find_end, open_regular, read_range
from clawft.agent.sessions.record import (
    CompactionRecord,
    MessageRecord,
    RewindRecord,
    SessionHeader,
    SessionRecord,
    SkillRecord,
    TextLimits,
    TurnLine,
    TurnRecord,
    TurnStatus,
    encode_lines,
    format_time,
)
from clawft.agent.sessions.transcript import SessionWindow, decode_lines, load_window
from clawft.errors import ClawftError, Diagnostic
from clawft.files import sync_folder
from clawft.messages import Message, ToolCall, Usage

INTERRUPTED = "interrupted: the turn ended before this tool gave a result"


def summary_message(summary: str) -> Message:
    """Return the message that replaces summarised messages."""
    return Message("user", f"<conversation_summary>\n{summary}\n</conversation_summary>")


def pair_calls(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages with every call followed by its results: a missing one is made up, one without a call left out.

    Providers refuse a conversation otherwise, and a crash or a damaged line can leave such gaps.
    """
    shown: list[Message] = []
    waiting: list[ToolCall] = []
    later: list[Message] = []  # what came between a call and its results

    def settle() -> None:
        shown.extend(_interrupted(call) for call in waiting)
        shown.extend(later)
        waiting.clear()
        later.clear()

    for message in messages:
        if message.role == "tool":
            call = next((candidate for candidate in waiting if candidate.id == message.tool_call_id), None)
            if call is None:
                continue
            waiting.remove(call)
            shown.append(message)
            if not waiting:
                settle()
        elif message.role == "assistant" or not waiting:
            settle()
            shown.append(message)
            waiting.extend(message.tool_calls)
        else:
            later.append(message)
    settle()
    return tuple(shown)


def find_cut(messages: Sequence[Message], shown: Sequence[Message], keep: int) -> int:
    """Find where the recorded messages begin that hold the last `keep` of those shown; a result stays with its call."""
    known, seen = set(map(id, messages)), set(map(id, shown))
    left = sum(id(message) in known for message in shown[-keep:]) if keep > 0 else 0
    cut = len(messages)
    while cut and left:
        cut -= 1
        left -= id(messages[cut]) in seen  # one that is not shown counts for nothing
    while 0 < cut < len(messages) and messages[cut].role == "tool":
        cut -= 1
    return cut


def _interrupted(call: ToolCall) -> Message:
    return Message("tool", INTERRUPTED, tool_call_id=call.id, name=call.name, is_error=True)


class AboutSkill(TypedDict, total=False):
    """The additional facts that a session records about a loaded skill, as in `SkillRecord`."""

    scope: str
    digest: str
    arguments: str
    limits: tuple[TextLimits, ...] | None


class OpenSession(ABC):
    """A session that can be added to.

    Turns are numbered from 1: take `next_turn`, append its messages, then finish it.
    """

    def __init__(
        self, header: SessionHeader, path: str, clock: Callable[[], float], load: Callable[[], SessionWindow]
    ) -> None:
        self.header = header
        self.path = path
        self._clock = clock
        self._load = load
        self._loaded: SessionWindow | None = None
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
        """The messages that the model sees now: the last summary, what came after it, and a result for every tool
        call."""
        if self._shown is None:
            summary = self._window.summary
            before = () if summary is None else (summary_message(summary),)
            self._shown = (*before, *pair_calls(self._window.messages))
        return self._shown

    @property
    def is_compacted(self) -> bool:
        """Return whether the first of its messages is a summary."""
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
        """The number of finished turns."""
        return self._window.totals.turns

    @property
    def next_turn(self) -> int:
        return self._window.last_turn + 1

    @property
    def usage(self) -> Usage:
        """The usage of all finished turns."""
        return self._window.totals.usage

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of what was repaired or left out."""
        return self._window.diagnostics

    def append(self, message: Message, turn: int) -> None:
        """Write down one message. Raises: ClawftError."""
        self._write(MessageRecord(turn=turn, at=self._now(), message=message))

    def activate(self, name: str, content: str, turn: int, **more: Unpack[AboutSkill]) -> None:
        """Write down that a skill's text reaches the model, and what binds it since. Raises: ClawftError."""
        self._write(SkillRecord(turn=turn, at=self._now(), name=name, content=content, **more))

    def compact(self, summary: str, keep: int) -> None:
        """Replace all but the last `keep` messages by a summary. A result is never separated from its call.

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

    def finish_turn(
        self, turn: int, status: TurnStatus = "finished", usage: Usage | None = None, model: str = ""
    ) -> None:
        """Write down that a turn is over. Raises: ClawftError."""
        used = usage or Usage()
        totals = self._window.count_turn(used)
        self._write(TurnRecord(turn=turn, at=self._now(), status=status, usage=used, model=model, totals=totals))

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    @abstractmethod
    def _keep(self, record: TurnLine) -> None:
        """Put a record where it belongs. Raises: ClawftError."""

    @property
    def _window(self) -> SessionWindow:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _write(self, record: TurnLine) -> None:
        window = self._window  # read before it grows
        self._keep(record)
        window.add(record)
        self._shown = None

    def _now(self) -> str:
        return format_time(self._clock())


class Session(OpenSession):
    """A session that this process alone may write. Made by `SessionStore.open`; reads its file when first asked."""

    def __init__(self, header: SessionHeader, log: SessionLog, clock: Callable[[], float], *, fresh: bool) -> None:
        super().__init__(header, log.path, clock, self.load_window)
        self._log = log
        self._unused = fresh
        self._named = not fresh  # its name would survive a loss of power

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of what was repaired or left out when the session was opened."""
        return (*self._log.diagnostics, *super().diagnostics)

    @property
    def size(self) -> int:
        """The bytes of its file."""
        return self._log.size

    def finish_turn(
        self, turn: int, status: TurnStatus = "finished", usage: Usage | None = None, model: str = ""
    ) -> None:
        """Write down that a turn is over; all of it is safe on disk when this returns. Raises: ClawftError."""
        super().finish_turn(turn, status, usage, model)
        self.sync()

    def rewind(self, to: int, head: int, note: str, *, redo: bool = False) -> None:
        """Go on from the end of turn `to`; the lines since then stay in the file. It is safe on disk when this returns.

        Raises: ClawftError.
        """
        window = self._window
        totals = window.so_far
        self._keep(
            RewindRecord(turn=window.last_turn, at=self._now(), to=to, head=head, redo=redo, note=note, totals=totals)
        )
        self._loaded = self._shown = None
        self.sync()

    def load_window(self) -> SessionWindow:
        """Load the current content of the file. Raises: Unreadable."""
        return load_window(self._log.descriptor, self.size, self.path)

    def read_from(self, start: int) -> bytes:
        """The lines after a place in its file. Raises: Unreadable."""
        return read_range(self._log.descriptor, start, self.size, self.path)

    def add_all(self, records: Sequence[TurnLine]) -> None:
        """Write many records at once, or none of them, whatever ends this process. Raises: ClawftError."""
        self._log.append_whole(encode_lines(records))
        self._loaded = self._shown = None
        self._unused = False

    def sync(self) -> None:
        """Return when all that was written would survive a loss of power. Raises: ClawftError."""
        self._log.sync()
        if not self._named:  # after the file: most file systems have then written its name too, and this is quick
            sync_folder(os.path.dirname(self.path))
            self._named = True

    def close(self) -> None:
        """Let others write. A new session that nothing was written to leaves no file."""
        if self._unused and self._log.descriptor >= 0:
            os.unlink(self.path)
        self._unused = False
        self._log.close()

    def _keep(self, record: TurnLine) -> None:
        self._log.append(encode_lines((record,)))
        self._unused = False


class DraftPast(Struct, frozen=True):
    """The past that a draft continues: the first bytes of a file, or a session that is still to be created."""

    header: SessionHeader
    base: int = 0
    window: SessionWindow = field(default_factory=SessionWindow)


class SessionDraft(OpenSession):
    """A session that writes nothing before `commit`. `SessionStore.open_draft` makes it; it holds no lock.

    `base` is the number of bytes of the file that it continues from. Opening it again from there reads the same.
    """

    def __init__(
        self, past: DraftPast, path: str, clock: Callable[[], float], start: Callable[[SessionHeader], Session]
    ) -> None:
        super().__init__(past.header, path, clock, lambda: past.window)
        self.base = past.base
        self._start = start
        self._last_turn = past.window.last_turn
        self._records: list[TurnLine] = []
        self._diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of what was left out when the draft was read, and when it was committed."""
        return (*super().diagnostics, *self._diagnostics)

    def commit(self, run: str) -> None:
        """Add all of it to the file at once, unless this run did so before; it is safe on disk when this returns.

        Raises: ClawftError, with code `session-busy` while another process writes the session: then try again.
        """
        if not self._records:
            return
        if not any(isinstance(record, TurnRecord) for record in self._records):  # the turn was broken off
            self.finish_turn(max(record.turn for record in self._records), "failed")
        with self._start(self.header) as session:
            since = self._read_since(session)
            if not any(isinstance(addition, TurnRecord) and addition.run == run for addition in since):
                session.add_all(self._move(since, session.load_window(), run))
            session.sync()  # who wrote it may have been killed before this

    def close(self) -> None:
        """Nothing is held. What was not committed is gone."""

    def _keep(self, record: TurnLine) -> None:
        self._records.append(record)

    def _read_since(self, session: Session) -> list[SessionRecord]:
        """Read the records that others added since the base. Raises: ClawftError if the file is not the one that was
        read."""
        start = max(0, self.base - 1)
        data = session.read_from(start)
        if self.base and not data.startswith(b"\n"):
            raise _not_here(self.key, self.path)
        return decode_lines(data, self.path, first=0)[0]

    def _move(self, since: Sequence[SessionRecord], window: SessionWindow, run: str) -> list[TurnLine]:
        """Adapt the draft's records to those that others added: turn numbers, totals, and what summaries keep.

        The model's view stays right, since the messages of others come before the draft's and none of them is lost: a
        summary that replaces some of the base keeps as many more messages as were added. A summary that would hide a
        message of others, or the summary that they made, is left out: everything it replaced is shown again.
        """
        shift = window.last_turn - self._last_turn
        others = [addition.message for addition in since if isinstance(addition, MessageRecord)]
        torn_off = bool(others) and others[0].role == "tool"  # its call stands in the base
        shut = torn_off or any(isinstance(addition, CompactionRecord | RewindRecord) for addition in since)
        own = 0  # messages of the draft so far
        moved: list[TurnLine] = []
        for record in self._records:
            if isinstance(record, CompactionRecord) and (shut or (others and record.keeps < own)):
                self._diagnostics = (_left_out(self.path),)
                continue
            new = _place(record, window, shift, len(others))
            window.add(new)
            moved.append(new)
            own += isinstance(new, MessageRecord)
        last = max(at for at, line in enumerate(moved) if isinstance(line, TurnRecord))
        moved[last] = structs.replace(moved[last], run=run)
        return moved


def load_past(path: str, base: int | None, header: SessionHeader) -> DraftPast:
    """Load a session file as it was when it had `base` bytes, or as it is now. `header` is for a new session.

    Raises: ClawftError.
    """
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        if base:
            raise _not_here(header.key, path) from None
        return DraftPast(header)
    try:
        known = check_header(load_header(descriptor, path), header.key, path)
        base = _find_base(descriptor, path) if base is None else base
        if not base:
            return DraftPast(header)
        if read_range(descriptor, base - 1, base, path) != b"\n":
            raise _not_here(header.key, path)
        return DraftPast(known, base, load_window(descriptor, base, path))
    finally:
        os.close(descriptor)


def _find_base(descriptor: int, path: str) -> int:
    """Find how many bytes of a file a draft can continue from; 0 for a lone header, since the process that wrote it may
    remove it."""
    end = find_end(descriptor, path)
    is_alone = end <= HEAD_BYTES and read_range(descriptor, 0, end, path).count(b"\n") == 1
    return 0 if is_alone and load_header(descriptor, path) else end


def _not_here(key: str, path: str) -> ClawftError:
    """Build the error for a file that is not the one with which the run began."""
    message = f"The session '{key}' that the run goes on with is not on this machine"
    hint = "It lives on the machine where the run was started, or was removed: start a worker there"
    return ClawftError("session-not-here", message, path=path, hint=hint)


def _place(record: TurnLine, window: SessionWindow, shift: int, others: int) -> TurnLine:
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
