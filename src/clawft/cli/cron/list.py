"""`weft cron list`: every job, when it runs next and how it went."""

import click

from clawft.cli.cron._open import Cron, describe, job_json, look_at, open_cron, short_ids, show_time
from clawft.cli.options import format_option
from clawft.cli.output import print_json, print_table, say
from clawft.cron import Job

__all__ = ["command"]


@click.command("list")
@format_option
def command(output: str) -> None:
    """List the jobs: when each runs next, how its last run went, and how many runs were missed."""
    cron = open_cron()
    jobs = cron.store.load()
    running = cron.store.has_scheduler()
    if output == "json":
        return print_json("clawft.cron.list.v1", jobs=[job_json(one, cron) for one in jobs], scheduler_running=running)
    if jobs:
        ids = short_ids(jobs)
        rows = [(ids[one.id], *_cells(look_at(one, cron), cron)) for one in jobs]
        heads = ("ID", "WHAT", "SCHEDULE", "NEXT", "LAST RUN", "STATUS", "MISSED")
        print_table(heads, rows, wide=1)
    say(_summary(len(jobs), running))
    return None


def _cells(job: Job, cron: Cron) -> tuple[str, ...]:
    what = f"{job.name}: {describe(job)}" if job.name else describe(job)
    last, status = show_time(job.last_run, cron.zone), job.last_status or "-"
    return (what, job.schedule, _next(job, cron), last, status, str(job.missed or "-"))


def _next(job: Job, cron: Cron) -> str:
    if job.next_due is None or not job.enabled:
        return "done" if job.next_due is None else "off"
    return "now" if job.next_due <= cron.now else show_time(job.next_due, cron.zone)


def _summary(count: int, running: bool) -> str:
    if not count:
        return "No jobs. Run: weft cron add"
    scheduler = "the scheduler is running" if running else "no scheduler is running, start it with: weft cron run"
    return f"{count} job{'s' * (count != 1)}; {scheduler}"
