"""A stranger's skill that is to run now: shown, and asked for."""

import sys

import click

from clawft.app import App
from clawft.cli.output import one_line, say
from clawft.cli.skills._review import review_lines
from clawft.errors import Refused
from clawft.trust import Standing

__all__ = ["approve_here"]


def approve_here(app: App, standing: Standing, *, yes: bool) -> None:
    """Have a person approve a skill, for good or for this run. Raises: ClawftError, Refused if they do not."""
    app.strangers.check_key(standing.found)
    review = app.desk.review(standing.found)
    where = app.workspace.shorten(standing.found.folder)
    refusal = f"The skill '{standing.name}' of {where} is not approved"
    if not yes:
        if sys.stdin is None or not sys.stdin.isatty():
            app.desk.refuse(review)
            hint = "To use it once, put --yes before its name"
            if (objection := app.strangers.object_to_use(standing.found)) is not None:
                hint = f"{objection.hint}. {hint}"
                refusal = f"The skill '{standing.name}' of {where}: {objection.message}"
            raise Refused("skill-untrusted", refusal, path=standing.found.file, hint=hint)
        for line in review_lines(review, app.workspace.shorten):
            say(line)
        said = click.prompt(
            one_line(f"Use {standing.name}? [a]lways as it is now, [o]nce, [n]o"),
            type=click.Choice(["a", "o", "n"]),
            default="n",
            show_choices=False,
            err=True,
        )
        if said == "n":
            app.desk.refuse(review)
            raise Refused("skill-untrusted", refusal)
        if said == "a":
            app.desk.approve([review])
            return
    app.desk.approve_for_run(review)
