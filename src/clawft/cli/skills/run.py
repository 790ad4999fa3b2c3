"""`weft skills run NAME [ARGS…]`: start a skill in a turn of its own."""

import sys

import click
import msgspec

from clawft.app import App
from clawft.cli._complete import complete_skills
from clawft.cli.options import TurnOptions, dir_option, open_here, turn_options
from clawft.cli.output import say
from clawft.errors import Refused
from clawft.trust import Standing

__all__ = ["command"]


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("name", shell_complete=complete_skills)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--args", "line", default="", help="The arguments as one line, as they would be typed after /NAME.")
@turn_options
@dir_option
def command(name: str, args: tuple[str, ...], line: str, dirs: tuple[str, ...], **given: object) -> int:
    """Run a skill once. Options stand before NAME; what follows it are the skill's arguments."""
    from clawft.cli.turn import run_turn_here  # `weft skills --help` needs none of what turns need
    from clawft.run import TurnRequest

    if args and line:
        raise click.UsageError("Give the arguments either way, not both")
    options = msgspec.convert(given, TurnOptions)
    app = open_here(dirs)
    standing = app.get_skill(name)
    if dirs:
        _approve(app, standing, yes=options.yes)
    request = TurnRequest(line or " ".join(args), model=options.model, skill=name, words=args)
    return run_turn_here(app, options, request, only=standing.name if dirs else "")


def _approve(app: App, standing: Standing, *, yes: bool) -> None:
    """What `--dir` brings is a stranger's: to run it, somebody must say so. Raises: Refused."""
    where = app.workspace.shorten(standing.found.folder)
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        message = f"The skill '{standing.name}' of {where} is not approved"
        raise Refused("skill-untrusted", message, hint="Read it, then pass --yes")
    say(f"The skill '{standing.name}' comes from {where}.")
    if not click.confirm("Run it?", err=True):
        raise Refused("skill-untrusted", f"The skill '{standing.name}' was not approved")
