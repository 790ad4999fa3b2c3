"""`weft skills why NAME`: the state of a skill, how it was decided, and what would change it."""

import click

from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import one_line, print_json, show_diagnostic, to_json
from clawft.errors import Diagnostic
from clawft.trust import STATES, Standing

__all__ = ["command"]


@click.command("why")
@click.argument("name")
@format_option
@dir_option
def command(name: str, output: str, dirs: tuple[str, ...]) -> None:
    """Explain why a skill is, or is not, offered to a model."""
    app = open_here(dirs)
    chosen = app.get_skill(name)
    same = [one for one in app.skills if one.name == chosen.name]
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
                "diagnostics": [to_json(diagnostic) for diagnostic in one.found.diagnostics],
            }
            for one in same
        ]
        return print_json("clawft.skills.why.v1", name=chosen.name, skills=answers)
    for one in same:
        _explain(one, app.workspace.shorten(one.found.file))
    return None


def _explain(standing: Standing, path: str) -> None:
    click.echo(f"{one_line(standing.name)} is {standing.state}: {STATES[standing.state]}")
    click.echo(f"  in {standing.found.location.scope}: {path}")
    for reason in standing.reasons:
        _show(reason)
    click.echo(f"  a model is {'told of it' if standing.offered else 'not told of it'}")
    click.echo(f"  a person {'may' if standing.user_may_invoke else 'may not'} start it by name")
    others = [one for one in standing.found.diagnostics if one not in standing.reasons]
    for diagnostic in others:
        _show(diagnostic)


def _show(diagnostic: Diagnostic) -> None:
    where = f"line {diagnostic.line}" if diagnostic.line else None
    show_diagnostic(diagnostic, err=False, where=where or "", indent="  ")
