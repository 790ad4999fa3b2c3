"""`weft agents`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "agents",
    cls=LazyGroup,
    modules={"list": "clawft.cli.agents.list", "show": "clawft.cli.agents.show"},
    aliases={"info": "show"},
)
def command() -> None:
    """List and show agents: named personas with a model, a prompt, tools and skills."""
