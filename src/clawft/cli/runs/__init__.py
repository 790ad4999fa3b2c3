"""`weft runs`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]

_NAMES = ("list", "show", "watch", "answer", "cancel", "resume", "retry", "prune")


@click.group(
    "runs",
    cls=LazyGroup,
    modules={name: f"clawft.cli.runs.{name}" for name in _NAMES},
    aliases={},
)
def command() -> None:
    """Follow, answer and end what runs in the background."""
