"""The values: a job, and one run of it."""

from datetime import UTC, datetime, tzinfo
from typing import Annotated, Literal
from uuid import uuid4

import msgspec
from msgspec import Meta, Struct

from clawft.cron.schedule import Schedule, check_due, parse_schedule
from clawft.errors import ClawftError

__all__ = ["MAX_TEXT", "Job", "Run", "Status", "Task", "claim", "make_job", "new_job_id"]

MAX_TEXT = 100_000  # characters of a message or of arguments
Moment = Annotated[datetime, Meta(tz=True)]
Status = Literal["running", "ok", "failed", "refused", "timeout", "interrupted", "missed"]


class Task(Struct, frozen=True, forbid_unknown_fields=True):
    """What a job does: it says `text` to an agent, or gives it to `skill` as the line of its arguments."""

    text: str
    skill: str = ""
    agent: str = ""
    model: str = ""
    session: str = ""  # the session to go on with; '': one of the job's own
    fresh: bool = False  # a new session for each run
    yes: bool = False  # tools may do what they ask for

    @property
    def kind(self) -> Literal["message", "skill"]:
        return "skill" if self.skill else "message"


class Job(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task, when it is due, and what became of it. `missed` counts runs that never were, since it was added."""

    id: Annotated[str, Meta(pattern="^job-[0-9a-f-]{36}$")]
    name: str = ""
    schedule: str
    task: Task
    cwd: str
    created: Moment
    enabled: bool = True
    next_due: Moment | None = None
    last_run: Moment | None = None
    last_status: Status | None = None
    missed: Annotated[int, Meta(ge=0)] = 0

    def session_key(self, started: datetime) -> str:
        """The session that a run goes into."""
        own = self.task.session or f"cron:{self.id}"
        return f"{own}:{started.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}" if self.task.fresh else own

    def parse_schedule(self, zone: tzinfo) -> Schedule:
        """Raises: ClawftError."""
        return parse_schedule(self.schedule, anchor=self.created, zone=zone)


class Run(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the log of runs. One that is `missed` never started."""

    job: str
    due: Moment | None = None  # None: somebody asked for it
    started: Moment | None = None
    finished: Moment | None = None
    status: Status
    exit_code: int | None = None
    session: str = ""
    missed: int = 0
    error: str = ""


def new_job_id() -> str:
    """An id that no other job has (R164)."""
    return f"job-{uuid4()}"


def make_job(schedule: str, task: Task, *, name: str = "", cwd: str, now: datetime, zone: tzinfo) -> Job:
    """A job that is due for the first time after `now`. Raises: ClawftError."""
    created = now.astimezone(UTC).replace(microsecond=0)
    first = next(parse_schedule(schedule, anchor=created, zone=zone).times(created), None)
    if first is None:
        raise ClawftError("cron-schedule", f"'{schedule}' is in the past", hint="Name a time that is to come")
    if len(task.text) > MAX_TEXT:
        raise ClawftError("cron-text", f"The text has {len(task.text)} characters; {MAX_TEXT} is the limit")
    job = Job(id=new_job_id(), name=name, schedule=schedule, task=task, cwd=cwd, created=created, next_due=first)
    try:
        msgspec.json.encode(job)
    except UnicodeEncodeError as error:
        message = "The text, or the name of the folder, is not valid Unicode"
        raise ClawftError("cron-text", message, path=cwd) from error
    return job


def claim(job: Job, now: datetime, zone: tzinfo) -> tuple[Job, Run | None]:
    """A job as it is from `now` on, and the run to make or to report; (the same job, None) if it is not due.

    A job that still runs is looked at again when it has ended. Raises: ClawftError.
    """
    if not job.enabled or job.next_due is None or job.next_due > now or job.last_status == "running":
        return job, None
    found = check_due(job.parse_schedule(zone), job.next_due, now)
    status: Status = "running" if found.due else "missed"
    claimed = msgspec.structs.replace(
        job,
        enabled=found.upcoming is not None,
        next_due=found.upcoming,
        last_status=status,
        missed=job.missed + found.missed,
    )
    return claimed, Run(job=job.id, due=found.due or job.next_due, status=status, missed=found.missed)
