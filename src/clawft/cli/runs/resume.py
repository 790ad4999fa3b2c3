"""`weft runs resume`: go on with what was cancelled."""

import click

from clawft.cli._complete import complete_runs
from clawft.cli.options import format_option
from clawft.cli.output import say
from clawft.cli.runs._open import act_on_all, open_runs_here, print_runs, see_to
from clawft.cli.runs._words import steps_words

__all__ = ["command"]


@click.command("resume")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_runs)
@format_option
def command(ids: tuple[str, ...], output: str) -> int:
    """Go on with runs that were cancelled, after the steps that are done."""
    with open_runs_here() as (_, runs):
        rows, code = act_on_all(runs, ids, runs.resume)
        see_to(runs, rows)
        if output == "json":
            print_runs(runs, rows)
            return code
        for row in rows:
            say(f"{row.id} goes on {steps_words(row.steps)}. Follow it: weft runs watch {row.id}")
    return code
