"""A run as it happens, from its beginning to its end, for whoever watches: each event once, in order.

Events are numbered, and a run that is begun again goes on counting; so a watcher that remembers the last number may
leave and come back, and misses and doubles nothing.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Iterable

import anyio
import msgspec
from anyio import to_thread

from clawft.errors import ClawftError
from clawft.messages import AnyEvent, ApprovalNeeded, Event, Noticed
from clawft.run.durable.database import is_passing
from clawft.run.durable.store import RunStore
from clawft.run.durable.values import OVER, Question, Run

__all__ = ["Told", "decode_event", "follow"]

Told = Event | Question | Run
_SOON_S, _LATER_S, _GROWTH = 0.2, 1.0, 1.3
_PAGE = 500
_PATIENCE = 60  # looks into a database that is away before the watcher is told to give up
_MOMENTS = 4  # looks that the event of a question may come later than itself
_EVENT = msgspec.json.Decoder(AnyEvent)


def decode_event(text: str) -> Event | None:
    """An event as it was written down; None for one that this version does not know."""
    try:
        event: Event = _EVENT.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return event


async def follow(store: RunStore, run: str) -> AsyncGenerator[Told]:
    """Events; a question when it is asked, and when it was answered; and last the run itself, when it is over.

    A database that is away is waited for. Raises: ClawftError.
    """
    watch = _Watch(store, run)
    pause, failures = _SOON_S, 0
    while True:
        told: list[Told] = []
        try:
            told = await to_thread.run_sync(watch.look)
            failures = 0
        except ClawftError as error:
            failures += 1
            if not is_passing(error) or failures > _PATIENCE:
                raise
            if failures == 1:
                told = [Noticed(code=error.code, message=str(error), severity="warning", hint=error.hint)]
        for one in told:
            yield one
            if isinstance(one, Run):
                return
        pause = _SOON_S if told and not failures else min(_LATER_S, pause * _GROWTH)
        if not watch.has_more:
            await anyio.sleep(pause)


class _Watch:
    """What a watcher has seen."""

    def __init__(self, store: RunStore, run: str) -> None:
        self._store = store
        self._run = run
        self._last = 0
        self._generation = 0
        self._seen: dict[str, str | None] = {}  # questions with the answer that was told
        self._asked: set[str] = set()  # questions whose event came
        self._held: Counter[str] = Counter()  # how often the event of a question was waited for
        self.has_more = False

    def look(self) -> list[Told]:
        """What is new. The row is read first: what was written before it said `done` is all there then."""
        run = self._store.get(self._run)
        if run.generation != self._generation:  # tried again from its start, it begins to count anew
            self._last, self._generation = 0, run.generation
            self._seen, self._asked, self._held = {}, set(), Counter()
        page = self._store.events(self._run, self._last, _PAGE)
        if page and self._store.get(self._run).generation != self._generation:
            return []  # these may be another's: the next look begins anew
        self.has_more = len(page) == _PAGE
        questions = self._store.questions(self._run, open_only=False)
        # What was put before is answered before anything that follows.
        told = self._tell(one for one in questions if one.answer and one.key in self._seen)
        for number, step, text in page:
            event = decode_event(text)
            self._last = number
            if event is not None:
                told.append(event)
            if isinstance(event, ApprovalNeeded):
                meant = [one for one in questions if _asks(one, step, event)]
                self._asked |= {one.key for one in meant}
                told += self._tell(one for one in meant if one.answer)
        if not self.has_more:
            told += self._tell(one for one in questions if one.answer or self._is_due(run, one))
            if run.status in OVER:
                told.append(run)
        return told

    def _is_due(self, run: Run, question: Question) -> bool:
        """Whether a question is to be put now: what came before it has been told, which may take a moment."""
        self._held[question.key] += 1
        is_told = question.key in self._asked or self._held[question.key] > _MOMENTS
        return run.status == "waiting" or (run.status == "running" and is_told)

    def _tell(self, questions: Iterable[Question]) -> list[Told]:
        new: list[Told] = []
        for one in questions:
            if one.key not in self._seen or self._seen[one.key] != one.answer:
                self._seen[one.key] = one.answer
                new.append(one)
        return new


def _asks(question: Question, step: str, event: ApprovalNeeded) -> bool:
    """Whether an event of a step is this question. A step is written as `PLACE@WHO`, who did it."""
    same = (question.event.call, question.event.question) == (event.call, event.question)
    place = step.partition("@")[0]
    return same and question.key.startswith((f"{place}?", f"{place}~"))
