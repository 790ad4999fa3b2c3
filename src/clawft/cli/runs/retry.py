"""`weft runs retry`: try again what failed."""

from functools import partial

import click

from clawft.cli._complete import complete_runs
from clawft.cli.options import format_option
from clawft.cli.output import say
from clawft.cli.runs._open import act_on_all, find_fleet, open_runs_here, print_runs, see_to
from clawft.cli.runs._words import steps_words

__all__ = ["command"]

_MAX_SAID = 10


@click.command("retry")
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=complete_runs)
@click.option("--failed", is_flag=True, help="All that failed.")
@click.option("--fleet", default="", metavar="ID", help="With --failed: only those of a fleet.")
@click.option("--fresh", is_flag=True, help="From the start, also of a run that is done: its steps are done again.")
@format_option
def command(ids: tuple[str, ...], failed: bool, fleet: str, fresh: bool, output: str) -> int:
    """Try runs again that failed, after the steps that are done."""
    if bool(ids) == failed:
        raise click.UsageError("Say which: weft runs retry ID, or --failed")
    if fleet and not failed:
        raise click.UsageError("--fleet goes with --failed")
    with open_runs_here() as (_, runs):
        failures = runs.store.list(statuses=("failed",), fleet=find_fleet(runs, fleet)) if failed else ()
        wanted = [one.id for one in failures] if failed else ids
        rows, code = act_on_all(runs, wanted, partial(runs.retry, fresh=fresh))
        see_to(runs, rows)
        if output == "json":
            print_runs(runs, rows)
            return code
        for row in rows[:_MAX_SAID]:
            after = steps_words(row.steps)
            say(f"{row.id} is tried again, {after}. Follow it: weft runs watch {row.id}")
        if len(rows) > _MAX_SAID:
            say(f"and {len(rows) - _MAX_SAID} more")
        if failed and not rows:
            say("None failed")
    return code
