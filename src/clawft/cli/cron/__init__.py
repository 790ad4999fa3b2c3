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

    Jobs run while `weft cron run` is running.
    """
