"""One attempt of a run, from its row to its end: the turn with its recorded steps, cancellation, and the result."""

import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Protocol

import anyio
import msgspec
from anyio import to_thread
from msgspec import Struct

from clawft.agent.conversation import open_conversation
from clawft.agent.fork import prepare_background_fork
from clawft.agent.loop import work_turn
from clawft.agent.run_request import RunRequest, TurnRequest
from clawft.agent.runtime import Conversation, Runtime
from clawft.agent.tool_permission import name_question
from clawft.errors import ClawftError
from clawft.jobs.database import is_transient
from clawft.jobs.engine import AttemptLost, RecordedStep, RunEngine, StepRecorder
from clawft.jobs.events import EventSink, EventWriter
from clawft.jobs.observer import ObservedAttempt, ObservedOutcome
from clawft.jobs.recorded_run import DurableSteps, RecordedRun, RunEnding
from clawft.jobs.run_state import Run, RunProblem, RunStatus
from clawft.jobs.store import PROGRESS, EventRow, RunStore
from clawft.messages import Event, Noticed, TurnFailed, TurnFinished
from clawft.trust.modes import get_mode

_TICK_S = 0.2
_PARK_S = 1.0  # how long a run waits for a person before it lets go of its worker
_BUSY_S = (0.2, 0.5, 1, 2, 4, 8, 15)  # while another process writes the session

Opener = Callable[[RunRequest], AbstractAsyncContextManager[Runtime]]


class AgentlessTask(Protocol):
    """Does a run that needs no agent, as a scan: its result as a text. Each `step` is recorded."""

    def __call__(self, request: RunRequest, steps: DurableSteps) -> Awaitable[str]: ...


class AttemptContext(Struct, frozen=True):
    """The objects that all attempts of a worker share."""

    store: RunStore
    engine: RunEngine
    scribe: EventWriter
    warn: Callable[[ClawftError], None]


