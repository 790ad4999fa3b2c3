"""`weft skills why` and `stats`: what decided the state of a skill, and how often each skill is used."""

import click
import msgspec

from clawft.app.app import App
from clawft.cli.completion import complete_skills
from clawft.cli.options import dir_option, finish_installation, format_option, open_here
from clawft.cli.output import CommandResult, diagnostic_lines, one_line, print_table
from clawft.server.protocol.base import diagnostic_json
from clawft.server.views.runs import view_skill_usage
from clawft.skills.discovery.mcp_copies import find_origin
from clawft.trust.status import STATES, SkillStatus


@click.command("why")
@click.argument("name", shell_complete=complete_skills)
@format_option
@dir_option
def why_command(name: str, dirs: tuple[str, ...]) -> CommandResult:
    """Explain why a skill is, or is not, offered to a model."""
    app = open_here(dirs)
    finish_installation(app, change=False)
    chosen = app.get_skill(name)
    same = [chosen] if ":" in name else [skill for skill in app.skills if skill.name == chosen.name]
    answers = [
        {
            "name": skill.name,
            "scope": skill.found.location.scope,
            "path": skill.found.file,
            "state": skill.state,
            "meaning": STATES[skill.state],
            "model_invocable": skill.offered,
            "user_invocable": skill.user_may_invoke,
            "reasons": [diagnostic_json(reason) for reason in skill.reasons],
            "diagnostics": [diagnostic_json(diagnostic) for diagnostic in app.diagnose(skill.found)],
        }
        for skill in same
    ]

    def show() -> None:
        for line in (line for skill in same for line in why_lines(skill, app)):
            click.echo(line)

    return CommandResult("clawft.skills.why.v1", {"name": chosen.name, "skills": answers}, show)


def why_lines(status: SkillStatus, app: App) -> list[str]:
    """The state of a skill and the reasons for it, to be read."""
    workspace = app.workspace
    at = status.found.location.scope
    name = status.name if status.usable else f"{status.found.location.prefix}:{status.name}"
    lines = [
        f"{one_line(status.name)} is {status.state}: {STATES[status.state]}",
        f"  in {at}: {one_line(workspace.shorten(status.found.file))}",
        f"  a model is {'told of it' if status.offered else 'not told of it'}",
        f"  a person may start it as {one_line(name)}" if status.user_may_invoke else "  a person may not start it",
    ]
    if at == "mcp":
        lines.insert(2, f"  it came from an MCP server: {one_line(find_origin(status.found))}")
    for diagnostic in dict.fromkeys((*status.reasons, *app.diagnose(status.found))):
        elsewhere = diagnostic.path != status.found.file
        where = (
            workspace.shorten(diagnostic.where) if elsewhere else f"line {diagnostic.line}" if diagnostic.line else ""
        )
        lines += diagnostic_lines(diagnostic, where=where, indent="  ")
    return lines


@click.command("stats")
@click.option("--unused", is_flag=True, help="Only skills that were never loaded.")
@format_option
def stats_command(unused: bool) -> CommandResult:
    """Show how often each skill was offered to a model and loaded, and how the turns went."""
    app = open_here()
    shown = view_skill_usage(app)
    if unused:
        shown = [entry for entry in shown if not entry.loaded]

    def show() -> None:
        rows = [
            (
                entry.name,
                str(entry.offered),
                str(entry.loaded),
                f"{entry.score:.2f}" if entry.loaded else "-",
                entry.last_loaded[:10] or ("never" if entry.here else "never (gone)"),
            )
            for entry in shown
        ]
        print_table(("NAME", "OFFERED", "LOADED", "SCORE", "LAST LOADED"), rows, wide=0)

    return CommandResult("clawft.skills.stats.v1", {"skills": msgspec.to_builtins(shown)}, show)
