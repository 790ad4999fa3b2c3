"""The events of runs: written to the database in batches, each once, and followed from the start to the end of a
run.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any, Protocol

import anyio
import msgspec
from anyio import to_thread

from clawft.errors import ClawftError
from clawft.jobs.database import is_transient
from clawft.jobs.run_state import OVER, PendingQuestion, Run
from clawft.jobs.store import EventRow, RunStore
from clawft.messages import AnyEvent, ApprovalNeeded, Event, Noticed, TextDelta

_PAGE = 1000
_EVERY_S = 0.25
# What tells one event from another; times and counts may differ when a turn is run again.
_SHORT_FIELDS = ("turn", "call", "tool", "child", "name", "code", "message", "model")
_EVENT = msgspec.json.Decoder(dict[str, Any])


class EventSink:
    """Takes the events of one attempt. What an earlier attempt wrote down already is not written again."""

    def __init__(self, store: RunStore, run: str) -> None:
        self._store = store
        self._run = run
        self._next = 1
        self._pending: list[tuple[str, Event]] = []
        self._known: Counter[tuple[object, ...]] = Counter()
        self._texts: Counter[str] = Counter()  # characters of answers that are there, by step
        self.step: Callable[[], str] = str  # the step that is being done
        self.served: Callable[[], str] = str  # the step whose answer is from before

    async def open(self) -> None:
        """Read what earlier attempts wrote. Raises: ClawftError."""
        while page := await to_thread.run_sync(self._store.events, self._run, self._next - 1, _PAGE):
            for number, step, text in page:
                event = _decode(text)
                if event.get("event") == "TextDelta":
                    self._texts[step] += len(event.get("text", ""))
                else:
                    self._known[_identify(event)] += 1
                self._next = number + 1

    def put(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, TextDelta):
            self._put_text(event)
            return
        known = _identify(msgspec.to_builtins(event))
        if self._known[known]:
            self._known[known] -= 1
        else:
            self._pending.append((self.step(), event))

    def _put_text(self, event: TextDelta) -> None:
        served = self.served()
        text = event.text[self._texts[served] :] if served else event.text  # of an answer from before, what is missing
        if not text:
            return
        step = served or self.step()
        last = self._pending[-1] if self._pending else None
        if last and last[0] == step and isinstance(last[1], TextDelta):
            self._pending[-1] = (step, msgspec.structs.replace(last[1], text=last[1].text + text))
        else:
            self._pending.append((step, msgspec.structs.replace(event, text=text)))

    def take(self) -> list[EventRow]:
        """Return the pending events as rows to write."""
        rows = [
            EventRow(self._run, self._next + at, step, _encode(event)) for at, (step, event) in enumerate(self._pending)
        ]
        self._next += len(rows)
        self._pending = []
        return rows


class EventSource(Protocol):
    """An attempt, for the writer of its events."""

    def take_events(self) -> list[EventRow]: ...

    def take_progress(self) -> dict[str, Any] | None: ...


class EventWriter:
    """Writes down what the attempts of a worker tell: every so often all of it, in one transaction."""

    def __init__(self, store: RunStore, worker: str, warn: Callable[[ClawftError], None]) -> None:
        self._store = store
        self._worker = worker
        self._warn = warn
        self._sources: dict[int, EventSource] = {}
        self._writing = anyio.Lock()
        self._events: list[EventRow] = []  # that could not be written yet
        self._progress: list[dict[str, Any]] = []

    def follow(self, source: EventSource) -> None:
        self._sources[id(source)] = source

    def leave(self, source: EventSource) -> None:
        self._sources.pop(id(source), None)

    async def run(self) -> None:
        """Write for ever; a database that is away is tried again at the next turn."""
        while True:
            await anyio.sleep(_EVERY_S)
            try:
                await self.flush()
            except ClawftError as error:
                self._warn(error)

    async def flush(self) -> None:
        """Write down what came. Raises: ClawftError, and then nothing is lost."""
        async with self._writing:
            for source in tuple(self._sources.values()):
                self._events += source.take_events()
                progress = source.take_progress()
                self._progress += [progress] if progress else []
            if not self._events and not self._progress:
                return
            events, progress_rows = tuple(self._events), tuple(self._progress)
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._store.write, events, progress_rows, self._worker)
            self._events, self._progress = [], []


def _encode(event: Event) -> str:
    try:
        return msgspec.json.encode(event).decode()
    except (
        UnicodeEncodeError,
        TypeError,
        ValueError,
        RecursionError,
    ):  # one that cannot be encoded must not stop others
        plain = {"event": type(event).__name__, "at": event.at, "session": event.session}
        return msgspec.json.encode(plain).decode()


def _decode(text: str) -> dict[str, Any]:
    """An event as it was written down; nothing of one that cannot be read."""
    try:
        event: dict[str, Any] = _EVENT.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return event


def _identify(event: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(event.get(name)) for name in ("event", "session", *_SHORT_FIELDS))


FollowedItem = Event | PendingQuestion | Run
_SOON_S, _LATER_S, _GROWTH = 0.2, 1.0, 1.3
_FOLLOW_PAGE = 500
_PATIENCE = 60  # attempts to read from an unavailable database before the watcher gives up
_MOMENTS = 4  # looks that the event of a question may come later than itself
_FOLLOW_EVENT = msgspec.json.Decoder(AnyEvent)


def decode_event(text: str) -> Event | None:
    """An event as it was written down; None for one that this version does not know."""
    try:
        event: Event = _FOLLOW_EVENT.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return event


async def follow(store: RunStore, run: str) -> AsyncGenerator[FollowedItem]:
    """Events; a question when it is asked, and when it was answered; and last the run itself, when it is over.

    A database that is away is waited for. Raises: ClawftError.
    """
    watch = _Watch(store, run)
    pause, failures = _SOON_S, 0
    while True:
        events: list[FollowedItem] = []
        try:
            events = await to_thread.run_sync(watch.look)
            failures = 0
        except ClawftError as error:
            failures += 1
            if not is_transient(error) or failures > _PATIENCE:
                raise
            if failures == 1:
                events = [Noticed(code=error.code, message=str(error), severity="warning", hint=error.hint)]
        for event in events:
            yield event
            if isinstance(event, Run):
                return
        pause = _SOON_S if events and not failures else min(_LATER_S, pause * _GROWTH)
        if not watch.has_more:
            await anyio.sleep(pause)


class _Watch:
    """The state of one watcher: the events and questions it has seen."""

    def __init__(self, store: RunStore, run: str) -> None:
        self._store = store
        self._run = run
        self._last = 0
        self._generation = 0
        self._seen: dict[str, str | None] = {}  # questions with the answer that was sent
        self._asked: set[str] = set()  # questions whose event came
        self._held: Counter[str] = Counter()  # how often the event of a question was waited for
        self.has_more = False

    def look(self) -> list[FollowedItem]:
        """Return the events that are new. The row is read first: everything written before it became `done` is then
        there."""
        run = self._store.get(self._run)
        if run.generation != self._generation:  # tried again from its start, it begins to count anew
            self._last, self._generation = 0, run.generation
            self._seen, self._asked, self._held = {}, set(), Counter()
        page = self._store.events(self._run, self._last, _FOLLOW_PAGE)
        if page and self._store.get(self._run).generation != self._generation:
            return []  # these may be another's: the next look begins anew
        self.has_more = len(page) == _FOLLOW_PAGE
        questions = self._store.questions(self._run, open_only=False)
        # What was put before is answered before anything that follows.
        events = self._tell(question for question in questions if question.answer and question.key in self._seen)
        for number, step, text in page:
            event = decode_event(text)
            self._last = number
            if event is not None:
                events.append(event)
            if isinstance(event, ApprovalNeeded):
                meant = [question for question in questions if _asks(question, step, event)]
                self._asked |= {asked_question.key for asked_question in meant}
                events += self._tell(asked_question for asked_question in meant if asked_question.answer)
        if not self.has_more:
            events += self._tell(question for question in questions if question.answer or self._is_due(run, question))
            if run.status in OVER:
                events.append(run)
        return events

    def _is_due(self, run: Run, question: PendingQuestion) -> bool:
        """Return whether a question is due: the event before it must have been sent, which may take a moment."""
        self._held[question.key] += 1
        is_announced = question.key in self._asked or self._held[question.key] > _MOMENTS
        return run.status == "waiting" or (run.status == "running" and is_announced)

    def _tell(self, questions: Iterable[PendingQuestion]) -> list[FollowedItem]:
        new: list[FollowedItem] = []
        for question in questions:
            if question.key not in self._seen or self._seen[question.key] != question.answer:
                self._seen[question.key] = question.answer
                new.append(question)
        return new


def _asks(question: PendingQuestion, step: str, event: ApprovalNeeded) -> bool:
    """Return whether an event of a step is this question. A step is written as `PLACE@WHO`, who did it."""
    same = (question.event.call, question.event.question) == (event.call, event.question)
    place = step.partition("@")[0]
    return same and question.key.startswith((f"{place}?", f"{place}~"))
