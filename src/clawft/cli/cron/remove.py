"""`weft cron remove ID…`: forget jobs, after asking."""

import sys
from collections.abc import Sequence

import click

from clawft.cli.cron._open import describe, open_cron
from clawft.cli.options import format_option
from clawft.cli.output import one_line, print_json, say
from clawft.cron import Job, find_job
from clawft.errors import Refused

__all__ = ["command"]


@click.command("remove")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(ids: tuple[str, ...], yes: bool, output: str) -> int:
    """Remove jobs. ID may be the start of an id, or a name. Their sessions stay."""
    cron = open_cron()
    jobs = cron.store.load()
    wanted = list({job.id: job for job in (find_job(jobs, text) for text in ids)}.values())
    agreed = yes or _ask(wanted)
    removed = [one.id for one in wanted] if agreed else []
    if agreed:
        cron.store.change(lambda jobs: [one for one in jobs if one.id not in removed])
    if output == "json":
        print_json("clawft.cron.remove.v1", removed=removed)
    else:
        say(f"Removed: {', '.join(removed)}" if removed else "Nothing was removed")
    return 0 if agreed else 1


def _ask(jobs: Sequence[Job]) -> bool:
    """Whether a person agrees. Raises: Refused where there is nobody to ask."""
    if sys.stdin is None or not sys.stdin.isatty():
        message = "Removing jobs needs a yes, and there is no terminal to ask on"
        raise Refused("needs-yes", message, hint="Pass --yes")
    for one in jobs:
        say(f"{one.id}: {one_line(one.schedule)}: {describe(one)}")
    return click.confirm(f"Remove {'it' if len(jobs) == 1 else 'them'}?", err=True)
