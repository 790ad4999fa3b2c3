"""`weft skills render NAME [ARGS…]`: exactly what a model would be told, and nothing else, on stdout."""

import sys

import click
import msgspec

from clawft.app import App
from clawft.cli._complete import complete_skills
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import clean, print_json, say, show_diagnostic
from clawft.describe.diagnostics import to_json
from clawft.errors import Refused
from clawft.render import Arguments, Rendered, Variables, render_skill, split_arguments
from clawft.trust import STATES, Standing

__all__ = ["command"]


class Options(msgspec.Struct, frozen=True):
    line: str
    session_id: str
    run: bool
    output: str
    dirs: tuple[str, ...]


@click.command("render", context_settings={"ignore_unknown_options": True})
@click.argument("name", shell_complete=complete_skills)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--args", "line", default="", help="The arguments as one line, as they would be typed after /NAME.")
@click.option("--session-id", default="", help="What $SESSION_ID stands for.")
@click.option("--run", is_flag=True, help="Run its commands and read the files it names, as a turn would.")
@format_option
@dir_option
def command(name: str, args: tuple[str, ...], **given: object) -> None:
    """Print the prompt of a skill with its arguments filled in. Nothing in it is run, except with --run."""
    options = msgspec.convert(given, Options)
    if args and options.line:
        raise click.UsageError("Give the arguments either way, not both")
    app = open_here(options.dirs)
    standing = app.get_skill(name)
    skill = app.load_prompt(standing.found)
    variables = Variables(options.session_id, standing.found.base_dir, app.workspace.project)
    arguments = split_arguments(options.line) if options.line else Arguments(" ".join(args), args)
    if options.run:
        rendered = _run(app, standing, arguments, variables)
    else:
        prefixes = app.config.skills.security.allowed_command_prefixes
        rendered = render_skill(skill, arguments, variables, standing.found.file, prefixes)
    warnings = [
        *standing.reasons,
        *(one for one in skill.diagnostics if one.code == "body-truncated"),
        *rendered.diagnostics,
    ]
    if options.output == "json":
        notes = [to_json(one) for one in warnings]
        return print_json("clawft.skills.render.v1", name=skill.name, prompt=rendered.text, diagnostics=notes)
    for diagnostic in warnings:
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.where))
    if rendered.diagnostics and not options.run:
        say(f"Nothing was run or read; to do as a turn does: weft skills render --run {skill.name}")
    if not rendered.text:
        say(f"The skill '{skill.name}' has no instructions")
    if sys.stdout is not None:  # written as it is: echo would take escape sequences out
        sys.stdout.write((clean(rendered.text) if sys.stdout.isatty() else rendered.text) + "\n")
    return None


def _run(app: App, standing: Standing, arguments: Arguments, variables: Variables) -> Rendered:
    """The prompt with all that it asks for, by the same rules as in a turn. Raises: Refused, ClawftError."""
    import anyio  # what only prints needs none of these

    from clawft.tools.dynamic import render_dynamic
    from clawft.trust.decide import Authority

    if not standing.usable:
        message = f"The skill '{standing.name}' may not be used: {STATES[standing.state]}"
        raise Refused("skill-refused", message, hint=f"Run: weft skills why {standing.name}")

    async def run() -> Rendered:
        async with app.open_runtime() as runtime:
            dynamic = runtime.dynamic(lambda: Authority(runtime.default_mode, runtime.rules))
            cleared = runtime.clear(standing.found)
            return await render_dynamic(dynamic, standing.found, cleared, arguments, variables)

    return anyio.run(run)
