"""`weft skills update [NAME...]`: newer versions, with what they change shown first."""

from collections.abc import Sequence
from typing import Any

import anyio
import click
from msgspec import Struct

from clawft.app import App
from clawft.cli._complete import complete_installed
from clawft.cli._confirm import stopped_before
from clawft.cli._progress import scan_progress
from clawft.cli.options import finish, format_option, open_here
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.cli.skills._supply import agree, check_objections, show_plans
from clawft.cli.skills._targets import allow_options, load_other, scope_choice
from clawft.cli.skills._verifying import make_judge
from clawft.describe.diagnostics import to_json
from clawft.describe.plans import planned_json
from clawft.errors import Diagnostic
from clawft.locks.file import load_lock
from clawft.locks.model import LockedSkill
from clawft.supply.dependencies import bring_needed
from clawft.supply.install import Options, Transaction, Wanted, begin
from clawft.supply.plan import Allowing, Planned
from clawft.supply.scanning import Scans
from clawft.supply.stage import Staged
from clawft.supply.sync import compare_places
from clawft.supply.targets import Scope, Site, find_site
from clawft.supply.update import Renewed, choose_installed, find_newer
from clawft.supply.verify import Signed
from clawft.supplying import open_sources, open_supplies

__all__ = ["command"]


class _Asked(Struct, frozen=True):
    """What was asked for."""

    every: bool
    scope: Scope
    signed: bool
    dry_run: bool
    force: bool
    rules: tuple[str, ...]
    because: str
    yes: bool
    output: str


class _Outcome(Struct):
    """What came of it."""

    plans: list[Planned] = []
    left: list[tuple[str, str, Diagnostic | None]] = []  # name, why it is left as it is, what went wrong


@click.command("update")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_installed)
@click.option("--all", "every", is_flag=True, help="Every skill that weft installed.")
@scope_choice
@click.option("--require-signature", "signed", is_flag=True, help="Only what a publisher whom you trust signed.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option(
    "--force", is_flag=True, help="Replace what was edited, and go back to an older version if that is there."
)
@allow_options
@click.option("--yes", "-y", is_flag=True, help="Replace and approve them as they are, without being asked.")
@format_option
def command(names: tuple[str, ...], **given: Any) -> int:
    """Bring skills up to date: you see what changes in files, verdict and power, and are asked.

    What is pinned (`weft skills pin NAME --version`) stays as it is, and so does what you edited.
    """
    asked = _Asked(**given)
    if bool(names) == asked.every:
        raise click.UsageError("Say which: weft skills update NAME, or --all")
    app = open_here()
    finish(app)
    site = find_site(app.workspace, asked.scope)
    installed = choose_installed(site, load_lock(site.lock), names, load_other(app, site))
    if not installed and asked.output == "table":
        say(f"weft installed no skills for this {site.scope}")
        _tell_other(app, site, asked)
        return 0
    options = Options(asked.force, Allowing(asked.rules, one_line(asked.because)), signed=asked.signed, stay=True)
    to = sorted({client for one in installed for client in one.to if client in site.roots}) or ["clawft"]
    outcome = _Outcome()
    said: tuple[Diagnostic, ...] = ()
    with (
        Scans(len(installed), app.scan_dir) as scans,
        begin(f"update {' '.join(one.name for one in installed)}"[:200], site, to, open_supplies(app)) as transaction,
        stopped_before("updated", lambda: transaction.written),
    ):
        staged = anyio.run(_stage, app, transaction, installed, asked, scans, outcome)
        for one in transaction.plan(staged, options):
            if one.is_same:
                outcome.left.append((one.name, "is up to date", None))
            elif one.objections and asked.every:  # one that is in the way does not keep the others back
                outcome.left.append((one.name, "is left as it is", one.objections[0]))
            else:
                outcome.plans.append(one)
        if asked.output == "table" or not asked.yes:
            show_plans(app, transaction, outcome.plans)
        _tell_left(app, outcome)
        check_objections(((one.name, one.objections) for one in outcome.plans), "updated")
        if outcome.plans and not asked.dry_run:
            if not asked.yes and not agree(app, outcome.plans, "Update"):
                say("Nothing was updated")
                return 1
            said = transaction.commit(outcome.plans, options)
    code = _tell(transaction, outcome, asked, said)
    _tell_other(app, site, asked)
    return code


