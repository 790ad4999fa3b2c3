"""`weft skills install REF...`: skills from wherever they are, looked at first; nothing of them runs."""

from collections.abc import Sequence
from typing import Any

import anyio
import click
from msgspec import Struct

from clawft.app import App
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say, show_diagnostic, to_json
from clawft.cli.skills._supply import check_objections, planned_json, show_plans
from clawft.errors import Diagnostic
from clawft.sources.reference import parse_reference
from clawft.supply.install import Options, Transaction, Wanted, begin
from clawft.supply.plan import Allowing, Planned
from clawft.supply.scanning import Scans
from clawft.supply.stage import Staged
from clawft.supply.targets import CLIENTS, Scope, find_site
from clawft.supplying import finish_broken, open_sources, open_supplies

__all__ = ["command"]


class _Asked(Struct, frozen=True):
    """What was asked for."""

    scope: Scope
    to: tuple[str, ...]
    dry_run: bool
    force: bool
    rules: tuple[str, ...]
    because: str
    yes: bool
    output: str


@click.command("install")
@click.argument("references", nargs=-1, required=True, metavar="REF...")
@click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="For you, or for this project.",
)
@click.option(
    "--to",
    multiple=True,
    type=click.Choice([*CLIENTS, "all"]),
    default=("clawft",),
    show_default=True,
    help="Whose folders of skills (repeatable).",
)
@click.option("--dry-run", is_flag=True, help="Look at them, and install nothing.")
@click.option("--force", is_flag=True, help="Replace a folder that is not weft's, or a skill that was edited.")
@click.option("--allow", "rules", multiple=True, metavar="RULE", help="A rule of the scanner that may object in vain.")
@click.option("--because", default="", metavar="TEXT", help="Why, with --allow.")
@click.option("--yes", "-y", is_flag=True, help="Install and approve them as they are, without being asked.")
@format_option
def command(references: tuple[str, ...], **given: Any) -> int:
    """Install skills: each is downloaded, checked and scanned; you see what it could do, and are asked.

    Nothing of a skill runs. Either all of them are installed or none.
    """
    asked = _Asked(**given)
    if asked.rules and not asked.because.strip():
        raise click.UsageError('Say why: --because "…"')
    app = open_here()
    for one in finish_broken(app):
        show_diagnostic(one, where=app.workspace.shorten(one.path))
    site = find_site(app.workspace, asked.scope)
    options = Options(asked.to, asked.force, Allowing(asked.rules, one_line(asked.because)))
    supplies = open_supplies(app)
    with (
        Scans(len(references), app.scan_dir) as scans,
        begin(f"install {' '.join(references)}", site, asked.to, supplies) as transaction,
    ):
        staged = anyio.run(_stage, app, transaction, references, scans)
        plans = transaction.plan(staged, options)
        if asked.output == "table" or not asked.yes:
            show_plans(app, transaction, plans)
        check_objections(plans)
        if asked.dry_run:
            return _tell(transaction, plans, asked, (), installed=False)
        if not asked.yes and not _agree(app, plans):
            say("Nothing was installed")
            return 1
        said = transaction.commit(plans, options)
    return _tell(transaction, plans, asked, said, installed=True)


async def _stage(app: App, transaction: Transaction, references: Sequence[str], scans: Scans) -> list[Staged]:
    async with open_sources(app) as sources:
        wanted = []
        for text in references:
            reference = parse_reference(text, sources.registries, app.workspace.cwd, app.workspace.home)
            source = sources.find(reference)
            wanted += [Wanted(source, one) for one in await source.resolve(reference)]
        return await transaction.stage(wanted, scans)


def _agree(app: App, plans: Sequence[Planned]) -> bool:
    """Whether a person agrees; what they, or nobody, said no to is written down. Raises: Refused."""
    agreed = False
    names = ", ".join(one.name for one in plans[:3]) + (f" and {len(plans) - 3} more" if len(plans) > 3 else "")
    try:
        agreed = confirm(f"Install and approve {names}?", "To install a skill", "Look at it, then pass --yes")
    finally:
        for one in plans if not agreed else ():
            app.desk.refuse(one.review)
    return agreed


def _tell(
    transaction: Transaction, plans: Sequence[Planned], asked: _Asked, said: Sequence[Diagnostic], *, installed: bool
) -> int:
    for problem in said:
        show_diagnostic(problem, where=problem.path)
    if asked.output == "json":
        skills = [planned_json(transaction, one) for one in plans]
        print_json(
            "clawft.skills.install.v1", installed=installed, skills=skills, diagnostics=[to_json(one) for one in said]
        )
        return 0
    for one in plans:
        done = "Already installed" if one.is_same else "Installed" if installed else "Would be installed"
        click.echo(one_line(f"{done}: {one.name} {one.staged.resolved.version}"))
    return 0
