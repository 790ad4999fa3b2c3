"""The steps of a run that must survive a crash: each is recorded when it is done, and a recorded step is never done
again.

A run that is restarted repeats its turn from the start; recorded steps return their results, and the first one without
a record is done. A step is identified by its place in the conversation, since forks work in parallel: `3` is the third
answer of the model, `3.0` the first call it asked for, and `3.0/1` the first answer in the fork of that.

A step that must not be repeated is announced before it is done. One that was announced and has no result was in flight
when its worker died: its outcome is looked up where that is possible, else the user decides.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, TypeVar

import anyio
import msgspec
from anyio import to_thread

from clawft.agent.model_call import ModelAnswer
from clawft.agent.sessions import SessionDraft, SessionStore
from clawft.agent.tools.steps import StepDoubt, TurnStep, TurnSteps
from clawft.errors import ClawftError
from clawft.jobs.database import explain_failure, is_transient
from clawft.jobs.engine import AttemptLost, RecordedStep, StepRecorder
from clawft.jobs.events import EventSink
from clawft.jobs.observer import ObservedAttempt
from clawft.jobs.run_state import PendingQuestion, Run, now_text
from clawft.jobs.store import RunStore
from clawft.messages import Answer, ApprovalAnswer, ApprovalNeeded, Event, Noticed, Usage
from clawft.trust.audit.log import note_asked

RunEnding = Literal["", "parked", "lost", "stopped", "cancelled", "deadline"]
R = TypeVar("R")
_INTENT = "!"
_POLL_S = 0.3  # between two looks for an answer
_RETRY_S = (0.5, 1, 2, 5, 10)  # for a database that cannot be written
_place: ContextVar[str] = ContextVar("place", default="")
_served: ContextVar[str] = ContextVar("served", default="")


class RecordedRun:
    """The recorded steps of one run, and how it waits and ends. `stop` ends the running turn cleanly."""

    def __init__(
        self,
        run: Run,
        store: RunStore,
        sink: EventSink,
        recorder: StepRecorder,
        recorded: Sequence[RecordedStep],
        token: str,
    ) -> None:
        self.run = run
        self.store = store
        self.sink = sink
        self.ending: RunEnding = ""
        self.stop: Callable[[], None] = lambda: None
        self.warn: Callable[[ClawftError], None] = lambda _error: None
        self.note: Callable[..., object] = lambda *_, **__: None  # writes a line of the audit log
        self.watched = ObservedAttempt(run)
        self.drafts: dict[str, SessionDraft] = {}
        self.active = 0  # steps that are being done, without those that wait for a person
        self.waiting = 0
        self.awaited: set[str] = set()  # questions whose answers did not arrive here
        self._recorder = recorder
        recorder.skip(max((step.number for step in recorded if step.attempt == run.attempt), default=0))
        self._token = token  # of this process's attempt
        self._done: dict[str, Any] = {}
        self._intents: dict[str, str] = {}
        self._asked: Counter[str] = Counter()
        self.usage = Usage()
        self.cost_usd: float | None = None
        for step in recorded:
            if step.name.endswith(_INTENT):
                self._intents[step.name[:-1]] = str(step.value)
            elif isinstance(step.value, dict):
                self._done[step.name] = step.value
                self._count(step.value)
        self._replayed = len(self._done)
        sink.step = lambda: f"{_place.get()}@{token}" if _place.get() else ""
        sink.served = _served.get

    @property
    def name(self) -> str:
        """The name that distinguishes this run's records from those of other runs, and from those before it was
        restarted."""
        return f"{self.run.id}#{self.run.generation}" if self.run.generation else self.run.id

    @property
    def base(self) -> int | None:
        """The length of the session when the run began; None if it begins now. For a session that was new, no length is
        recorded."""
        return 0 if self.run.base is None and (self._done or self._intents) else self.run.base

    @property
    def steps(self) -> int:
        """The number of steps done."""
        return len(self._done)

    def end(self, ending: RunEnding) -> None:
        """Have the turn end, since the run cannot go on here and now."""
        self.ending = self.ending or ending
        self.stop()

    def served(self, key: str) -> str:
        """Return the name under which the text of a recorded answer was sent; '' for one that is not recorded."""
        return f"{key}@{self._done[key].get('token', '')}" if key in self._done else ""

    async def do(self, key: str, step: TurnStep, work: Callable[[], Awaitable[R]], result: Any, doubt: StepDoubt) -> R:
        """A step: what came of it before, or what comes of it now."""
        if key in self._done:
            before: R = msgspec.convert(self._done[key]["result"], result)
            return before
        if self.ending:
            self.stop()
            await anyio.sleep_forever()
        self._tell_going_on()
        started, begun = now_text(), time.monotonic()
        self.active += 1
        try:
            with self.watched.step(key, step, self._done):
                if not step.repeatable:
                    known = await self._announce(key, step, doubt)
                    if known is not None:
                        return await self._keep(key, step, known, started, begun)
                return await self._keep(key, step, await work(), started, begun)
        finally:
            self.active -= 1

    async def ask(self, question: PendingQuestion) -> tuple[str, str]:
        """The answer of a person, and who they are, however long it takes; the run may end here and go on elsewhere."""
        key = question.key
        self.active, self.waiting = self.active - 1, self.waiting + 1
        self.awaited.add(key)
        try:
            while True:
                answer = await self.persist(lambda: self.store.take(self.run.id, key))
                if answer is not None:
                    self.awaited.discard(key)
                    self.watched.answered(question)
                    return answer
                await anyio.sleep(_POLL_S)
        finally:
            self.active, self.waiting = self.active + 1, self.waiting - 1

    async def approve(self, event: ApprovalNeeded) -> Answer | ApprovalAnswer:
        """Return whether a tool may do what it asks for."""
        if self.run.request.yes and not event.dangerous:
            return "flag"
        place = _place.get()
        while True:
            self._asked[place] += 1
            asked, is_new = await self._write_down(f"{place}?{self._asked[place]}", "approval", event)
            # What a call asked first need not be asked again, if it was answered for good: then the answer to that must
            # not be taken for one to what it asks next.
            if _is_same(asked.event, event):
                break
        note_asked(again=not is_new)
        answer, by = await self.ask(asked)
        return ApprovalAnswer(msgspec.convert(answer, Answer), by)

    async def _write_down(
        self, key: str, kind: Literal["approval", "in-flight"], event: ApprovalNeeded
    ) -> tuple[PendingQuestion, bool]:
        """A question where a person sees it, or the one that was asked there before; and whether it is new."""
        question = PendingQuestion(self.run.id, key, kind, event, now_text())
        there = await self.persist(lambda: self.store.ask(question))
        return there, there is question

    async def commit(self) -> None:
        """Make what was said part of the sessions. Raises: ClawftError."""
        for draft in self.drafts.values():
            await to_thread.run_sync(draft.commit, self.run.id)
            for diagnostic in draft.diagnostics:
                if diagnostic.code == "session-summary-left-out":
                    self._notice(diagnostic.code, diagnostic.message)

    # steps that are not to be repeated

    async def _announce(self, key: str, step: TurnStep, doubt: StepDoubt) -> Any:
        """Say that a step is about to be done; what came of it, if it was in flight and need not be done now."""
        was_with = self._intents.get(key)
        if was_with not in (None, self._token) and await self._may_have_acted(key):
            known = await self._settle(key, step, doubt)
            if known is not None:
                return known
        if was_with != self._token:
            await self._record(f"{key}{_INTENT}", self._token, time.monotonic())
            self._intents[key] = self._token
        return None

    async def _may_have_acted(self, key: str) -> bool:
        """Return whether a step that was announced got further than a question: tools ask before they act."""
        questions = await self.persist(lambda: self.store.questions(self.run.id, open_only=False))
        own = [question for question in questions if question.kind == "approval" and question.key.startswith(f"{key}?")]
        return not own or own[-1].taken

    async def _settle(self, key: str, step: TurnStep, doubt: StepDoubt) -> Any:
        """Find the result of a step that was in flight; None if it must be done now."""
        what = f"{step.name} {step.summary}".strip()
        found = await doubt.check() if doubt.check else None
        self.watched.doubted(key, step, "asked" if found is None else "checked")
        if found is not None:
            outcome = "had not been done, and is done now" if found == "not-done" else "had been done"
            self._notice("step-checked", f"{what} was in flight when the run was cut short; it {outcome}")
            return None if found == "not-done" else found
        self._notice(
            "step-in-flight", f"{what} was in flight when the run was cut short; nobody knows whether it was done"
        )
        question = (
            f"{what} was in flight when the run was cut short. Do it again, or go on as if it was done or not done?"
        )
        event = ApprovalNeeded(
            call=key, tool=step.name, question=question, reason="It must not be done twice unseen", dangerous=True
        )
        self.tell(event)
        asked, _ = await self._write_down(f"{key}~{self._intents[key]}", "in-flight", event)
        answer, by = await self.ask(asked)
        detail = {"answer": answer, "by": by, "tool": step.name, "grave": True, "call": key}
        self.note("approval", question, decision="allow" if answer == "again" else "deny", rule=by, detail=detail)
        return None if answer == "again" else doubt.tell(answer)

    # recording

    async def _keep(self, key: str, step: TurnStep, result: R, started: str, begun: float) -> R:
        plain = msgspec.to_builtins(result)
        value: dict[str, Any] = {
            "kind": step.kind,
            "name": step.name,
            "summary": step.summary,
            "started": started,
            "ms": round((time.monotonic() - begun) * 1000),
            "result": plain,
            "worker": self.run.worker,
            "token": self._token,
        }
        if isinstance(result, ModelAnswer) and result.usage is not None:
            value["usage"] = msgspec.to_builtins(result.usage)
            value["cost_usd"] = result.cost_usd
        await self._record(key, value, begun)
        self._done[key] = value
        self._count(value)
        return result

    def _count(self, value: dict[str, Any]) -> None:
        self.usage = self.usage.merge(msgspec.convert(value.get("usage") or {}, Usage))
        if value.get("cost_usd") is not None:
            self.cost_usd = (self.cost_usd or 0.0) + value["cost_usd"]

    async def _record(self, name: str, value: Any, begun: float) -> None:
        started = time.time() - (time.monotonic() - begun)
        await self.persist(lambda: self._recorder.record(name, value, started), shield=not name.endswith(_INTENT))

    async def persist(self, call: Callable[[], R], *, shield: bool = False) -> R:
        """Return the result of a call of the store, as soon as the database is available; the turn ends if the run is
        lost.

        With `shield` a cancellation waits for the call, so that what was done is recorded.
        """
        try:
            with anyio.CancelScope(shield=shield):
                return await self.retry_until_written(lambda: to_thread.run_sync(call))
        except AttemptLost:
            self.end("lost")
        await anyio.sleep_forever()  # until the turn is ended
        raise AssertionError

    async def retry_until_written(self, write: Callable[[], Awaitable[R]]) -> R:
        """Try until the database can be used: what was done must not be lost with it. Raises: AttemptLost."""
        attempt = 0
        while True:
            try:
                return await write()
            except Exception as error:
                if not is_transient(error):
                    raise
                self.warn(error if isinstance(error, ClawftError) else explain_failure(error))
                self.watched.retried()
            await anyio.sleep(_RETRY_S[min(attempt, len(_RETRY_S) - 1)])
            attempt += 1

    def _tell_going_on(self) -> None:
        """Once, where a run goes on after steps that are recorded."""
        if self._replayed:
            done = f"{self._replayed} step{'s' * (self._replayed != 1)}"
            self._notice("run-resumed", f"The run goes on after {done}, on {self._token.partition('~')[0]}", "note")
            self._replayed = 0

    def _notice(self, code: str, message: str, severity: Literal["warning", "note"] = "warning") -> None:
        self.tell(Noticed(code=code, message=message, severity=severity))

    def tell(self, event: Event) -> None:
        """An event of the run itself."""
        self.sink.put(msgspec.structs.replace(event, at=now_text(), session=self.run.session))


class DurableSteps(TurnSteps):
    """The steps of one conversation of a run."""

    def __init__(self, recorded_run: RecordedRun, prefix: str = "") -> None:
        self.owner = recorded_run.run.id
        self._recorded_run = recorded_run
        self._prefix = prefix
        self._answers = 0
        self._commands: Counter[str] = Counter()

    @property
    def ending(self) -> str:
        return self._recorded_run.ending

    async def run(
        self,
        step: TurnStep,
        work: Callable[[], Awaitable[R]],
        result: Any,
        *,
        at: str = "",
        doubt: StepDoubt | None = None,
    ) -> R:
        is_answer = step.kind == "model" and not at
        key = f"{self._prefix}{self._answers + 1}" if is_answer else self._key(at)
        _served.set(self._recorded_run.served(key))
        with _at(key):
            done = await self._recorded_run.do(key, step, work, result, doubt or StepDoubt())
        self._answers += is_answer  # one that broke off, and is asked for again, has the same place
        return done

    @contextmanager
    def within(self, at: str) -> Iterator[None]:
        with _at(f"{self._here}.{at}"):
            yield

    def below(self) -> "DurableSteps":
        return DurableSteps(self._recorded_run, f"{self._here}/")

    def name(self, at: str) -> str:
        return f"{self._recorded_run.name}/{self._here}.{at}"

    def mark(self) -> str:
        return hashlib.sha256(f"{self._recorded_run.name} {self._here}".encode()).hexdigest()[:6]

    def open_session(self, sessions: SessionStore, key: str, cwd: str) -> SessionDraft:
        base = self._recorded_run.base if not self._prefix else 0
        draft = self._recorded_run.drafts[key] = sessions.open_draft(key, cwd=cwd, base=base)
        return draft

    @property
    def _here(self) -> str:
        place = _place.get()
        return place if place and place.startswith(self._prefix) else f"{self._prefix}{self._answers}"

    def _key(self, at: str) -> str:
        here = self._here
        if at:
            return f"{here}.{at}"
        self._commands[here] += 1
        return f"{here}.c{self._commands[here]}"


def _is_same(one: ApprovalNeeded, other: ApprovalNeeded) -> bool:
    """Return whether two questions ask for the same, for the same reason."""
    asked = [(event.tool, event.question, event.reason, event.dangerous) for event in (one, other)]
    return asked[0] == asked[1]


@contextmanager
def _at(place: str) -> Iterator[None]:
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)
