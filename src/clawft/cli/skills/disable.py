"""`weft skills disable NAME`."""

import click

from clawft.cli._complete import complete_skills
from clawft.cli.options import format_option, target_option
from clawft.cli.skills._entries import set_entries
from clawft.config.edit import Scope

__all__ = ["command"]


@click.command("disable")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_skills)
@target_option
@format_option
def command(names: tuple[str, ...], scope: Scope, output: str) -> None:
    """Take skills out of use: no model is told of them, and nobody may start them."""
    set_entries(names, "enabled", False, scope, output)
