"""`weft fleet show`: how far a fleet is, what failed, and what waits."""

from typing import Any

import click

from clawft.cli.fleet._follow import say_rest
from clawft.cli.fleet._summary import fleet_json, summarise
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json
from clawft.cli.runs._words import when_words

__all__ = ["command"]

_TROUBLE = ("failed", "cancelled", "waiting")


@click.command("show")
@click.argument("fleet")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Runs that are named.")
@format_option
def command(fleet: str, limit: int, output: str) -> None:
    """Tell how far a fleet is, and which of its runs failed or wait for a person."""
    from clawft.run.durable.fleets import FleetStore
    from clawft.run.durable.values import Run
    from clawft.working import open_app_runs

    def describe(run: Run) -> dict[str, Any]:
        error = {"code": run.error.code, "message": run.error.message} if run.error else None
        return {"run": run.id, "line": run.line, "status": run.status, "error": error}

    runs = open_app_runs(open_here())
    try:
        store = FleetStore(runs.database)
        summary = summarise(store, store.get(fleet))
        trouble = store.runs(summary.fleet.id, statuses=_TROUBLE, limit=limit)
    finally:
        runs.close()
    if output == "json":
        print_json("clawft.fleet.v1", **fleet_json(summary), trouble=[describe(run) for run in trouble])
        return
    spec = summary.fleet.spec
    click.echo(one_line(f"{summary.fleet.id}  {summary.status}  {spec.title}"))
    started = when_words(summary.fleet.created)
    click.echo("  " + one_line(f"{summary.fleet.total:,} lines of {spec.path}, started {started}"))
    click.echo(f"  runs: {summary.describe()}")
    if spec.output:
        click.echo("  " + one_line(f"results: {spec.output}"))
    for run in trouble:
        reason = f": {run.error.message} [{run.error.code}]" if run.error else ""
        click.echo("  " + one_line(f"line {run.line}  {run.status}  {run.id}{reason}"))
    counts = summary.counts
    failed = counts.get("failed", 0) + counts.get("cancelled", 0)
    if (more := failed + counts.get("waiting", 0) - len(trouble)) > 0:
        click.echo(f"  … and {more} more: --limit")
    say_rest(summary.fleet, failed=failed, waiting=counts.get("waiting", 0) or int(summary.status == "left"))