def _tell_other(app: App, site: Site, asked: _Asked) -> None:
    """What --all does not mean, though `list --outdated` lists it."""
    if asked.every and asked.output == "table" and (other := load_other(app, site)):
        scope = "user" if site.scope == "project" else "project"
        many = "1 skill" if len(other) == 1 else f"{len(other)} skills"
        say(f"{many} installed for the {scope}: weft skills update --all --scope {scope}")


async def _stage(
    app: App,
    transaction: Transaction,
    installed: Sequence[LockedSkill],
    asked: _Asked,
    scans: Scans,
    outcome: _Outcome,
) -> list[Staged]:
    async with open_sources(app) as sources:
        renewed = await find_newer(sources, transaction.site, installed, scan_progress("Asking sources"))
        judge = make_judge(app.workspace)
        wanted = [one for one in renewed if _take(transaction.site, one, asked, outcome, judge)]
        staged = await transaction.stage(
            [
                Wanted(one.source, one.newest, one.locked.requested, one.locked.name)
                for one in wanted
                if one.source and one.newest
            ],
            scans,
            scan_progress("Fetching and scanning skills"),
        )
        return await bring_needed(transaction, sources, staged, scans, lambda: app.catalog.versions)


def _take(site: Site, one: Renewed, asked: _Asked, outcome: _Outcome, judge: Signed) -> bool:
    """Whether to fetch it; else it is noted why not."""
    name, newest = one.locked.name, one.newest.version if one.newest else ""
    if one.state == "failed":
        outcome.left.append((name, "could not be looked for", one.problem))
    elif one.state == "pinned":
        at = one.locked.version or one.locked.commit[:12] or "what it is"
        outcome.left.append((name, f"is pinned at {at}: {one.locked.pinned}", None))
    elif one.state == "same" and not any(found.any for found in compare_places(site, one.locked, judge).values()):
        outcome.left.append((name, "is up to date", None))
    elif one.state == "older" and not asked.force:
        message = f"Its source has {newest}, which is older than {one.locked.version}"
        problem = Diagnostic("update-older", "warning", message, site.lock, 0, "To go back to it: --force")
        outcome.left.append((name, "is left as it is", problem))
    else:
        return True
    return False


def _tell_left(app: App, outcome: _Outcome) -> None:
    for name, why, problem in outcome.left:
        say(one_line(f"{name} {why}"))
        if problem is not None:
            show_diagnostic(problem, where=app.workspace.shorten(problem.where), indent="  ")


def _tell(transaction: Transaction, outcome: _Outcome, asked: _Asked, said: Sequence[Diagnostic]) -> int:
    for problem in said:
        show_diagnostic(problem, where=problem.path)
    failed = any(problem is not None and problem.code != "update-older" for _, _, problem in outcome.left)
    if asked.output == "json":
        left = [
            {"name": name, "why": why, "problem": to_json(problem) if problem else None}
            for name, why, problem in outcome.left
        ]
        skills = [planned_json(transaction, one) for one in outcome.plans]
        print_json(
            "clawft.skills.update.v1",
            updated=not asked.dry_run,
            skills=skills,
            left=left,
            diagnostics=[to_json(one) for one in said],
        )
        return 1 if failed else 0
    for one in outcome.plans:
        before = one.old.version if one.old and one.old.version != one.staged.resolved.version else ""
        done = "Would be updated" if asked.dry_run else "Updated"
        click.echo(one_line(f"{done}: {one.name} {before and f'{before} → '}{one.staged.resolved.version}"))
    return 1 if failed else 0
