"""Jobs on a schedule, in the database of runs: one list for all machines that share it.

Every worker looks for what is due. That a job moves on to its next time, that this due time is taken, and that the run
is there are one transaction, so a time is run for once, however many look at it and wherever one of them dies. A due
time that was taken stays so, whatever becomes of anybody's clock.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from clawft.cron import Claim, Job, Task, claim
from clawft.cron.file import load_file, put_away
from clawft.cron.jobs import TIMEOUT_S, Status
from clawft.errors import ClawftError
from clawft.run.durable.database import Stored, insert_new
from clawft.run.durable.request import RunRequest
from clawft.run.durable.store import RunStore
from clawft.run.durable.tables import JOB, RUN, SCHEDULE
from clawft.run.durable.values import Problem, new_run_id

__all__ = ["Fired", "Jobs", "judge"]

_GOING_ON = ("queued", "running", "waiting")
_KEPT = timedelta(days=31)  # that a due time is known to be taken; a job's next time only moves forward anyway
_STATUSES: dict[str, Status] = {"done": "ok", "waiting": "waiting", "cancelled": "interrupted", "failed": "failed"}


class Fired(Struct, frozen=True):
    """A job that was due: what came of a look at the clock, and its run, '' if all its times were missed."""

    claim: Claim
    run: str

    @property
    def job(self) -> Job:
        return self.claim.job


class Jobs(Stored):
    """All jobs of a database.

    `zone` is that of this machine; `prepare` has the engine ready before something is started.
    """

    def __init__(self, store: RunStore, zone: tzinfo, prepare: Callable[[], None] = lambda: None) -> None:
        super().__init__(store.engine)
        self._store = store
        self._zone = zone
        self._prepare = prepare

    def load(self, warn: Callable[[ClawftError], None]) -> tuple[Job, ...]:
        """Every job that can be understood, the oldest first, with the status of its last run as it is now."""
        query = sa.select(JOB, RUN.c.status, RUN.c.error).outerjoin(RUN, RUN.c.id == JOB.c.run)
        with self._connect() as connection:
            rows = connection.execute(query.order_by(JOB.c.created, JOB.c.id)).mappings().all()
        jobs: list[Job] = []
        for row in rows:
            try:
                jobs.append(_to_job(row))
            except ClawftError as error:
                warn(error)
        return tuple(jobs)

    def add(self, jobs: Iterable[Job]) -> None:
        """Write down jobs; those that are there stay as they are."""
        with self._begin() as connection:
            for job in jobs:
                _insert(connection, JOB, _to_row(job))

    def remove(self, ids: Sequence[str]) -> None:
        """Forget jobs. Runs of theirs that go on come to their end."""
        with self._begin() as connection:
            connection.execute(sa.delete(JOB).where(JOB.c.id.in_(ids)))
            connection.execute(sa.delete(SCHEDULE).where(SCHEDULE.c.job.in_(ids)))

    def take_over(self, user_dir: str, zone: str, queue: str) -> None:
        """Take in the jobs of the file that earlier versions kept them in. `zone` and `queue` become theirs."""
        jobs = load_file(user_dir)
        if jobs:
            cut_off = {"running": "interrupted"}  # by the end of the scheduler
            status = [cut_off.get(one.last_status or "", one.last_status) for one in jobs]
            self.add(
                replace(one, zone=zone, queue=queue, last_status=was) for one, was in zip(jobs, status, strict=True)
            )
        put_away(user_dir)

    # starting

    def fire(
        self, warn: Callable[[ClawftError], None], queues: Sequence[str] = (), now: datetime | None = None
    ) -> list[Fired]:
        """Start what is due, of some queues or of all; a job that cannot be understood is told, and no other suffers.

        With nothing due this is a single look.
        """
        with self._connect() as connection:
            now = now or _tell_time(connection)
            jobs = self._find_due(connection, queues, now)
        if jobs:
            self._prepare()
        fired: list[Fired] = []
        for row in jobs:
            try:
                one = self._fire(_to_job(row), now)
            except ClawftError as error:
                warn(error)
            else:
                fired += [one] if one else []
        return fired

    def start(self, job: Job, now: datetime) -> str:
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

    def _fire(self, job: Job, now: datetime) -> Fired | None:
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
        return Fired(replace(found, job=after), run)

    def _take(self, connection: sa.Connection, job: str, due: datetime, run: str) -> bool:
        """Write down that a due time is run for, or was missed; False if that was done before."""
        if not _insert(connection, SCHEDULE, {"job": job, "due": _text(due), "run": run}):
            return False
        old = sa.and_(SCHEDULE.c.job == job, SCHEDULE.c.due < _text(due - _KEPT))
        connection.execute(sa.delete(SCHEDULE).where(old))
        return True


def judge(status: str, problem: Problem | None) -> Status:
    """What a run is to its job."""
    if problem is not None and problem.code == "run-deadline":
        return "timeout"
    return _STATUSES.get(status, "running")


def _make_request(job: Job, moment: datetime) -> RunRequest:
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


def _to_row(job: Job) -> dict[str, Any]:
    kept = {name: getattr(job, name) for name in ("id", "name", "schedule", "cwd", "zone", "queue")}
    task = msgspec.json.encode(job.task).decode()
    return {**kept, "task": task, "created": _text(job.created), **_state(job)}


def _state(job: Job) -> dict[str, Any]:
    """What changes when a job is due."""
    kept = {name: getattr(job, name) for name in ("enabled", "run", "last_status", "missed")}
    return {**kept, "next_due": _text(job.next_due), "last_run": _text(job.last_run)}


def _to_job(row: sa.RowMapping) -> Job:
    """Raises: ClawftError for one that cannot be understood."""
    values = {str(name): value for name, value in row.items()}
    status, error = values.pop("status", None), values.pop("error", None)
    try:
        values["task"] = msgspec.json.decode(values["task"], type=Task)
        if values["last_status"] is None and status is not None:
            values["last_status"] = judge(status, msgspec.json.decode(error, type=Problem) if error else None)
        return msgspec.convert(values, Job)
    except msgspec.DecodeError as bad:
        message = f"The job {row['id']} cannot be understood: {bad}"
        hint = "It may be of a later version: bring this one up to date"
        raise ClawftError("cron-damaged", message, hint=hint) from bad


def _text(moment: datetime | None) -> str | None:
    """A moment so that texts are in the order of what they mean."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z") if moment else None
