"""`weft skills pin NAME`."""

import click

from clawft.cli._complete import complete_skills
from clawft.cli.options import format_option, target_option
from clawft.cli.skills._entries import set_entries
from clawft.config.edit import Scope

__all__ = ["command"]


@click.command("pin")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_skills)
@click.option("--off", is_flag=True, help="Pin them no longer.")
@target_option
@format_option
def command(names: tuple[str, ...], off: bool, scope: Scope, output: str) -> None:
    """Describe skills to a model before all others, whatever the room for descriptions."""
    set_entries(names, "pinned", not off, scope, output)
