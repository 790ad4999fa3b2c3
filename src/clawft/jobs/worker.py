"""`weft worker`: a process that takes runs from queues and does them, and goes on with those of workers that died."""

import os
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import anyio
import msgspec
import sqlalchemy as sa
from anyio import to_thread
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.jobs.attempt import AgentlessTask, Attempt, AttemptContext, Opener
from clawft.jobs.database import explain_failure, identify, is_transient
from clawft.jobs.engine import AttemptLost, EngineWorker, RecordedStep, RunEngine, StepRecorder
from clawft.jobs.events import EventWriter
from clawft.jobs.observer import ObservedAttempt, ObservedOutcome, RunObserver
from clawft.jobs.run_state import Run, RunProblem, WorkerRow, now_text
from clawft.jobs.store import RunStore
from clawft.jobs.worker_registry import LivenessWatch, this_host, this_mark

_GRACE_S = 20.0  # for steps that are being done when the worker is to stop
_REPEAT_S = 30.0  # before the same trouble is said again
_MAX_DEATHS = 10  # of workers, at the same step of a run
_AGAIN_S = (0.2, 0.5, 1, 2, 5)  # before an attempt is begun again that the database did not let begin

Chore = Callable[[], Awaitable[None]]


class WorkerPlan(Struct, frozen=True):
    """The configuration of a worker. `idle_s`: how long it stays with nothing to do; None for ever."""

    queues: tuple[str, ...]
    concurrency: int
    lease_s: float
    poll_s: float
    idle_s: float | None = None


