"""`weft runs`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "runs",
    cls=LazyGroup,
    modules={name: f"clawft.cli.runs.{name}" for name in ("list",)},
    aliases={},
)
def command() -> None:
    """Follow, answer and end what runs in the background."""
