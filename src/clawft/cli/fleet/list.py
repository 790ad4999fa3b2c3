"""`weft fleet list`."""

import click

from clawft.cli.fleet._summary import fleet_json, summarise
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, print_table, say

__all__ = ["command"]


@click.command("list")
@format_option
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="The newest so many.")
def command(output: str, limit: int) -> None:
    """List fleets, the newest first."""
    from clawft.run.durable.fleets import FleetStore
    from clawft.working import open_app_runs

    runs = open_app_runs(open_here())
    try:
        store = FleetStore(runs.database)
        found = [summarise(store, fleet) for fleet in store.list(limit)]
    finally:
        runs.close()
    if output == "json":
        print_json("clawft.fleets.v1", fleets=[fleet_json(one) for one in found])
        return
    if not found:
        say("There are no fleets. Run: weft fleet run --skill NAME --inputs FILE.jsonl")
        return
    heads = ("FLEET", "STATUS", "LINES", "STARTED", "RUNS", "WHAT")
    rows = [
        (one.fleet.id, one.status, f"{one.fleet.total:,}", one.fleet.created[:16], one.describe(), one.fleet.spec.title)
        for one in found
    ]
    print_table(heads, rows, wide=5)
