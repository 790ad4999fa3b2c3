"""`weft hooks`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "hooks",
    cls=LazyGroup,
    modules={name: f"clawft.cli.hooks.{name}" for name in ("list", "show", "check", "enable", "disable", "run")},
    aliases={"info": "show"},
)
def command() -> None:
    """List, explain, approve and try hooks.

    A hook is a small program that hears what happens in a session, and may have a say.
    """
