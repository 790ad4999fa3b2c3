"""`weft registries`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "registries",
    cls=LazyGroup,
    modules={name: f"clawft.cli.registries.{name}" for name in ("list", "add", "token", "remove")},
    aliases={},
)
def command() -> None:
    """Show and change where skills are searched for and installed from.

    ClawHub is there without being added. A private hub is added by its address, and its skills go by NAME:skill.
    """
