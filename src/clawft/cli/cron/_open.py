"""What the commands share: the app with its jobs, and jobs as people and programs read them."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawft.app import App
from clawft.cli.options import open_here
from clawft.cli.output import one_line
from clawft.cron import Job, JobStore, find_zone
from clawft.cron.jobs import claim

__all__ = ["Cron", "describe", "job_json", "look_at", "open_cron", "short_ids", "show_time"]

_SHORT = len("job-") + 8


class Cron(Struct, frozen=True):
    """One user's jobs, here and now."""

    app: App
    store: JobStore
    zone: tzinfo
    now: datetime  # when the command began

    def tell_time(self) -> datetime:
        return datetime.now(self.zone)


def open_cron() -> Cron:
    """The jobs of the user. Raises: ClawftError."""
    app = open_here()
    zone = find_zone(app.environ)
    return Cron(app, JobStore(app.workspace.user_dir), zone, datetime.now(zone))


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
    """A job as it stands now: runs that went by while no scheduler was there are counted."""
    seen, run = claim(job, cron.now, cron.zone)
    if run is None or run.due is None:
        return job
    due = run.due if run.status == "running" else seen.next_due
    status = job.last_status if run.status == "running" else run.status
    return replace(seen, enabled=due is not None, next_due=due, last_status=status)


def job_json(job: Job, cron: Cron) -> dict[str, Any]:
    """A job as other programs read it."""
    task, seen = job.task, look_at(job, cron)
    return {
        "id": job.id,
        "name": job.name or None,
        "schedule": job.schedule,
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
        "last_run": msgspec.to_builtins(job.last_run),
        "last_status": seen.last_status,
        "missed": seen.missed,
    }
