"""`weft serve token`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "token",
    cls=LazyGroup,
    modules={name: f"clawft.cli.serve.token.{name}" for name in ("new", "list", "remove")},
    aliases={"create": "new", "revoke": "remove", "delete": "remove"},
)
def command() -> None:
    """Make, list and remove tokens: who may read, run, approve or administer.

    Each program should have one of its own. Only its hash is kept. Your own token, which may do everything, is not
    among them: it lies in ~/.clawft/serve-token.
    """
