"""`weft config`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "config",
    cls=LazyGroup,
    modules={name: f"clawft.cli.config.{name}" for name in ("show", "get", "set", "path", "trust")},
    aliases={},
)
def command() -> None:
    """Show and change settings, and where they come from."""
