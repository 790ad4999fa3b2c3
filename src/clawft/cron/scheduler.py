"""Runs what is due, a few jobs at once, and goes on whatever becomes of them."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol

import anyio
from msgspec import Struct
from msgspec.structs import replace

from clawft.cron.jobs import Job, Run, claim
from clawft.cron.process import Outcome
from clawft.cron.store import JobStore
from clawft.errors import ClawftError

__all__ = ["Clock", "Reporter", "Scheduler"]

AT_ONCE = 4
_POLL_S = 5.0  # after which a job that was added is seen, and a clock that was set
_ENDED = "the scheduler was ended"


class Clock(Struct, frozen=True):
    """What time it is, where, and how to wait."""

    now: Callable[[], datetime]
    zone: tzinfo
    wait: Callable[[float], Awaitable[None]] = anyio.sleep


class Reporter(Protocol):
    """Who is told what happens."""

    def ended(self, job: Job, run: Run, text: str) -> None: ...
    def failed(self, error: ClawftError) -> None: ...


class Scheduler:
    """Runs the jobs of a store by a clock. `run` is how a job is run; it must not raise."""

    def __init__(
        self, store: JobStore, run: Callable[[Job, datetime], Awaitable[Outcome]], clock: Clock, reporter: Reporter
    ) -> None:
        self._store = store
        self._run = run
        self._clock = clock
        self._reporter = reporter
        self._slots = anyio.CapacityLimiter(AT_ONCE)

    async def run_due(self) -> None:
        """Run what is due now. Raises: ClawftError when there is another scheduler, or the jobs cannot be read."""
        with self._store.hold_scheduler():
            self._recover()
            due = self._claim_due()
            async with anyio.create_task_group() as tasks:
                for job, run in due:
                    tasks.start_soon(self._carry_out, job, run)

    async def run_forever(self) -> None:
        """Run what is due, until it is cancelled. Raises: ClawftError when there is another scheduler."""
        with self._store.hold_scheduler():
            self._recover()
            said = ""
            async with anyio.create_task_group() as tasks:
                while True:
                    try:
                        for job, run in self._claim_due():
                            tasks.start_soon(self._carry_out, job, run)
                        said, pause = "", self._pause()
                    except ClawftError as error:  # a file that somebody is editing ends no running job
                        if said != str(error):
                            self._reporter.failed(error)
                        said, pause = str(error), _POLL_S
                    await self._clock.wait(pause)

    async def run_now(self, job: Job) -> Run:
        """Run one job now, due or not; its schedule stays as it is."""
        return await self._carry_out(job, Run(job=job.id, status="running"))

    def _recover(self) -> None:
        """No scheduler was there, so what is marked as running was cut off."""
        for job in self._store.load():
            if job.last_status == "running":
                self._finish(job, Run(job=job.id, status="interrupted", error=_ENDED), "")

    def _claim_due(self) -> Sequence[tuple[Job, Run]]:
        """The runs to make now; those that were missed are reported.

        Each is claimed on disk first: what is cut off never runs twice. Raises: ClawftError.
        """
        claimed: list[tuple[Job, Run]] = []
        now = self._clock.now()

        def edit(jobs: tuple[Job, ...]) -> Sequence[Job]:
            after = [claim(job, now, self._clock.zone) for job in jobs]
            claimed.extend((job, run) for job, run in after if run)
            return [job for job, _ in after]

        self._store.change(edit)
        for job, run in claimed:
            if run.status == "missed":
                self._report(job, run, "")
        return [(job, run) for job, run in claimed if run.status == "running"]

    async def _carry_out(self, job: Job, claimed: Run) -> Run:
        outcome = Outcome("interrupted", error=_ENDED)
        started = None
        try:
            async with self._slots:
                started = self._clock.now()
                outcome = await self._run(job, started)
        finally:
            run = replace(
                claimed,
                started=started,
                finished=self._clock.now(),
                status=outcome.status,
                exit_code=outcome.exit_code,
                session=outcome.session,
                error=outcome.error,
            )
            self._finish(job, run, outcome.text)
        return run

    def _finish(self, job: Job, run: Run, text: str) -> None:
        """Write down how a run ended; that this cannot be written ends nothing else."""
        try:
            self._store.change(lambda jobs: [_ended(one, run) if one.id == job.id else one for one in jobs])
        except ClawftError as error:
            self._reporter.failed(error)
        self._report(job, run, text)

    def _report(self, job: Job, run: Run, text: str) -> None:
        try:
            self._store.record(run)
        except ClawftError as error:
            self._reporter.failed(error)
        self._reporter.ended(job, run, text)

    def _pause(self) -> float:
        """Seconds until something may be due."""
        waiting = [one.next_due for one in self._store.load() if one.enabled and one.last_status != "running"]
        left = min((due - self._clock.now() for due in waiting if due), default=timedelta(seconds=_POLL_S))
        return min(_POLL_S, max(0.0, left.total_seconds()))


def _ended(job: Job, run: Run) -> Job:
    """A job after a run. One that somebody asked for says nothing about one that the schedule started."""
    status = job.last_status if job.last_status == "running" and run.finished and not run.due else run.status
    return replace(job, last_status=status, last_run=_whole(run.started) or job.last_run)


def _whole(moment: datetime | None) -> datetime | None:
    return moment.astimezone(UTC).replace(microsecond=0) if moment else None
