"""`weft sessions`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "sessions",
    cls=LazyGroup,
    modules={name: f"clawft.cli.sessions.{name}" for name in ("list", "show", "export", "fork", "remove")},
    aliases={"info": "show"},
)
def command() -> None:
    """List, read, export, copy and remove conversations."""
