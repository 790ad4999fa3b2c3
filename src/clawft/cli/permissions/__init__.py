"""`weft permissions`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]

_NAMES = ("list", "allow", "ask", "deny", "remove")


@click.group(
    "permissions",
    cls=LazyGroup,
    modules={name: f"clawft.cli.permissions.{name}" for name in _NAMES} | {"import": "clawft.cli.permissions.claude"},
    aliases={},
)
def command() -> None:
    """Show and change what is allowed, asked for and denied, whatever the mode.

    A rule is a pattern of tools: Bash(git push:*), Edit(docs/**), WebFetch(domain:example.org), github__*.
    """
