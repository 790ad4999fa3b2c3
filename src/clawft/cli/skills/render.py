"""`weft skills render NAME [ARGS…]`: exactly what a model would be told, and nothing else, on stdout."""

import sys

import click

from clawft.cli._complete import complete_skills
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import clean, print_json, say, show_diagnostic, to_json
from clawft.render import Arguments, Variables, render_skill, split_arguments

__all__ = ["command"]


@click.command("render", context_settings={"ignore_unknown_options": True})
@click.argument("name", shell_complete=complete_skills)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--args", "line", default="", help="The arguments as one line, as they would be typed after /NAME.")
@click.option("--session-id", default="", help="What $SESSION_ID stands for.")
@format_option
@dir_option
def command(name: str, args: tuple[str, ...], line: str, session_id: str, output: str, dirs: tuple[str, ...]) -> None:
    """Print the prompt of a skill with its arguments filled in."""
    if args and line:
        raise click.UsageError("Give the arguments either way, not both")
    app = open_here(dirs)
    standing = app.get_skill(name)
    skill = app.load_prompt(standing.found)
    variables = Variables(session_id, standing.found.base_dir, app.workspace.project)
    given = split_arguments(line) if line else Arguments(" ".join(args), args)
    rendered = render_skill(skill, given, variables, standing.found.file)
    warnings = [
        *standing.reasons,
        *(one for one in skill.diagnostics if one.code == "body-truncated"),
        *rendered.diagnostics,
    ]
    if output == "json":
        notes = [to_json(one) for one in warnings]
        return print_json("clawft.skills.render.v1", name=skill.name, prompt=rendered.text, diagnostics=notes)
    for diagnostic in warnings:
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.where))
    if not rendered.text:
        say(f"The skill '{skill.name}' has no instructions")
    if sys.stdout is not None:  # written as it is: echo would take escape sequences out
        sys.stdout.write((clean(rendered.text) if sys.stdout.isatty() else rendered.text) + "\n")
    return None
