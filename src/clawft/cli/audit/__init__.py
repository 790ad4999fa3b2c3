"""`weft audit`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "audit",
    cls=LazyGroup,
    modules={name: f"clawft.cli.audit.{name}" for name in ("show", "verify")},
    aliases={},
)
def command() -> None:
    """Show what was decided and done, and whether that record is intact.

    Every approval, denial, command, address and use of a secret is one line of the log.
    """
