"""`weft hub`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]

_COMMANDS = ("serve", "status", "show", "token", "import_", "yank", "unyank", "remove", "backup", "restore")


@click.group(
    "hub",
    cls=LazyGroup,
    modules={name.rstrip("_"): f"clawft.cli.hub.{name}" for name in _COMMANDS},
    aliases={"tokens": "token", "delete": "remove"},
)
def command() -> None:
    """Run a registry of your own, and look after it.

    One store of skills, served as ClawHub's interface, as a well-known index and through MCP. See: weft help hub.
    """
