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
    review = app.review(standing.found)
    where = app.workspace.shorten(standing.found.folder)
    refusal = f"The skill '{standing.name}' of {where} is not approved"
    if not yes:
        if sys.stdin is None or not sys.stdin.isatty():
            _deny(app, standing, review.digest)
            hint = f"Look at it, then: weft skills trust {standing.name}; or pass --yes to use it once"
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
            _deny(app, standing, review.digest)
            raise Refused("skill-untrusted", refusal)
        if said == "a":
            app.approve([review])
            return
    app.approve_for_run(review)


def _deny(app: App, standing: Standing, digest: str) -> None:
    place = standing.found.folder
    app.audit.tell("approval", f"skill {place}", decision="denied", skill=standing.name, digest=digest)
