"""`weft skills enable NAME`."""

import click

from clawft.cli._complete import complete_skills
from clawft.cli.options import format_option, target_option
from clawft.cli.skills._entries import set_entries
from clawft.config.edit import Scope

__all__ = ["command"]


@click.command("enable")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_skills)
@target_option
@format_option
def command(names: tuple[str, ...], scope: Scope, output: str) -> None:
    """Put skills back into use."""
    set_entries(names, "enabled", True, scope, output)
