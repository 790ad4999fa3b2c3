"""`weft onboard`: from nothing to a model that answers, in a few questions. Nothing is written before the last."""

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult

__all__ = ["command"]


@click.command("onboard")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing: take what is found and needs no key typed in.")
@click.option("--model", metavar="PROVIDER/MODEL", default="", help="Take this model.")
@format_option
def command(yes: bool, model: str) -> CommandResult:
    """Set up a model and its key, in a few questions.

    A call shows whether it works. MCP servers of other clients can be imported.

    A key is typed without being shown, and kept in the system's keyring or in a file that only you can read.
    """
    from clawft.cli.onboard.steps import run_steps  # `weft --help` needs none of what calls a model
    from clawft.cli.prompts import OnboardPrompts, check_terminal

    if not yes:
        check_terminal()
    return run_steps(open_here(), OnboardPrompts(yes=yes), model)
