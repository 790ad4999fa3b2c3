"""What `weft skills install` does once it knows what is asked for: stage, show, ask, commit, tell."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import anyio
import click
from msgspec import Struct

from clawft.app import App
from clawft.cli._confirm import stopped_before
from clawft.cli._progress import scan_progress
from clawft.cli.options import finish
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.cli.skills._supply import MANY, agree, check_objections, show_plans
from clawft.describe.diagnostics import to_json
from clawft.describe.plans import find_unmet, planned_json
from clawft.errors import Diagnostic
from clawft.sources.model import Reference
from clawft.sources.reference import parse_reference
from clawft.supply.asking import Asking
from clawft.supply.choosing import Choice
from clawft.supply.install import Options, Transaction, begin
from clawft.supply.plan import Allowing, Planned
from clawft.supply.scanning import Scans
from clawft.supply.stage import Staged
from clawft.supply.targets import Scope, find_site
from clawft.supplying import open_sources, open_supplies

__all__ = ["Asked", "install"]


class Asked(Struct, frozen=True):
    """What was asked for."""

    scope: Scope
    to: tuple[str, ...]
    skills: tuple[str, ...]
    every: bool
    registry: str
    digest: str
    signed: bool
    dry_run: bool
    force: bool
    rules: tuple[str, ...]
    because: str
    yes: bool
    output: str


def install(app: App, references: Sequence[str], asked: Asked, scans: Scans) -> int:
    """Install skills; the exit code. Raises: ClawftError."""
    finish(app)
    site = find_site(app.workspace, asked.scope)
    allowing = Allowing(asked.rules, one_line(asked.because))
    options = Options(asked.force, allowing, asked.digest, asked.signed)
    with (
        begin(f"install {' '.join(references)}"[:200], site, asked.to, open_supplies(app)) as transaction,
        stopped_before("installed", lambda: transaction.written),
    ):
        staged = anyio.run(_stage, app, transaction, references, asked, scans)
        plans = transaction.plan(staged, options)
        if asked.output == "table" or not asked.yes:
            show_plans(app, transaction, plans)
        check_objections((one.name, one.objections) for one in plans)
        if asked.dry_run:
            return _tell(app, transaction, plans, asked, None)
        if not asked.yes and not agree(app, plans, "Install"):
            say("Nothing was installed")
            return 1
        said = transaction.commit(plans, options)
    return _tell(app, transaction, plans, asked, said)


async def _stage(
    app: App, transaction: Transaction, references: Sequence[str], asked: Asked, scans: Scans
) -> list[Staged]:
    async with open_sources(app) as sources:
        parsed = [_parse(app, text, asked.registry, sources.registries) for text in references]
        asking = Asking(sources, scans, lambda: app.catalog.versions)
        progress = scan_progress("Fetching and scanning skills")
        return await asking.stage(transaction, parsed, Choice(asked.skills, asked.every), progress)


def _parse(app: App, text: str, registry: str, registries: Any) -> Reference:
    """Raises: ClawftError; UsageError where --registry says nothing."""
    workspace = app.workspace
    found = parse_reference(text, registries, workspace.cwd, workspace.home)
    if found.registry and os.path.isdir(os.path.join(workspace.cwd, text)):
        say(one_line(f"{text} is looked for in the registry {registry or found.registry}; the folder here is ./{text}"))
    if not registry:
        return found
    if not found.registry:
        raise click.UsageError(f"--registry is for names in a registry, and {text} is none")
    return parse_reference(f"{registry}:{text}", registries, workspace.cwd, workspace.home)


def _tell(
    app: App, transaction: Transaction, plans: Sequence[Planned], asked: Asked, said: Sequence[Diagnostic] | None
) -> int:
    """What came of it; nothing was installed where there is nothing that it could have said."""
    installed = said is not None
    unmet = {one.name: find_unmet(app, one) for one in plans}
    for problem in said or ():
        show_diagnostic(problem, where=problem.path)
    if asked.output == "json":
        skills = [planned_json(transaction, one) | {"unmet": list(map(to_json, unmet[one.name]))} for one in plans]
        told = [to_json(one) for one in said or ()]
        print_json("clawft.skills.install.v1", installed=installed, skills=skills, diagnostics=told)
        return 0
    done = Counter(_name_outcome(one, installed) for one in plans)
    for one in plans if len(plans) <= MANY else ():
        click.echo(one_line(f"{_name_outcome(one, installed)}: {one.name} {one.staged.resolved.version}"))
    for what, count in done.items() if len(plans) > MANY else ():
        click.echo(f"{what}: {count} skills")
    for name, needs in unmet.items():
        for need in needs:
            show_diagnostic(need, where="")
        if needs and installed:
            say(one_line(f"{name} is not offered to models until it has that"))
    return 0


def _name_outcome(one: Planned, installed: bool) -> str:
    return "Already installed" if one.is_same else "Installed" if installed else "Would be installed"
