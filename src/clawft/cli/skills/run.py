"""`weft skills run NAME [ARGS…]`: start a skill in a turn of its own."""

import click
import msgspec

from clawft.app import App
from clawft.cli._complete import complete_skills
from clawft.cli.options import TurnOptions, dir_option, open_here, turn_options
from clawft.cli.output import say
from clawft.trust import Standing

__all__ = ["command", "make_ready"]


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("name", shell_complete=complete_skills)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--args", "line", default="", help="The arguments as one line, as they would be typed after /NAME.")
@turn_options
@dir_option
def command(name: str, args: tuple[str, ...], line: str, dirs: tuple[str, ...], **given: object) -> int:
    """Run a skill once. Options stand before NAME; what follows it are the skill's arguments.

    A stranger's skill that is not approved is shown first, and asked for; --yes approves it for this run.
    """
    from clawft.cli.turn import run_turn_here  # `weft skills --help` needs none of what turns need
    from clawft.run import TurnRequest

    if args and line:
        raise click.UsageError("Give the arguments either way, not both")
    _tell_misplaced(args)
    options = msgspec.convert(given, TurnOptions)
    app = open_here(dirs)
    if options.trust_project_skills:
        app.trust_project()
    app, standing = make_ready(app, name, yes=options.yes, ask=options.output == "text")
    request = TurnRequest(line or " ".join(args), model=options.model, skill=name, words=args)
    if options.queue and not options.background:
        raise click.UsageError("--queue goes with --background")
    if options.background:
        from clawft.cli.background import start_here

        return start_here(app, options, request, dirs)
    return run_turn_here(app, options, request, only=standing.name if dirs else "")


def make_ready(app: App, name: str, *, yes: bool, ask: bool = True) -> tuple[App, Standing]:
    """Have a person approve a skill, and give what it needs; `ask`: for that too. Raises: ClawftError; click.Abort."""
    from clawft.cli.skills._asking import ask_missing

    standing = app.get_skill(name)
    if needs_approval(app, standing):
        from clawft.cli.skills._approve import approve_here

        approve_here(app, standing, yes=yes)
        app = app.reopen()
        standing = app.get_skill(name)
    if standing.usable and ask_missing(app, standing, ask=ask and not yes):
        app = app.reopen()
    return app, standing


def _tell_misplaced(args: tuple[str, ...]) -> None:
    """An option after the name is an argument of the skill, which few mean."""
    own = {name for one in command.params if isinstance(one, click.Option) for name in one.opts}
    for word in args:
        if word == "--":
            return
        if word.partition("=")[0] in own:
            say(f"note: {word} is an argument of the skill here. Options of weft stand before its name")


def needs_approval(app: App, standing: Standing) -> bool:
    """Whether a person must agree before this skill runs; what `--dir` names is listed as if they had."""
    if standing.found.location.scope != "dir":
        return standing.state == "untrusted"
    return standing.usable and app.strangers.object_to_use(standing.found) is not None
