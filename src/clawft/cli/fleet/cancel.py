"""`weft fleet cancel`: end what is queued or under way."""

import click

from clawft.cli.options import open_here
from clawft.cli.output import say

__all__ = ["command"]

_OPEN = ("queued", "running", "waiting")


@click.command("cancel")
@click.argument("fleet")
def command(fleet: str) -> None:
    """End all runs of a fleet that are not over. Whoever feeds it must be left first (Ctrl-C), or starts others."""
    from clawft.run.durable.fleets import FleetStore
    from clawft.working import open_app_runs

    runs = open_app_runs(open_here())
    ended = line = 0
    try:
        store = FleetStore(runs.database)
        found = store.get(fleet)
        while page := store.runs(found.id, after=line, statuses=_OPEN):
            for run in page:
                runs.store.ask_to_cancel(run.id)
            ended, line = ended + len(page), page[-1].line
    finally:
        runs.close()
    say(f"{ended} runs are ended, or about to be")
    say(f"to have them done after all: weft fleet {found.kind} --retry {found.id}")
