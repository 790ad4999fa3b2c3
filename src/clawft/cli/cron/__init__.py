"""`weft cron`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "cron",
    cls=LazyGroup,
    modules={name: f"clawft.cli.cron.{name}" for name in ("add", "list", "remove", "run")},
    aliases={},
)
def command() -> None:
    """Run messages and skills on a schedule.

    A worker starts what is due, so one must be running: weft worker. All machines that share a database of runs have
    one list of jobs, and each time is run for once.
    """
