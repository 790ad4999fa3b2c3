"""`weft cron list`: every job, when it runs next and how it went."""

from collections.abc import Sequence

import click

from clawft.cli.cron._open import (
    Cron,
    describe,
    find_unserved,
    has_jobs,
    job_json,
    look_at,
    open_cron,
    say_unserved,
    short_ids,
    show_time,
)
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, print_table, say, show_error
from clawft.cron import Job

__all__ = ["command"]

_SCHEMA = "clawft.cron.list.v1"
_NONE = "No jobs. Run: weft cron add"


@click.command("list")
@format_option
def command(output: str) -> None:
    """List the jobs: when each runs next, how its last run went, and how many runs were missed."""
    app = open_here()
    if not has_jobs(app):
        return print_json(_SCHEMA, jobs=[], scheduler_running=False) if output == "json" else say(_NONE)
    with open_cron(app) as cron:
        jobs = cron.runs.jobs.load(show_error)
        unserved = find_unserved(cron.runs, jobs)
        if output == "json":
            running = any(one.enabled for one in jobs) and not unserved
            return print_json(_SCHEMA, jobs=[job_json(one, cron) for one in jobs], scheduler_running=running)
        if jobs:
            ids = short_ids(jobs)
            rows = [(ids[one.id], *_cells(look_at(one, cron), cron)) for one in jobs]
            heads = ("ID", "WHAT", "SCHEDULE", "NEXT", "LAST RUN", "STATUS", "MISSED")
            print_table(heads, rows, wide=1)
        _summarize(jobs, unserved)
    return None


def _cells(job: Job, cron: Cron) -> tuple[str, ...]:
    what = f"{job.name}: {describe(job)}" if job.name else describe(job)
    last, status = show_time(job.last_run, cron.zone), job.last_status or "-"
    return (what, job.schedule, _next(job, cron), last, status, str(job.missed or "-"))


def _next(job: Job, cron: Cron) -> str:
    if job.next_due is None or not job.enabled:
        return "done" if job.next_due is None else "off"
    return "now" if job.next_due <= cron.now else show_time(job.next_due, cron.zone)


def _summarize(jobs: Sequence[Job], unserved: Sequence[str]) -> None:
    if not jobs:
        return say(_NONE)
    say(f"{len(jobs)} job{'s' * (len(jobs) != 1)}{'' if unserved else '; a worker starts what is due'}")
    waiting = [one.run for one in jobs if one.last_status == "waiting"]
    for run in waiting:
        say(f"A run waits for an answer, and its job with it. Run: weft runs show {run}")
    say_unserved(unserved)
    return None
