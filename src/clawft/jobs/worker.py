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
from clawft.run.durable.database import describe, identify, is_passing
from clawft.run.durable.engine import Engine, Lost, Recorded, Recorder
from clawft.run.durable.engine import Worker as EngineWorker
from clawft.run.durable.lease import Watch, this_host, this_mark
from clawft.run.durable.observe import Observer, Outcome, Watched
from clawft.run.durable.sink import Scribe
from clawft.run.durable.store import RunStore
from clawft.run.durable.values import Problem, Run, WorkerRow, now_text
from clawft.run.durable.work import Attempt, Means, Opener, Task

__all__ = ["Chore", "Plan", "RunWorker"]

_GRACE_S = 20.0  # for steps that are being done when the worker is to stop
_REPEAT_S = 30.0  # before the same trouble is said again
_MAX_DEATHS = 10  # of workers, at the same step of a run
_AGAIN_S = (0.2, 0.5, 1, 2, 5)  # before an attempt is begun again that the database did not let begin

Chore = Callable[[], Awaitable[None]]


class Plan(Struct, frozen=True):
    """How a worker works. `idle_s`: how long it stays with nothing to do; None for ever."""

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
        plan: Plan,
        opened: Opener,
        tasks: Mapping[str, Task],
        tell: Callable[[str], None],
        warn: Callable[[ClawftError], None],
    ) -> None:
        self.id = f"{this_host().partition('/')[0]}-{uuid.uuid4().hex[:8]}"
        self._engine = Engine(database)
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
        self._means = Means(self.store, self._engine, Scribe(self.store, self.id, self.warn), self.warn)
        self._watch = Watch(plan.lease_s)
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
        self.observer = Observer()

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
                group.start_soon(self._means.scribe.run)
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

    async def _perform(self, run: str, number: int, recorder: Recorder) -> str:
        """Do an attempt; where the database cannot be used, again from its start, until it can. Raises: Lost."""
        tries = 0
        while True:
            try:
                return await self._attempt(run, number, recorder)
            except Lost:
                raise
            except Exception as error:
                if not is_passing(error):
                    problem = Problem("internal", f"Something went wrong inside: {error!r}")
                    if isinstance(error, ClawftError):
                        problem = Problem(error.code, str(error), error.hint)
                    await self._fail(run, number, recorder, problem)
                    return "failed"
                self.warn(error if isinstance(error, ClawftError) else describe(error))
            await anyio.sleep(_AGAIN_S[min(tries, len(_AGAIN_S) - 1)])
            tries += 1

    async def _fail(self, run: str, number: int, recorder: Recorder, problem: Problem) -> None:
        told = msgspec.json.encode(problem).decode()
        finish = partial(self.store.guarded(recorder.guard).finish, run, number, "failed", error=told)
        try:
            await to_thread.run_sync(finish)
            row = await to_thread.run_sync(self.store.get, run)
        except ClawftError as error:
            self.warn(error)
            raise Lost from error  # it stays in the record, to be picked up later
        Watched(row, self.observer).ended(Outcome("failed", problem.code, row.steps))
        self._tell(f"{run}  failed  {problem.message}")

    async def _attempt(self, run: str, number: int, recorder: Recorder) -> str:
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
            await self._fail(run, number, recorder, Problem("run-deadly", message, hint))
            return "failed"
        attempt = self._attempts[run] = Attempt(row, self._means, recorder, fresh=is_first)
        attempt.watched = Watched(row, self.observer)
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
            await to_thread.run_sync(self.store.roster.stop_taking, self.id)
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
        """Whether the file of runs is another, or none: what this process would do then, nobody could see."""
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
        gone = [row for row in self._watch.find_dead(workers, self._last_beat) if row.id != self.id]
        for row in gone:
            held = self.observer.find_held(row)
            if self.store.roster.strike(row.id, row.beat):
                self.observer.died(row, held)
                self._tell(f"the worker {row.id} is gone; its runs go on elsewhere")
        known = {row.id for row in (self.store.roster.workers() if gone else workers)} | {self.id}
        dead = [one for one in holders if one not in known]
        if dead:
            self.store.orphan(dead)
            self._worker.recover(dead)

    def _tell_of_silence(self) -> None:
        """Say that the database takes nothing, where whoever holds it lets everybody wait."""
        since, now = self._beating_since, time.monotonic()
        if since is not None and now - since > self._plan.lease_s:
            url = self._database.url
            is_file = url.get_backend_name() == "sqlite"
            message = f"The database of runs took no write for {now - since:.0f} s; runs wait, and go on by themselves"
            hint = "See who holds it: " + (f"fuser -v {url.database}" if is_file else "pg_stat_activity, on the server")
            self.warn(ClawftError("runs-locked", message, hint=hint))

    def _pick_up(self) -> None:
        """What the record says is done here and is not: the answer to a claim got lost, or it was thought lost."""
        now = time.monotonic()
        if now - self._looked_for_strays < self._plan.lease_s:
            return
        self._looked_for_strays = now
        strays = self._worker.strays()
        self._strays = {one: self._strays.get(one, now) for one in strays}
        self._worker.put_back(one for one, since in self._strays.items() if now - since >= self._plan.lease_s)
        for run, number in self._worker.broken():
            if self.store.begin(run, number, self.id):  # so it is neither over nor tried again
                problem = Problem("run-unreadable", "The engine could not begin it: what it knows of it is damaged")
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
        self.store.roster.enrol(
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
        """What is left behind is picked up by others at once."""
        self._worker.close()
        with suppress(ClawftError):
            self.store.orphan([self.id], died=False)
            self.store.roster.strike(self.id, None)

    def recorded(self, run: Run) -> Sequence[Recorded]:
        """The steps of a run that are done."""
        return self._engine.recorded(run.id, run.attempt)

    def warn(self, error: ClawftError) -> None:
        """Say what is wrong, but not over and over."""
        now = time.monotonic()
        if now - self._warned.get(error.code, -_REPEAT_S) >= _REPEAT_S:
            self._warned[error.code] = now
            self._warn_person(error)
