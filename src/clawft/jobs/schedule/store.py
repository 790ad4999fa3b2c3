"""The store of scheduled jobs in the database of runs: one list for all machines that share it."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from clawft.agent.run_request import RunRequest
from clawft.errors import ClawftError
from clawft.jobs.database import JOB, RUN, SCHEDULE, RunTables, insert_new
from clawft.jobs.run_state import RunProblem, new_run_id
from clawft.jobs.schedule.jobs import TIMEOUT_S, JobClaim, JobStatus, ScheduledJob, ScheduledTask, claim
from clawft.jobs.store import RunStore

_GOING_ON = ("queued", "running", "waiting")
_RETENTION = timedelta(days=31)  # that a due time is known to be taken; a job's next time only moves forward anyway
_STATUSES: dict[str, JobStatus] = {"done": "ok", "waiting": "waiting", "cancelled": "interrupted", "failed": "failed"}


class FiredJob(Struct, frozen=True):
    """A job that was due: what came of a look at the clock, and its run, '' if all its times were missed."""

    claim: JobClaim
    run: str

    @property
    def job(self) -> ScheduledJob:
        return self.claim.job


class ScheduleStore(RunTables):
    """All jobs of a database.

    `zone` is that of this machine; `prepare` has the engine ready before something is started.
    """

    def __init__(self, store: RunStore, zone: tzinfo, prepare: Callable[[], None] = lambda: None) -> None:
        super().__init__(store.engine)
        self._store = store
        self._zone = zone
        self._prepare = prepare

    def load(self, warn: Callable[[ClawftError], None]) -> tuple[ScheduledJob, ...]:
        """Every job that can be understood, the oldest first, with the status of its last run as it is now."""
        query = sa.select(JOB, RUN.c.status, RUN.c.error).outerjoin(RUN, RUN.c.id == JOB.c.run)
        with self._connect() as connection:
            rows = connection.execute(query.order_by(JOB.c.created, JOB.c.id)).mappings().all()
        jobs: list[ScheduledJob] = []
        for row in rows:
            try:
                jobs.append(_to_job(row))
            except ClawftError as error:
                warn(error)
        return tuple(jobs)

    def add(self, jobs: Iterable[ScheduledJob]) -> None:
        """Write down jobs; those that are there stay as they are."""
        with self._begin() as connection:
            for job in jobs:
                _insert(connection, JOB, _to_row(job))

    def remove(self, ids: Sequence[str]) -> None:
        """Forget jobs. Runs of theirs that go on come to their end."""
        with self._begin() as connection:
            connection.execute(sa.delete(JOB).where(JOB.c.id.in_(ids)))
            connection.execute(sa.delete(SCHEDULE).where(SCHEDULE.c.job.in_(ids)))

    # starting

    def fire(
        self, warn: Callable[[ClawftError], None], queues: Sequence[str] = (), now: datetime | None = None
    ) -> list[FiredJob]:
        """Start the jobs that are due, of some queues or of all; a job that cannot be parsed is reported, and does not
        stop the others.

        With nothing due this is a single query.
        """
        with self._connect() as connection:
            now = now or _tell_time(connection)
            jobs = self._find_due(connection, queues, now)
        if jobs:
            self._prepare()
        fired: list[FiredJob] = []
        for row in jobs:
            try:
                one = self._fire(_to_job(row), now)
            except ClawftError as error:
                warn(error)
            else:
                fired += [one] if one else []
        return fired

    def start(self, job: ScheduledJob, now: datetime) -> str:
        """Start a job, due or not; its schedule stays as it is. The run comes back."""
        self._prepare()
        run = new_run_id()
        with self._begin() as connection:
            self._store.add_in(connection, [(run, _make_request(job, now))], job.queue)
            # The run of a due time that goes on stays the one that is looked at.
            mine = sa.and_(JOB.c.id == job.id, ~_is_going_on())
            last = {"run": run, "last_run": _text(now), "last_status": None}
            connection.execute(sa.update(JOB).where(mine).values(last))
        return run

    def _find_due(self, connection: sa.Connection, queues: Sequence[str], now: datetime) -> Sequence[sa.RowMapping]:
        query = sa.select(JOB).where(JOB.c.enabled, JOB.c.next_due <= _text(now), ~_is_going_on())
        query = query.where(JOB.c.queue.in_(queues)) if queues else query
        return connection.execute(query.order_by(JOB.c.next_due, JOB.c.id)).mappings().all()

    def _fire(self, job: ScheduledJob, now: datetime) -> FiredJob | None:
        """Take a due time and start its run; None if another was quicker."""
        found = claim(job, now, self._zone)
        if found is None:
            return None
        run = new_run_id() if found.runs else ""
        after = replace(found.job, run=run or job.run, last_run=now if run else job.last_run)
        with self._begin() as connection:
            same = sa.and_(JOB.c.id == job.id, JOB.c.next_due == _text(job.next_due), JOB.c.run == job.run)
            if not connection.execute(sa.update(JOB).where(same).values(_state(after))).rowcount:
                return None
            if not self._take(connection, job.id, found.due, run):
                after = replace(after, run=job.run, last_run=job.last_run)
                connection.execute(sa.update(JOB).where(JOB.c.id == job.id).values(_state(after)))
                return None
            if run:
                self._store.add_in(connection, [(run, _make_request(job, found.due))], job.queue)
        return FiredJob(replace(found, job=after), run)

    def _take(self, connection: sa.Connection, job: str, due: datetime, run: str) -> bool:
        """Write down that a due time is run for, or was missed; False if that was done before."""
        if not _insert(connection, SCHEDULE, {"job": job, "due": _text(due), "run": run}):
            return False
        old = sa.and_(SCHEDULE.c.job == job, SCHEDULE.c.due < _text(due - _RETENTION))
        connection.execute(sa.delete(SCHEDULE).where(old))
        return True


def get_run_outcome(status: str, problem: RunProblem | None) -> JobStatus:
    """Return a run's status as its job's status."""
    if problem is not None and problem.code == "run-deadline":
        return "timeout"
    return _STATUSES.get(status, "running")


def _make_request(job: ScheduledJob, moment: datetime) -> RunRequest:
    task = job.task
    return RunRequest(
        kind="cron",
        cwd=job.cwd,
        project=job.cwd,  # wherever the worker was started, the job sees the project it was added in
        text=task.text,
        skill=task.skill,
        agent=task.agent,
        model=task.model,
        session=job.session_key(moment),
        yes=task.yes,
        deadline_s=TIMEOUT_S,
    )


def _is_going_on() -> sa.ColumnElement[bool]:
    return sa.exists().where(RUN.c.id == JOB.c.run, RUN.c.status.in_(_GOING_ON))


def _tell_time(connection: sa.Connection) -> datetime:
    """The time that counts: of a server that several machines share, its own."""
    if connection.dialect.name != "postgresql":
        return datetime.now(UTC)
    now: datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    return now


def _insert(connection: sa.Connection, table: sa.Table, row: dict[str, Any]) -> bool:
    """Add a row, unless it is there; whether it was added."""
    return bool(connection.execute(insert_new(connection, table).values(row)).rowcount)


def _to_row(job: ScheduledJob) -> dict[str, Any]:
    columns = {name: getattr(job, name) for name in ("id", "name", "schedule", "cwd", "zone", "queue")}
    task = msgspec.json.encode(job.task).decode()
    return {**columns, "task": task, "created": _text(job.created), **_state(job)}


def _state(job: ScheduledJob) -> dict[str, Any]:
    """Return the columns that change when a job is due."""
    columns = {name: getattr(job, name) for name in ("enabled", "run", "last_status", "missed")}
    return {**columns, "next_due": _text(job.next_due), "last_run": _text(job.last_run)}


def _to_job(row: sa.RowMapping) -> ScheduledJob:
    """Raises: ClawftError for one that cannot be understood."""
    values = {str(name): value for name, value in row.items()}
    status, error = values.pop("status", None), values.pop("error", None)
    try:
        values["task"] = msgspec.json.decode(values["task"], type=ScheduledTask)
        if values["last_status"] is None and status is not None:
            values["last_status"] = get_run_outcome(
                status, msgspec.json.decode(error, type=RunProblem) if error else None
            )
        return msgspec.convert(values, ScheduledJob)
    except msgspec.DecodeError as bad:
        message = f"The job {row['id']} cannot be understood: {bad}"
        hint = "It may be of a later version: bring this one up to date"
        raise ClawftError("cron-damaged", message, hint=hint) from bad


def _text(moment: datetime | None) -> str | None:
    """A moment so that texts are in the order of what they mean."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z") if moment else None
