"""Scheduled jobs: parse a schedule, find the times that are due, and claim a job. All times are UTC inside."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, takewhile
from typing import Annotated, Literal
from uuid import uuid4
from zoneinfo import ZoneInfo, available_timezones

import msgspec
from cronsim import CronSim, CronSimError
from msgspec import Meta, Struct

from clawft.errors import ClawftError, NotFound, find_close

GRACE = timedelta(hours=1)  # how late a run may start at most
MAX_COUNTED = 1000  # runs that went by; more are not told apart
_MAX_TEXT = 200
_MAX_YEARS = 100  # to come; a time at the end of the calendar cannot be converted to every zone
_NAMED = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *"}
_EVERY = re.compile(r"every\s+([0-9]{1,4})\s*([mhd])", re.ASCII)
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_HINT = "Write '0 9 * * 1-5' (minute hour day month weekday), @daily, 'every 10m' or 'at 2026-12-01T09:00', in quotes"
_LOCALTIME = "/etc/localtime"


class Schedule(Struct, frozen=True):
    """The times at which a job is due: by a cron expression, at an interval counted from `anchor`, or once."""

    zone: tzinfo
    anchor: datetime
    expression: str = ""
    every: timedelta | None = None
    once: datetime | None = None

    def times(self, after: datetime) -> Iterator[datetime]:
        """Every time that it is due later than `after`, in order."""
        if self.once is not None:
            yield from (self.once,) if self.once > after else ()
        elif self.every is not None:
            number = max(0, (after - self.anchor) // self.every)
            while True:
                number += 1
                yield self.anchor + number * self.every
        else:
            # While the clock is put back, the library starts over at the first of two equal hours.
            moments = (
                local_time.astimezone(UTC) for local_time in CronSim(self.expression, after.astimezone(self.zone))
            )
            yield from (moment for moment in moments if moment > after)


class Due(Struct, frozen=True):
    """The result of checking a schedule: the time to run for, None if that is too long ago; how many runs were missed;
    and the next time, None if there is none."""

    due: datetime | None
    missed: int
    upcoming: datetime | None


def parse_schedule(text: str, *, anchor: datetime, zone: tzinfo) -> Schedule:
    """A schedule as people write it. Raises: ClawftError."""
    words = text.split()
    if len(text) > _MAX_TEXT or not words:
        raise _refuse(text, "it is empty" if not words else "it is too long")
    if match := _EVERY.fullmatch(text.strip()):
        if not int(match[1]):
            raise _refuse(text, "the interval is nothing")
        return Schedule(zone, anchor, every=int(match[1]) * _UNITS[match[2]])
    if words[0] == "at":
        return Schedule(zone, anchor, once=_parse_moment(text, anchor, zone))
    expression = _NAMED.get(text.strip(), text)
    if len(expression.split()) != 5:
        raise _refuse(text, "it has none of the forms there are")
    return _parse_expression(text, Schedule(zone, anchor, expression=" ".join(expression.split())))


def check_due(schedule: Schedule, first: datetime, now: datetime) -> Due:
    """Check a job that was first due at `first` and has not run since: one run is due now, or none.

    A run that is later than its interval, or than an hour, is skipped.
    """
    passed = [first, *islice(_until(schedule, first, now), MAX_COUNTED - 1)]
    latest = passed[-1]
    if len(passed) == MAX_COUNTED:
        latest = max(_until(schedule, now - GRACE, now), default=latest)
    following = next(schedule.times(latest), None)
    grace = min(following - latest, GRACE) if following else GRACE
    runs = now - latest <= grace
    return Due(latest if runs else None, len(passed) - runs, next(schedule.times(now), None))


def find_zone(environ: Mapping[str, str]) -> tzinfo:
    """The zone of this machine, or the one that TZ names. Raises: ClawftError."""
    name = environ.get("TZ", "").removeprefix(":")
    try:
        if name and not name.startswith("/"):
            return ZoneInfo(name)
        with open(name or _LOCALTIME, "rb") as file:
            return ZoneInfo.from_file(file, key="local")
    except FileNotFoundError:
        if not name:
            return UTC  # as the system does where no zone is set
        raise _no_zone(name) from None
    except (OSError, ValueError, KeyError) as error:
        raise _no_zone(name) from error


def name_zone(environ: Mapping[str, str]) -> str:
    """Return the name by which other machines know the zone of `find_zone`; '' if it has no such name."""
    name = environ.get("TZ", "").removeprefix(":")
    if name and not name.startswith("/"):
        return name
    path = os.path.realpath(name or _LOCALTIME)
    if not os.path.exists(path):
        return "UTC"
    named = path.partition("/zoneinfo/")[2]
    return named if named in available_timezones() else ""


def _no_zone(name: str) -> ClawftError:
    message = f"The time zone '{name[:60] or _LOCALTIME}' cannot be read"
    return ClawftError("cron-zone", message, hint="Set TZ to a name such as Europe/Berlin")


def _until(schedule: Schedule, after: datetime, now: datetime) -> Iterator[datetime]:
    return takewhile(lambda one: one <= now, schedule.times(after))


def _parse_expression(text: str, schedule: Schedule) -> Schedule:
    try:
        if next(schedule.times(schedule.anchor), None) is None:
            raise _refuse(text, "that day never comes")
    except (CronSimError, ValueError) as error:
        raise _refuse(text, str(error).lower()) from error
    return schedule


def _parse_moment(text: str, anchor: datetime, zone: tzinfo) -> datetime:
    moment = text.strip().removeprefix("at").strip()
    try:
        parsed = datetime.fromisoformat(moment)
        if parsed.year > anchor.year + _MAX_YEARS:
            raise _refuse(text, "that is too far away")
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise _refuse(text, f"'{moment[:60]}' is no time") from error


def _refuse(text: str, why: str) -> ClawftError:
    shown = text if len(text) <= 60 else text[:60] + "…"
    return ClawftError("cron-schedule", f"'{shown}' is no schedule: {why}", hint=_HINT)


MAX_TEXT = 100_000  # characters of a message or of arguments
TIMEOUT_S = 3600.0  # that a run may work; the time it waits for a person does not count
Moment = Annotated[datetime, Meta(tz=True)]
JobStatus = Literal["running", "waiting", "ok", "failed", "refused", "timeout", "interrupted", "missed"]
_GOING_ON = ("running", "waiting")


class ScheduledTask(Struct, frozen=True, forbid_unknown_fields=True):
    """The task of a job: it sends `text` to an agent, or passes it to `skill` as its arguments."""

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


class ScheduledJob(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task, when it is due, and what became of it. `missed` counts runs that never were, since it was added.

    `zone` is where its hours are meant, '' where a worker is; `queue` is whose workers start it and do it.
    """

    id: Annotated[str, Meta(pattern="^job-[0-9a-f-]{36}$")]
    name: str = ""
    schedule: str
    task: ScheduledTask
    cwd: str
    created: Moment
    zone: str = ""
    queue: str = ""
    enabled: bool = True
    next_due: Moment | None = None
    run: str = ""  # the last one
    last_run: Moment | None = None
    last_status: JobStatus | None = None
    missed: Annotated[int, Meta(ge=0)] = 0

    def session_key(self, moment: datetime) -> str:
        """The session that the run of a moment goes into."""
        own = self.task.session or f"cron:{self.id}"
        return f"{own}:{moment.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}" if self.task.fresh else own

    def parse_schedule(self, zone: tzinfo) -> Schedule:
        """`zone` is that of this machine. Raises: ClawftError."""
        own = find_zone({"TZ": self.zone}) if self.zone else zone
        return parse_schedule(self.schedule, anchor=self.created, zone=own)


