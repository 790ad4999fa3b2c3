"""`weft fleet`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "fleet",
    cls=LazyGroup,
    modules={name: f"clawft.cli.fleet.{name}" for name in ("run", "scan", "list", "show", "cancel")},
    aliases={},
)
def command() -> None:
    """Run a skill on many inputs, or scan many skills, over all workers.

    What comes of it is one line of JSON for each input, in their order. A fleet that was left goes on with --resume.
    """
