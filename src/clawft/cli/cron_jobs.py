"""What the commands share: the app with its jobs, and jobs as people and programs read them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawft.app import App
from clawft.cli.options import open_here
from clawft.cli.output import one_line, say
from clawft.config.runs import RunsSettings, own_runs
from clawft.cron import Job, claim, find_zone
from clawft.cron.file import file_path
from clawft.files import is_there

if TYPE_CHECKING:
    from clawft.run.durable.runs import Runs

__all__ = [
    "Cron",
    "describe",
    "find_unserved",
    "has_jobs",
    "job_json",
    "look_at",
    "open_cron",
    "say_unserved",
    "short_ids",
    "show_time",
    "start_of",
]

_SHORT = len("job-") + 8


class Cron(Struct, frozen=True):
    """One user's jobs, here and now."""

    app: App
    runs: "Runs"
    zone: tzinfo
    now: datetime  # when the command began


@contextmanager
def open_cron(app: App | None = None) -> Iterator[Cron]:
    """The jobs of the user. Raises: ClawftError, `durable-missing` without the extra."""
    from clawft.working import open_app_runs, take_over_jobs

    app = app or open_here()
    zone = find_zone(app.environ)
    runs = open_app_runs(app)
    try:
        take_over_jobs(app, runs.jobs)
        yield Cron(app, runs, zone, datetime.now(zone))
    finally:
        runs.close()


def has_jobs(app: App) -> bool:
    """Whether there may be jobs: who has none waits for nothing that they need."""
    user_dir = app.workspace.user_dir
    places = (file_path(user_dir), os.path.join(user_dir, "runs"))
    return bool(own_runs(app.config, user_dir, app.environ).database) or any(map(is_there, places))


def find_unserved(runs: "Runs", jobs: Iterable[Job]) -> list[str]:
    """The queues of jobs that are to run and that no worker takes from, so that nothing starts them."""
    from clawft.run.durable.spawn import is_served

    queues = sorted({one.queue for one in jobs if one.enabled})
    return [one for one in queues if not is_served(runs.store, one, always=True)]


def say_unserved(queues: Iterable[str]) -> None:
    """Say that nobody is awake for some jobs, and what would be."""
    for queue in queues:
        say(f"No worker is running, so nothing starts when it is due. Start one: {start_of(queue)}")


def start_of(queue: str) -> str:
    """The command that starts a worker of a queue."""
    return "weft worker" if queue == RunsSettings().queue else f"weft worker --queue {queue}"


def describe(job: Job) -> str:
    """What a job does, on one line."""
    return one_line(f"/{job.task.skill} {job.task.text}" if job.task.skill else job.task.text)


def show_time(moment: datetime | None, zone: tzinfo) -> str:
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}" if moment else "-"


def short_ids(jobs: Sequence[Job]) -> dict[str, str]:
    """The start of each id that tells it from the others."""
    length = _SHORT
    while len({one.id[:length] for one in jobs}) < len(jobs):
        length += 1
    return {one.id: one.id[:length] for one in jobs}


def look_at(job: Job, cron: Cron) -> Job:
    """A job as it stands now: runs that went by while no worker was there are counted."""
    found = claim(job, cron.now, cron.zone)
    if found is None:
        return job
    due = found.due if found.runs else found.job.next_due
    status = job.last_status if found.runs else found.job.last_status
    return replace(found.job, enabled=due is not None, next_due=due, last_status=status)


def job_json(job: Job, cron: Cron) -> dict[str, Any]:
    """A job as other programs read it."""
    task, seen = job.task, look_at(job, cron)
    return {
        "id": job.id,
        "name": job.name or None,
        "schedule": job.schedule,
        "zone": job.zone or None,
        "queue": job.queue,
        "kind": task.kind,
        "text": None if task.skill else task.text,
        "skill": task.skill or None,
        "args": task.text if task.skill else None,
        "agent": task.agent or None,
        "model": task.model or None,
        "session": None if task.fresh else job.session_key(cron.now),
        "fresh": task.fresh,
        "yes": task.yes,
        "cwd": job.cwd,
        "created": msgspec.to_builtins(job.created),
        "enabled": seen.enabled,
        "next": msgspec.to_builtins(seen.next_due),
        "run": job.run or None,
        "last_run": msgspec.to_builtins(job.last_run),
        "last_status": seen.last_status,
        "missed": seen.missed,
    }