class Attempt:
    """An attempt while it is done here. Others may end it: by a person's word, or when the worker stops."""

    def __init__(self, run: Run, context: AttemptContext, recorder: StepRecorder, *, fresh: bool) -> None:
        self.run = run
        self._store = context.store.guarded(recorder.guard)
        self._engine = context.engine
        self._warn = context.warn
        self._scribe = context.scribe
        self._recorder = recorder
        self._fresh = fresh  # nobody began it before
        self._last: TurnFinished | TurnFailed | None = None
        self._result: str | None = None
        self._begun = time.monotonic()
        self._noted: tuple[Any, ...] = ()
        self._ending: RunEnding = ""
        self._error = ""
        self.recorded_run: RecordedRun | None = None
        self.watched = ObservedAttempt(run)

    def end(self, ending: RunEnding, *, at_once: bool = True) -> None:
        """Have it end: at once, or before its next step."""
        self._ending = self._ending or ending
        if self.recorded_run is not None:
            self.recorded_run.ending = self.recorded_run.ending or ending
            if at_once or not self.recorded_run.active:
                self.recorded_run.stop()

    def is_lost(self) -> bool:
        """Return whether another worker has it by now; if not, it is known to be here again. Raises: ClawftError."""
        try:
            return self._store.begin(self.run.id, self.run.attempt, self.run.worker) is None
        except AttemptLost:
            return True

    @property
    def is_idle(self) -> bool:
        """Return whether no step is being done right now."""
        return self.recorded_run is None or not self.recorded_run.active

    def outcome(self, status: str) -> ObservedOutcome:
        """Return the outcome for observers, when the attempt has ended with a status."""
        if self.recorded_run is None:
            return ObservedOutcome(status)
        done = self.recorded_run
        error = self._error if status else done.ending
        return ObservedOutcome(status, error, done.steps, done.usage, done.cost_usd)

    async def do(self, opened: Opener, tasks: dict[str, AgentlessTask]) -> str:
        """Do it to its end, or until it must wait or go elsewhere; the status it has then. Raises: AttemptLost."""
        status = ""
        while not status:  # again at once, if an answer came while it was about to wait
            recorded_run = self.recorded_run = await self._load_recorded_run()
            self._scribe.follow(self)
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch, recorded_run)
                try:
                    await self._perform(recorded_run, opened, tasks)
                finally:
                    group.cancel_scope.cancel()
            try:
                status = await self._conclude(recorded_run)
            finally:
                self._scribe.leave(self)
        return status

    async def _load_recorded_run(self) -> RecordedRun:
        run = self.run
        sink = self._sink = EventSink(self._store, run.id)
        recorded: list[RecordedStep] = []
        if not self._fresh:
            await sink.open()
            recorded = await to_thread.run_sync(self._engine.recorded, run.id, run.attempt)
        self._fresh = False
        token = f"{run.worker}~{uuid.uuid4().hex[:8]}"
        recorded_run = RecordedRun(run, self._store, sink, self._recorder, recorded, token)
        recorded_run.warn = self._warn
        recorded_run.watched = self.watched
        recorded_run.watched.why_ending = lambda: recorded_run.ending
        recorded_run.ending = self._ending
        return recorded_run

    async def _perform(self, recorded_run: RecordedRun, opened: Opener, tasks: dict[str, AgentlessTask]) -> None:
        request = self.run.request
        try:
            if request.kind in tasks:
                with anyio.CancelScope() as scope:
                    recorded_run.stop = scope.cancel
                    self._result = await tasks[request.kind](request, DurableSteps(recorded_run))
                return
            async with opened(request) as runtime:
                await self._talk(recorded_run, runtime)
        except AttemptLost:
            recorded_run.end("lost")
        except ClawftError as error:
            code = error.exit_code
            self._take(TurnFailed(code=error.code, message=str(error), hint=error.hint, exit_code=code))
        except Exception as error:  # a bug must not leave a run behind that nobody does
            self._take(TurnFailed(code="internal", message=f"Something went wrong inside: {error!r}"))

    async def _talk(self, recorded_run: RecordedRun, runtime: Runtime) -> None:
        request = self.run.request
        recorded_run.note = partial(runtime.audit.tell, session=self.run.session)
        agent = runtime.skills.find_agent(request.agent)
        opened = open_conversation(
            runtime,
            agent,
            key=self.run.session,
            approve=recorded_run.approve,
            lineage=request.lineage,
            steps=DurableSteps(recorded_run),
        )
        async with opened as conversation:
            await self._keep_base(recorded_run)
            await self._remember_answers(conversation)
            recorded_run.stop = conversation.cancel
            if recorded_run.ending:
                return
            if request.mode:
                conversation.set_mode(get_mode(request.mode), "--mode")
            await work_turn(conversation, self._make_turn(conversation), self._take)

    def _make_turn(self, conversation: Conversation) -> TurnRequest:
        request = self.run.request
        if request.lineage is not None:
            return prepare_background_fork(conversation, request)
        return TurnRequest(
            request.text, model=request.model, skill=request.skill, words=request.words, source=request.source
        )

    async def _keep_base(self, recorded_run: RecordedRun) -> None:
        """Record the length of the session at the run's first start, so that a restart of the run sees the session as
        it was then."""
        base = recorded_run.drafts[self.run.session].base
        if self.run.base is None and base:  # a session that is new needs no note
            keep = partial(self._store.update, self.run.id, self.run.attempt, base=base)
            await recorded_run.retry_until_written(lambda: to_thread.run_sync(keep))

    async def _remember_answers(self, conversation: Conversation) -> None:
        """Restore the answers that the user gave `for this session`, so that they hold after a restart too."""
        if not self.recorded_run or not self.recorded_run.steps:
            return
        ask = partial(self._store.questions, self.run.id, open_only=False)
        questions = await self.recorded_run.retry_until_written(lambda: to_thread.run_sync(ask))
        conversation.approved |= {
            name_question(question.event) for question in questions if question.answer == "session" and question.taken
        }

    def _take(self, event: Event) -> None:
        assert self.recorded_run is not None
        if isinstance(event, TurnFinished | TurnFailed):
            self._last = event  # the last word is said when it is sure to be the last
        else:
            self.recorded_run.sink.put(event)

    # beside the turn

    async def _watch(self, recorded_run: RecordedRun) -> None:
        """Let the run wait without a worker, and end it when its time is over."""
        idle_since: float | None = None
        limit = self.run.request.deadline_s
        while True:
            await anyio.sleep(_TICK_S)
            waits = recorded_run.waiting > 0 and recorded_run.active <= 0
            idle_since = (idle_since or time.monotonic()) if waits else None
            if idle_since is not None and time.monotonic() - idle_since > _PARK_S:
                recorded_run.end("parked")
            if limit is not None and self._worked_ms() > limit * 1000 and not waits:
                recorded_run.end("deadline")

    def take_events(self) -> list[EventRow]:
        """Return the events since the last call."""
        return self._sink.take()

    def take_progress(self) -> dict[str, Any] | None:
        """Return the progress of the run, None where it did not change."""
        assert self.recorded_run is not None
        seen = self._progress(self.recorded_run)
        if seen == self._noted:
            return None
        self._noted = seen
        values = (*seen, self._worked_ms())
        named = {f"new_{name}": value for name, value in zip(PROGRESS, values, strict=True)}
        return {"of": self.run.id, "in_attempt": self.run.attempt, **named}

    def _progress(self, recorded_run: RecordedRun) -> tuple[Any, ...]:
        return (
            recorded_run.steps,
            recorded_run.usage.input_tokens,
            recorded_run.usage.output_tokens,
            recorded_run.cost_usd,
        )

    def _worked_ms(self) -> int:
        return self.run.worked_ms + round((time.monotonic() - self._begun) * 1000)

    # the end

    async def _conclude(self, recorded_run: RecordedRun) -> str:
        """Keep what came of it; everything that is written here may be written again. Raises: AttemptLost."""
        if recorded_run.ending in ("lost", "stopped"):
            await recorded_run.retry_until_written(self._scribe.flush)
            raise AttemptLost
        return await (self._park(recorded_run) if recorded_run.ending == "parked" else self._close(recorded_run))

    async def _close(self, recorded_run: RecordedRun) -> RunStatus:
        """The run is over."""
        status, problem = self._judge(recorded_run)
        if status == "done":
            try:
                await self._commit(recorded_run)
            except ClawftError as error:
                status, problem = "failed", RunProblem(error.code, str(error), error.hint)
        if self._last is not None:
            recorded_run.sink.put(self._last)
        await recorded_run.retry_until_written(self._scribe.flush)
        await self._finish(recorded_run, status, problem)
        return status

    async def _park(self, recorded_run: RecordedRun) -> str:
        await recorded_run.retry_until_written(self._scribe.flush)
        if not recorded_run.awaited:  # the answer came as it was about to wait, and was taken
            return ""
        worked, values = self._worked_ms(), self._values(recorded_run)
        park = partial(
            self._store.park, self.run.id, self.run.attempt, recorded_run.awaited, worked_ms=worked, **values
        )
        return "waiting" if await recorded_run.retry_until_written(lambda: to_thread.run_sync(park)) else ""

    def _judge(self, recorded_run: RecordedRun) -> tuple[RunStatus, RunProblem | None]:
        if recorded_run.ending == "deadline":
            limit = self.run.request.deadline_s
            return "failed", RunProblem(
                "run-deadline", f"It worked longer than {limit:g} seconds", "See runs.deadline_s"
            )
        if recorded_run.ending == "cancelled":
            return "cancelled", None
        if self._result is not None:
            return "done", None
        last = self._last
        if isinstance(last, TurnFailed):
            return "failed", RunProblem(last.code, last.message, last.hint)
        assert last is not None  # the loop ends every turn with one of the two
        return ("cancelled" if last.stop == "cancelled" else "done"), None

    async def _commit(self, recorded_run: RecordedRun) -> None:
        """Make the turn part of its session, as soon as nobody else writes there. Raises: ClawftError."""
        pauses = iter(_BUSY_S)
        while (pause_s := next(pauses, None)) is not None:
            try:
                await recorded_run.commit()
                return
            except ClawftError as error:
                if error.__cause__ is not None and is_transient(error.__cause__):
                    self._warn(
                        ClawftError(error.code, str(error), hint="Make room on the disk; runs go on by themselves")
                    )
                    pauses = iter(_BUSY_S[2:])  # a disk that is full is waited for
                elif error.code != "session-busy":
                    raise
            await anyio.sleep(pause_s)
        # Another process may have it open for hours; the worker is needed.
        message = f"The session {self.run.session} was written by somebody else for too long, so this is no part of it"
        hint = f"What was done and said: weft runs watch {self.run.id}"
        recorded_run.tell(Noticed(code="run-not-in-session", message=message, severity="warning", hint=hint))

    async def _finish(self, recorded_run: RecordedRun, status: RunStatus, problem: RunProblem | None) -> None:
        self._error = problem.code if problem else ""
        result = self._last.text if isinstance(self._last, TurnFinished) else self._result
        result = result and result.replace("\0", "\N{REPLACEMENT CHARACTER}")  # which no server takes
        error = msgspec.json.encode(problem).decode() if problem else None
        worked, values = self._worked_ms(), self._values(recorded_run)
        recorded = {"result": result, "error": error, "worked_ms": worked, **values}
        finish = partial(self._store.finish, self.run.id, self.run.attempt, status, **recorded)
        await recorded_run.retry_until_written(lambda: to_thread.run_sync(finish))

    def _values(self, recorded_run: RecordedRun) -> dict[str, Any]:
        return dict(zip(PROGRESS, self._progress(recorded_run), strict=False))
