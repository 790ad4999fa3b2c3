"""`weft cron remove ID…`: forget jobs, after asking."""

from collections.abc import Sequence

import click

from clawft.cli._confirm import confirm
from clawft.cli.cron._open import describe, open_cron
from clawft.cli.options import format_option
from clawft.cli.output import one_line, print_json, say, show_error
from clawft.cron import Job, find_job

__all__ = ["command"]


@click.command("remove")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(ids: tuple[str, ...], yes: bool, output: str) -> int:
    """Remove jobs. ID may be the start of an id, or a name. Their sessions stay; a run that goes on does so."""
    with open_cron() as cron:
        jobs = cron.runs.jobs.load(show_error)
        wanted = list({job.id: job for job in (find_job(jobs, text) for text in ids)}.values())
        agreed = yes or _ask(wanted)
        removed = [one.id for one in wanted] if agreed else []
        cron.runs.jobs.remove(removed)
    if output == "json":
        print_json("clawft.cron.remove.v1", removed=removed)
    else:
        say(f"Removed: {', '.join(removed)}" if removed else "Nothing was removed")
    return 0 if agreed else 1


def _ask(jobs: Sequence[Job]) -> bool:
    """Whether a person agrees. Raises: Refused where there is nobody to ask."""
    lines = [f"{one.id}: {one_line(one.schedule)}: {describe(one)}" for one in jobs]
    return confirm(f"Remove {'it' if len(jobs) == 1 else 'them'}?", "Removing jobs", lines=lines)
