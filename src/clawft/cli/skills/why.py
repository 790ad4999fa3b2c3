"""`weft skills why NAME`: the state of a skill, how it was decided, and what would change it."""

import click

from clawft.app import App
from clawft.cli._complete import complete_skills
from clawft.cli.options import dir_option, finish, format_option, open_here
from clawft.cli.output import diagnostic_lines, one_line, print_json
from clawft.describe.diagnostics import to_json
from clawft.discovery.served import find_origin
from clawft.trust import STATES, Standing

__all__ = ["command", "why_lines"]


@click.command("why")
@click.argument("name", shell_complete=complete_skills)
@format_option
@dir_option
def command(name: str, output: str, dirs: tuple[str, ...]) -> None:
    """Explain why a skill is, or is not, offered to a model."""
    app = open_here(dirs)
    finish(app, change=False)
    chosen = app.get_skill(name)
    same = [chosen] if ":" in name else [one for one in app.skills if one.name == chosen.name]
    if output == "json":
        answers = [
            {
                "name": one.name,
                "scope": one.found.location.scope,
                "path": one.found.file,
                "state": one.state,
                "meaning": STATES[one.state],
                "model_invocable": one.offered,
                "user_invocable": one.user_may_invoke,
                "reasons": [to_json(reason) for reason in one.reasons],
                "diagnostics": [to_json(diagnostic) for diagnostic in app.diagnose(one.found)],
            }
            for one in same
        ]
        return print_json("clawft.skills.why.v1", name=chosen.name, skills=answers)
    for line in (line for one in same for line in why_lines(one, app)):
        click.echo(line)
    return None


def why_lines(standing: Standing, app: App) -> list[str]:
    """The state of a skill and the reasons for it, to be read."""
    workspace = app.workspace
    at = standing.found.location.scope
    name = standing.name if standing.usable else f"{standing.found.location.prefix}:{standing.name}"
    lines = [
        f"{one_line(standing.name)} is {standing.state}: {STATES[standing.state]}",
        f"  in {at}: {one_line(workspace.shorten(standing.found.file))}",
        f"  a model is {'told of it' if standing.offered else 'not told of it'}",
        f"  a person may start it as {one_line(name)}" if standing.user_may_invoke else "  a person may not start it",
    ]
    if at == "mcp":
        lines.insert(2, f"  it came from an MCP server: {one_line(find_origin(standing.found))}")
    for diagnostic in dict.fromkeys((*standing.reasons, *app.diagnose(standing.found))):
        elsewhere = diagnostic.path != standing.found.file
        where = (
            workspace.shorten(diagnostic.where) if elsewhere else f"line {diagnostic.line}" if diagnostic.line else ""
        )
        lines += diagnostic_lines(diagnostic, where=where, indent="  ")
    return lines
