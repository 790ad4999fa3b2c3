"""`weft plugins`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]

_COMMANDS = ("list", "show", "install", "remove", "enable", "disable", "grant", "env", "new")


@click.group(
    "plugins",
    cls=LazyGroup,
    modules={name: f"clawft.cli.plugins.{name}" for name in _COMMANDS},
    aliases={"info": "show", "uninstall": "remove"},
)
def command() -> None:
    """List, explain, install, grant and write plugins.

    A plugin brings tools, channels, stages, a memory or skills. What it may touch you grant, and nobody else.
    """
