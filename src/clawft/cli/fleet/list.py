"""`weft fleet list`."""

import click

from clawft.cli.fleet._summary import fleet_json, summarise
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, print_table, say
from clawft.cli.runs._words import long_ago

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
    heads = ("FLEET", "STATUS", "LINES", "WHEN", "RUNS", "WHAT")
    rows = []
    for one in found:
        lines, when = f"{one.fleet.total:,}", long_ago(one.fleet.created)
        rows.append((one.fleet.id, one.status, lines, when, one.describe(), one.fleet.spec.title))
    print_table(heads, rows, wide=5)