class JobClaim(Struct, frozen=True):
    """A job as it is from now on; the time that is to be run for, or was missed; and how many went by without a run."""

    job: ScheduledJob
    due: datetime
    runs: bool
    missed: int

    def render_missed(self) -> str:
        """A sentence on the runs that never were."""
        count = f"{self.missed} run{'s' * (self.missed != 1)}"
        count += " or more" if self.missed >= MAX_COUNTED - 1 else ""
        ending = "it runs once for all of them" if self.runs else "it waits for its next time"
        return f"{count} of {self.job.id} {'was' if self.missed == 1 else 'were'} missed; {ending}"


def new_job_id() -> str:
    """Create a unique job id."""
    return f"job-{uuid4()}"


def make_job(
    schedule: str, task: ScheduledTask, *, name: str = "", cwd: str, now: datetime, zone: tzinfo
) -> ScheduledJob:
    """A job that is due for the first time after `now`. Raises: ClawftError."""
    created = now.astimezone(UTC).replace(microsecond=0)
    first = next(parse_schedule(schedule, anchor=created, zone=zone).times(created), None)
    if first is None:
        raise ClawftError("cron-schedule", f"'{schedule}' is in the past", hint="Name a time that is to come")
    if len(task.text) > MAX_TEXT:
        raise ClawftError("cron-text", f"The text has {len(task.text)} characters; {MAX_TEXT} is the limit")
    job = ScheduledJob(
        id=new_job_id(), name=name, schedule=schedule, task=task, cwd=cwd, created=created, next_due=first
    )
    try:
        msgspec.json.encode(job)
    except UnicodeEncodeError as error:
        message = "The text, or the name of the folder, is not valid Unicode"
        raise ClawftError("cron-text", message, path=cwd) from error
    return job


def claim(job: ScheduledJob, now: datetime, zone: tzinfo) -> JobClaim | None:
    """Claim a job that is due now, None if it is not.

    A job that is still running is checked again when it has ended. Raises: ClawftError.
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
    return JobClaim(claimed, found.due or job.next_due, found.due is not None, found.missed)


def find_job(jobs: Sequence[ScheduledJob], text: str) -> ScheduledJob:
    """The job that is meant: by its id, the start of it, or its name. Raises: NotFound with the close match."""
    found = [job for job in jobs if text in (job.id, job.name)] if text else []
    found = found or [job for job in jobs if text and job.id.removeprefix("job-").startswith(text.removeprefix("job-"))]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(candidate.id for candidate in found[:5])
        raise NotFound("job-ambiguous", f"'{text}' means {len(found)} jobs", hint=f"Say which: {some}")
    close = find_close(text, [name for job in jobs for name in (job.id, job.name) if name])
    hint = (f"did you mean '{close}'? " if close else "") + "Run: weft cron list"
    raise NotFound("job-not-found", f"No job '{text}'", hint=hint)
