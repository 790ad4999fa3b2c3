"""`weft agents`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "agents",
    cls=LazyGroup,
    modules={name: f"clawft.cli.agents.{name}" for name in ("list", "show", "use")},
    aliases={"info": "show"},
)
def command() -> None:
    """List, show and choose agents.

    An agent is a named persona with a model, a prompt, tools and skills.
    """
