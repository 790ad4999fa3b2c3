"""`weft memory`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "memory",
    cls=LazyGroup,
    modules={name: f"clawft.cli.memory.{name}" for name in ("show", "search", "reindex")},
    aliases={"info": "show"},
)
def command() -> None:
    """Read and search what agents remember between sessions."""
