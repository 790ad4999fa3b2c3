"""The values: a job, and what a look at the clock makes of it."""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Annotated, Literal
from uuid import uuid4

import msgspec
from msgspec import Meta, Struct

from clawft.cron.schedule import MAX_COUNTED, Schedule, check_due, find_zone, parse_schedule
from clawft.errors import ClawftError, NotFound, find_close

__all__ = ["MAX_TEXT", "TIMEOUT_S", "Claim", "Job", "Status", "Task", "claim", "find_job", "make_job", "new_job_id"]

MAX_TEXT = 100_000  # characters of a message or of arguments
TIMEOUT_S = 3600.0  # that a run may work; the time it waits for a person does not count
Moment = Annotated[datetime, Meta(tz=True)]
Status = Literal["running", "waiting", "ok", "failed", "refused", "timeout", "interrupted", "missed"]
_GOING_ON = ("running", "waiting")


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
    """A task, when it is due, and what became of it. `missed` counts runs that never were, since it was added.

    `zone` is where its hours are meant, '' where a worker is; `queue` is whose workers start it and do it.
    """

    id: Annotated[str, Meta(pattern="^job-[0-9a-f-]{36}$")]
    name: str = ""
    schedule: str
    task: Task
    cwd: str
    created: Moment
    zone: str = ""
    queue: str = ""
    enabled: bool = True
    next_due: Moment | None = None
    run: str = ""  # the last one
    last_run: Moment | None = None
    last_status: Status | None = None
    missed: Annotated[int, Meta(ge=0)] = 0

    def session_key(self, moment: datetime) -> str:
        """The session that the run of a moment goes into."""
        own = self.task.session or f"cron:{self.id}"
        return f"{own}:{moment.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}" if self.task.fresh else own

    def parse_schedule(self, zone: tzinfo) -> Schedule:
        """`zone` is that of this machine. Raises: ClawftError."""
        own = find_zone({"TZ": self.zone}) if self.zone else zone
        return parse_schedule(self.schedule, anchor=self.created, zone=own)


class Claim(Struct, frozen=True):
    """A job as it is from now on; the time that is to be run for, or was missed; and how many went by without a run."""

    job: Job
    due: datetime
    runs: bool
    missed: int

    def describe_missed(self) -> str:
        """A sentence on the runs that never were."""
        count = f"{self.missed} run{'s' * (self.missed != 1)}"
        count += " or more" if self.missed >= MAX_COUNTED - 1 else ""
        ending = "it runs once for all of them" if self.runs else "it waits for its next time"
        return f"{count} of {self.job.id} {'was' if self.missed == 1 else 'were'} missed; {ending}"


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


def claim(job: Job, now: datetime, zone: tzinfo) -> Claim | None:
    """What is to be done about a job now, None if it is not due.

    A job that still runs is looked at again when it has ended. Raises: ClawftError.
    """
    if not job.enabled or job.next_due is None or job.next_due > now or job.last_status in _GOING_ON:
        return None
    found = check_due(job.parse_schedule(zone), job.next_due, now)
    claimed = msgspec.structs.replace(
        job,
        enabled=found.upcoming is not None,
        next_due=found.upcoming,
        last_status=None if found.due else "missed",
        missed=job.missed + found.missed,
    )
    return Claim(claimed, found.due or job.next_due, found.due is not None, found.missed)


def find_job(jobs: Sequence[Job], text: str) -> Job:
    """The job that is meant: by its id, the start of it, or its name. Raises: NotFound with the close match."""
    found = [one for one in jobs if text in (one.id, one.name)] if text else []
    found = found or [one for one in jobs if text and one.id.removeprefix("job-").startswith(text.removeprefix("job-"))]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(one.id for one in found[:5])
        raise NotFound("job-ambiguous", f"'{text}' means {len(found)} jobs", hint=f"Say which: {some}")
    close = find_close(text, [name for one in jobs for name in (one.id, one.name) if name])
    hint = (f"did you mean '{close}'? " if close else "") + "Run: weft cron list"
    raise NotFound("job-not-found", f"No job '{text}'", hint=hint)
