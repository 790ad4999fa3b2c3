"""`weft fleet cancel`: end what is queued or under way."""

import click

from clawft.cli.fleet._summary import fleet_json, summarise
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say

__all__ = ["command"]

_OPEN = ("queued", "running", "waiting")


@click.command("cancel")
@click.argument("fleet")
@format_option
def command(fleet: str, output: str) -> None:
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
        summary = summarise(store, found)
    finally:
        runs.close()
    if output == "json":
        print_json("clawft.fleets.v1", fleets=[fleet_json(summary)])
        return
    many = f"{ended} run{'s' * (ended != 1)} {'are' if ended != 1 else 'is'}"
    say(f"{many} ended, or about to be" if ended else "Nothing of it was under way")
    if ended:
        say(f"to have them done after all: weft fleet {found.kind} --retry {found.id}")