class RunWorker:
    """One worker. `tell` gets a line for a person, `warn` what is wrong."""

    def __init__(
        self,
        database: sa.Engine,
        plan: WorkerPlan,
        opened: Opener,
        tasks: Mapping[str, AgentlessTask],
        tell: Callable[[str], None],
        warn: Callable[[ClawftError], None],
    ) -> None:
        self.id = f"{this_host().partition('/')[0]}-{uuid.uuid4().hex[:8]}"
        self._engine = RunEngine(database)
        self.store = RunStore(database, self._engine.enqueue)
        self._database = database
        self._file = identify(database.url)
        self._plan = plan
        self._opened = opened
        self._tasks = dict(tasks)
        self._tell = tell
        self._warn_person = warn
        self._warned: dict[str, float] = {}
        self._worker = EngineWorker(database, self.id, self._perform)
        self._attempts: dict[str, Attempt] = {}
        self._context = AttemptContext(self.store, self._engine, EventWriter(self.store, self.id, self.warn), self.warn)
        self._watch = LivenessWatch(plan.lease_s)
        self._beats = 0
        self._last_beat = time.monotonic()
        self._beating_since: float | None = None
        self._strays: dict[str, float] = {}  # since when each is one
        self._looked_for_strays = 0.0
        self._is_struck = threading.Event()
        self._is_over = threading.Event()
        self._is_hurried = False
        self._stopping: anyio.Event
        self._worked = time.monotonic()
        self.chores: list[Chore] = []
        self.observer = RunObserver()

    async def run(self) -> None:
        """Work until `stop`, or until there was nothing to do for long enough. Raises: ClawftError."""
        self._stopping = anyio.Event()
        await to_thread.run_sync(self._enrol)
        try:
            self._worker.launch(self._plan.queues, self._plan.concurrency, self._plan.poll_s)
        except Exception:  # whatever the engine says of it: a file that is gone meanwhile is no bug
            if self._is_orphaned():
                return
            raise
        beating = threading.Thread(target=self._beat, name="beat", daemon=True)
        beating.start()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._look_around)
                group.start_soon(self._context.scribe.run)
                for chore in self.chores:
                    group.start_soon(self._repeat, chore)
                await self._stopping.wait()
                await self._finish()
                group.cancel_scope.cancel()
        finally:
            self._is_over.set()
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._leave)

    def stop(self) -> None:
        """Begin no more, end what is being done in order, and leave; said twice, cut short what is being done."""
        self._is_hurried = self._stopping.is_set()
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    # attempts

    async def _perform(self, run: str, number: int, recorder: StepRecorder) -> str:
        """Do an attempt; where the database cannot be used, again from its start, until it can. Raises: AttemptLost."""
        tries = 0
        while True:
            try:
                return await self._attempt(run, number, recorder)
            except AttemptLost:
                raise
            except Exception as error:
                if not is_transient(error):
                    problem = RunProblem("internal", f"Something went wrong inside: {error!r}")
                    if isinstance(error, ClawftError):
                        problem = RunProblem(error.code, str(error), error.hint)
                    await self._fail(run, number, recorder, problem)
                    return "failed"
                self.warn(error if isinstance(error, ClawftError) else explain_failure(error))
            await anyio.sleep(_AGAIN_S[min(tries, len(_AGAIN_S) - 1)])
            tries += 1

    async def _fail(self, run: str, number: int, recorder: StepRecorder, problem: RunProblem) -> None:
        encoded = msgspec.json.encode(problem).decode()
        finish = partial(self.store.guarded(recorder.guard).finish, run, number, "failed", error=encoded)
        try:
            await to_thread.run_sync(finish)
            row = await to_thread.run_sync(self.store.get, run)
        except ClawftError as error:
            self.warn(error)
            raise AttemptLost from error  # it stays in the record, to be picked up later
        ObservedAttempt(row, self.observer).ended(ObservedOutcome("failed", problem.code, row.steps))
        self._tell(f"{run}  failed  {problem.message}")

    async def _attempt(self, run: str, number: int, recorder: StepRecorder) -> str:
        while self._is_struck.is_set() or time.monotonic() - self._last_beat > self._plan.lease_s:
            await anyio.sleep(0.05)  # it was silent, so what it has now may be another's already
        taken = await to_thread.run_sync(self.store.guarded(recorder.guard).begin, run, number, self.id)
        if taken is None:
            return "superseded"
        row, is_first = taken
        if row.unreadable and row.error:
            await self._fail(run, number, recorder, row.error)
            return "failed"
        if row.deaths >= _MAX_DEATHS:
            message = f"Workers that did it died {row.deaths} times in a row, without getting any further"
            hint = f"See what ended them, as a lack of memory; then: weft runs retry {run}"
            await self._fail(run, number, recorder, RunProblem("run-deadly", message, hint))
            return "failed"
        attempt = self._attempts[run] = Attempt(row, self._context, recorder, fresh=is_first)
        attempt.watched = ObservedAttempt(row, self.observer)
        attempt.watched.begun(is_first=is_first)
        status = ""
        if self._stopping.is_set():
            attempt.end("stopped")
        if row.cancel:
            attempt.end("cancelled")
        self._tell(f"{run}  {'begins' if is_first else 'goes on'}  {row.title}")
        try:
            status = await attempt.do(self._opened, self._tasks)
        finally:
            if self._attempts.get(run) is attempt:
                del self._attempts[run]
            attempt.watched.ended(attempt.outcome(status))
            self._worked = time.monotonic()
        self._tell(f"{run}  {status}")
        return status

    async def _finish(self) -> None:
        """Let the steps that are being done come to their end, within bounds."""
        self._worker.pause()
        with suppress(ClawftError):
            await to_thread.run_sync(self.store.roster.mark_stopping, self.id)
        for attempt in tuple(self._attempts.values()):
            attempt.end("stopped", at_once=False)
        with anyio.move_on_after(_GRACE_S):
            while self._attempts and not self._is_hurried:
                for attempt in tuple(self._attempts.values()):
                    if attempt.is_idle:
                        attempt.end("stopped")
                await anyio.sleep(0.05)
        for attempt in tuple(self._attempts.values()):
            attempt.end("stopped")
        with anyio.move_on_after(_GRACE_S / 4):
            while self._attempts:
                await anyio.sleep(0.05)

    # looking around

    async def _look_around(self) -> None:
        """Every so often: who died, what is to be ended, and whether there is anything to do."""
        while not self._is_orphaned():
            self._tell_of_silence()
            try:
                await to_thread.run_sync(self._bury)
                for run in await to_thread.run_sync(self.store.cancelled_on, self.id):
                    if run in self._attempts:
                        self._attempts[run].end("cancelled")
                await to_thread.run_sync(self._pick_up)
                await self._check_idle()
            except ClawftError as error:
                self.warn(error)
            if self._is_struck.is_set():
                await self._return()
            await anyio.sleep(min(1.0, self._plan.lease_s / 4))

    def _is_orphaned(self) -> bool:
        """Return whether the file of runs is another, or none: what this process would do then, nobody could see."""
        if identify(self._database.url) == self._file:
            return False
        message = "The file of runs was removed or replaced, so this worker ends"
        self.warn(ClawftError("runs-gone", message, path=str(self._database.url.database)))
        self.stop()
        return True

    def _bury(self) -> None:
        """Take over from workers that died."""
        holders = self._worker.holders()
        workers = self.store.roster.workers()
        dead_workers = [row for row in self._watch.find_dead(workers, self._last_beat) if row.id != self.id]
        for row in dead_workers:
            held = self.observer.find_held(row)
            if self.store.roster.remove_if_silent(row.id, row.beat):
                self.observer.died(row, held)
                self._tell(f"the worker {row.id} is gone; its runs go on elsewhere")
        known = {row.id for row in (self.store.roster.workers() if dead_workers else workers)} | {self.id}
        dead = [holder for holder in holders if holder not in known]
        if dead:
            self.store.orphan(dead)
            self._worker.recover(dead)

    def _tell_of_silence(self) -> None:
        """Warn when the database has accepted no write for longer than a lease, since another program holds it."""
        since, now = self._beating_since, time.monotonic()
        if since is not None and now - since > self._plan.lease_s:
            url = self._database.url
            is_file = url.get_backend_name() == "sqlite"
            message = f"The database of runs took no write for {now - since:.0f} s; runs wait, and go on by themselves"
            hint = "See who holds it: " + (f"fuser -v {url.database}" if is_file else "pg_stat_activity, on the server")
            self.warn(ClawftError("runs-locked", message, hint=hint))

    def _pick_up(self) -> None:
        """Queue again the attempts that the records assign to this worker but that it does not perform: the answer to a
        claim got lost, or the worker was thought dead."""
        now = time.monotonic()
        if now - self._looked_for_strays < self._plan.lease_s:
            return
        self._looked_for_strays = now
        strays = self._worker.strays()
        self._strays = {stray: self._strays.get(stray, now) for stray in strays}
        self._worker.put_back(attempt for attempt, since in self._strays.items() if now - since >= self._plan.lease_s)
        for run, number in self._worker.broken():
            if self.store.begin(run, number, self.id):  # so it is neither over nor tried again
                problem = RunProblem("run-unreadable", "The engine could not begin it: what it knows of it is damaged")
                self.store.finish(run, number, "failed", error=msgspec.json.encode(problem).decode())
        if foreign := self.store.count_foreign():
            message = f"{foreign} runs were begun by another version of weft, which alone can go on with them"
            hint = "Start a worker of that version; or begin them anew: weft runs cancel, then weft runs retry --fresh"
            self.warn(ClawftError("runs-other-version", message, hint=hint))

    async def _check_idle(self) -> None:
        idle_s = self._plan.idle_s
        if idle_s is None or self._attempts or time.monotonic() - self._worked < idle_s:
            return
        queued = 0
        for queue in self._plan.queues:
            queued += (await to_thread.run_sync(self.store.counts, "", queue)).get("queued", 0)
        if not queued:
            self.stop()

    async def _repeat(self, chore: Chore) -> None:
        while True:
            try:
                await chore()
            except ClawftError as error:
                self.warn(error)
            await anyio.sleep(self._plan.lease_s / 4)

    # living

    def _enrol(self) -> None:
        plan = self._plan
        self.store.roster.register_worker(
            WorkerRow(
                id=self.id,
                host=this_host(),
                pid=os.getpid(),
                mark=this_mark(),
                queue=",".join(plan.queues),
                concurrency=plan.concurrency,
                started=now_text(),
                beat=self._beats,
                seen=now_text(),
                stopping=False,
                stays=plan.idle_s is None,
            )
        )

    def _beat(self) -> None:
        """In a thread of its own: a busy worker lives too."""
        while not self._is_over.wait(self._plan.lease_s / 4):
            self._beats += 1
            self._beating_since = time.monotonic()
            try:
                if not self.store.roster.beat(self.id, self._beats):
                    self._is_struck.set()
                self._last_beat = time.monotonic()
            except ClawftError as error:
                self.warn(error)
            self._beating_since = None

    async def _return(self) -> None:
        """Others thought this one dead: what it was doing is theirs now."""
        message = "This worker was silent for longer than its lease, so others took over its runs; it begins anew"
        self.warn(ClawftError("worker-silent", message, hint="Raise runs.lease_s if the machine is often this busy"))
        try:
            await to_thread.run_sync(self._enrol)
            self._is_struck.clear()
            for attempt in tuple(self._attempts.values()):
                if await to_thread.run_sync(attempt.is_lost):
                    attempt.end("lost")
        except ClawftError as error:
            self.warn(error)

    def _leave(self) -> None:
        """Stop the worker, so that others take over its runs at once."""
        self._worker.close()
        with suppress(ClawftError):
            self.store.orphan([self.id], died=False)
            self.store.roster.remove_if_silent(self.id, None)

    def recorded(self, run: Run) -> Sequence[RecordedStep]:
        """The steps of a run that are done."""
        return self._engine.recorded(run.id, run.attempt)

    def warn(self, error: ClawftError) -> None:
        """Say what is wrong, but not over and over."""
        now = time.monotonic()
        if now - self._warned.get(error.code, -_REPEAT_S) >= _REPEAT_S:
            self._warned[error.code] = now
            self._warn_person(error)
