"""`weft hub token`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "token",
    cls=LazyGroup,
    modules={name: f"clawft.cli.hub.token.{name}" for name in ("new", "list", "revoke")},
    aliases={"create": "new", "remove": "revoke"},
)
def command() -> None:
    """Make, list and revoke tokens: who may read, publish or administer.

    A token belongs to an owner, who publishes under that name. Only its hash is kept.
    """
