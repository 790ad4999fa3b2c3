"""Scheduled jobs as the commands see them: opening the database, rendering a job, and its missing workers."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawft.app.app import App
from clawft.cli.options import open_here
from clawft.cli.output import one_line, say
from clawft.config.jobs import RunsSettings
from clawft.files import is_there
from clawft.jobs.schedule.jobs import ScheduledJob, claim, find_zone

if TYPE_CHECKING:
    from clawft.jobs.runs import Runs


_SHORT = len("job-") + 8


class CronJobs(Struct, frozen=True):
    """One user's jobs, here and now."""

    app: App
    runs: "Runs"
    zone: tzinfo
    now: datetime  # when the command began


@contextmanager
def open_cron(app: App | None = None) -> Iterator[CronJobs]:
    """The jobs of the user. Raises: ClawftError, `durable-missing` without the extra."""
    from clawft.app.jobs import open_app_runs

    app = app or open_here()
    zone = find_zone(app.environ)
    runs = open_app_runs(app)
    try:
        yield CronJobs(app, runs, zone, datetime.now(zone))
    finally:
        runs.close()


def has_jobs(app: App) -> bool:
    """Return whether there may be jobs: who has none waits for nothing that they need."""
    user_dir = app.workspace.user_dir
    return bool(app.own_config.runs.database) or is_there(os.path.join(user_dir, "runs"))


def find_unserved(runs: "Runs", jobs: Iterable[ScheduledJob]) -> list[str]:
    """The queues of jobs that are to run and that no worker takes from, so that nothing starts them."""
    from clawft.jobs.runs import is_served

    queues = sorted({job.queue for job in jobs if job.enabled})
    return [queue for queue in queues if not is_served(runs.store, queue, always=True)]


def say_unserved(queues: Iterable[str]) -> None:
    """Say that nobody is awake for some jobs, and what would be."""
    for queue in queues:
        say(f"No worker is running, so nothing starts when it is due. Start one: {quote_worker_command(queue)}")


def quote_worker_command(queue: str) -> str:
    """The command that starts a worker of a queue."""
    return "weft worker" if queue == RunsSettings().queue else f"weft worker --queue {queue}"


def render_action(job: ScheduledJob) -> str:
    """Render the task of a job on one line."""
    return one_line(f"/{job.task.skill} {job.task.text}" if job.task.skill else job.task.text)


def show_time(moment: datetime | None, zone: tzinfo) -> str:
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}" if moment else "-"


def short_ids(jobs: Sequence[ScheduledJob]) -> dict[str, str]:
    """The start of each id that tells it from the others."""
    length = _SHORT
    while len({job.id[:length] for job in jobs}) < len(jobs):
        length += 1
    return {job.id: job.id[:length] for job in jobs}


def refresh_job(job: ScheduledJob, cron: CronJobs) -> ScheduledJob:
    """A job as it stands now: runs that went by while no worker was there are counted."""
    found = claim(job, cron.now, cron.zone)
    if found is None:
        return job
    due = found.due if found.runs else found.job.next_due
    status = job.last_status if found.runs else found.job.last_status
    return replace(found.job, enabled=due is not None, next_due=due, last_status=status)


def job_json(job: ScheduledJob, cron: CronJobs) -> dict[str, Any]:
    """A job as other programs read it."""
    task, seen = job.task, refresh_job(job, cron)
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
