"""`weft runs list`."""

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_table

__all__ = ["command"]


@click.command("list")
@format_option
def command(output: str) -> None:
    """List runs, the newest first."""
    from clawft.working import open_app_runs

    runs = open_app_runs(open_here())
    rows = [
        (one.id, one.status, one.kind, str(one.steps), one.title, str(one.error or ""))
        for one in runs.store.list(limit=50)
    ]
    print_table(("RUN", "STATUS", "KIND", "STEPS", "TITLE", "E"), rows, wide=4)
