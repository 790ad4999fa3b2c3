"""`weft runs prune`: forget runs that are over."""

import click

from clawft.cli._confirm import confirm
from clawft.cli.options import format_option
from clawft.cli.output import say, terminal_width
from clawft.cli.runs._open import open_runs_here, print_runs
from clawft.cli.runs._words import list_lines

__all__ = ["command"]

_OVER = ("done", "failed", "cancelled")
_MAX_SHOWN = 20


@click.command("prune")
@click.option("--days", type=click.FloatRange(min=0), help="Only what was over that long ago; else runs.keep_days.")
@click.option("--status", "statuses", multiple=True, type=click.Choice(_OVER), help="Only these (repeatable).")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(days: float | None, statuses: tuple[str, ...], yes: bool, output: str) -> None:
    """Remove runs that are over, with their events and steps. What was said stays in their sessions."""
    with open_runs_here() as (_, runs):
        age = runs.settings.keep_days if days is None else days
        old = runs.find_old(age, statuses or _OVER)
        many = f"{len(old)} run{'s' * (len(old) != 1)}"
        if old and not yes:
            lines = list_lines(old[:_MAX_SHOWN], (), terminal_width())
            lines += [f"and {len(old) - _MAX_SHOWN} more"] * (len(old) > _MAX_SHOWN)
            if not confirm(f"Remove {many} for good?", f"Removing {many}", lines=lines):
                say("Nothing was removed")
                return None
        runs.remove(old)
        if output == "json":
            return print_runs(runs, old)
        say(f"Removed {many}" if old else f"No run was over {age:g} days ago")
    return None
