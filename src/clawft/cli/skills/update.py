"""`weft skills update` and `list --outdated`: newer versions, and what they change."""

from collections.abc import Sequence

import anyio
import click
from msgspec import Struct, structs

from clawft.app.app import App
from clawft.app.install import open_sources, open_supplies
from clawft.cli.completion import complete_installed
from clawft.cli.options import finish_installation, format_option, open_here
from clawft.cli.output import (
    CommandResult,
    is_json_asked,
    one_line,
    print_table,
    say,
    scan_progress,
    show_diagnostic,
    show_diagnostics,
)
from clawft.cli.prompts import report_interrupt
from clawft.cli.skills.install import check_objections, confirm_plans, list_names, show_plans
from clawft.cli.skills.targets import allow_options, load_other_scope, scope_choice
from clawft.cli.skills.verify import make_signature_check
from clawft.errors import ClawftError, Diagnostic
from clawft.install.lockfile.file import load_lock
from clawft.install.lockfile.model import LockedSkill
from clawft.install.transaction.installation import InstallChoices, Transaction, WantedSkill, open_transaction
from clawft.install.transaction.plan import AllowedRules, PlannedSkill
from clawft.install.transaction.resolution import stage_dependencies
from clawft.install.transaction.scanning import ScanProcesses
from clawft.install.transaction.stage import StagedSkill
from clawft.install.transaction.targets import InstallScope, InstallSite, find_site
from clawft.install.transaction.updates import AvailableUpdate, choose_installed, compare_places, find_newer
from clawft.install.transaction.verification import Signed
from clawft.server.protocol.base import diagnostic_json
from clawft.server.views.install_plans import planned_json

NOTHING = "weft installed no skills here"


class _Row(Struct, frozen=True):
    site: InstallSite
    one: AvailableUpdate

    @property
    def cells(self) -> tuple[str, ...]:
        locked, newest = self.one.locked, self.one.newest
        held = f"pinned: {locked.pinned}" if locked.pinned else "older" if self.one.state == "older" else ""
        theirs = newest.verdict.status if newest and newest.verdict else "not scanned yet"
        ours = _version(locked.version, locked.commit)
        new = _version(newest.version, newest.commit) if newest else ""
        return locked.name, ours, new, theirs, self.site.scope, held


def list_outdated(app: App, scope: str) -> CommandResult:
    """Ask all sources what is newer there. Raises: ClawftError."""
    if scope not in ("all", "user", "project"):
        raise click.UsageError("--outdated is for what weft installed: --scope user or project")
    finish_installation(app, change=False)
    sites, diagnostics = _find_sites(app, scope)
    rows = anyio.run(_ask, app, sites)
    failed = _gather([row.one for row in rows])
    newer = [row for row in rows if row.one.state in ("newer", "older") or _is_held_back(row.one)]
    problems = (*diagnostics, *failed)

    def show_problems() -> None:
        show_diagnostics(problems, app.workspace.shorten)

    def show() -> None:
        if newer:
            heads = ("NAME", "INSTALLED", "NEWEST", "REGISTRY", "SCOPE", "")
            print_table(heads, [row.cells for row in newer], wide=5)
        show_problems()
        count = sum(row.one.problem is None for row in rows)
        unsure = sum(row.one.state == "unknown" for row in rows)
        if count or not rows:
            say(_count(len(newer), count) if count else NOTHING)
        for site in sites:
            names = [row.one.locked.name for row in newer if row.site == site and row.one.state == "newer"]
            scope = " --scope project" if site.scope == "project" else ""
            if names:
                say(one_line(f"To see what changes, and take it: weft skills update {' '.join(names)}{scope}"))
        if unsure:
            many = "1 skill has" if unsure == 1 else f"{unsure} skills have"
            say(f"{many} no version to compare: weft skills update --all --dry-run compares the files")

    if is_json_asked():
        show_problems()
    document = {"skills": [_plain(row) for row in newer], "diagnostics": list(map(diagnostic_json, problems))}
    return CommandResult("clawft.skills.outdated.v1", document, show, int(bool(problems)))


def _count(newer: int, count: int) -> str:
    if not newer:
        return "No installed skill has another version at its source"
    return f"{newer} of {count} {'skill' if count == 1 else 'skills'} {'has' if newer == 1 else 'have'} another version"


def _find_sites(app: App, scope: str) -> tuple[list[InstallSite], list[Diagnostic]]:
    wanted: list[InstallScope] = ["user", "project"] if scope == "all" else ["user" if scope == "user" else "project"]
    sites, diagnostics = [], []
    for wanted_scope in wanted:
        try:
            site = find_site(app.workspace, wanted_scope)
            load_lock(site.lock)
            sites.append(site)
        except ClawftError as error:
            if scope != "all" or error.code != "no-project":
                diagnostics.append(error.diagnostic)
    return sites, diagnostics


async def _ask(app: App, sites: list[InstallSite]) -> list[_Row]:
    rows = []
    async with open_sources(app) as sources:
        for site in sites:
            found = await find_newer(
                sources, site, list(load_lock(site.lock).values()), scan_progress("Asking sources")
            )
            rows += [_Row(site, update) for update in found]
    return rows


def _gather(asked: Sequence[AvailableUpdate]) -> list[Diagnostic]:
    """Group the problems, each once with the names of the skills that have it."""
    names: dict[Diagnostic, list[str]] = {}
    for update in asked:
        if update.problem is not None:
            names.setdefault(update.problem, []).append(update.locked.name)
    return [
        structs.replace(problem, message=f"{list_names(found)} could not be looked for: {problem.message}")
        for problem, found in names.items()
    ]


def _is_held_back(one: AvailableUpdate) -> bool:
    newest = one.newest
    return one.state == "pinned" and newest is not None and newest.version != one.locked.version


def _version(version: str, commit: str) -> str:
    return version or commit[:12] or "no version"


def _plain(row: _Row) -> dict[str, object]:
    locked, newest = row.one.locked, row.one.newest
    return {
        "name": locked.name,
        "scope": row.site.scope,
        "installed": locked.version,
        "installed_commit": locked.commit,
        "newest": newest.version if newest else None,
        "newest_commit": newest.commit if newest else None,
        "verdict": newest.verdict.status if newest and newest.verdict else None,
        "pinned": locked.pinned or None,
        "state": row.one.state,
    }


class _Outcome(Struct):
    """The result of an update."""

    plans: list[PlannedSkill] = []
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
def command(  # noqa: PLR0913  (one for each option)
    names: tuple[str, ...],
    every: bool,
    scope: InstallScope,
    signed: bool,
    dry_run: bool,
    force: bool,
    rules: tuple[str, ...],
    because: str,
    yes: bool,
) -> CommandResult | int:
    """Bring skills up to date: you see what changes in files, verdict and power, and are asked.

    What is pinned (`weft skills pin NAME --version`) stays as it is, and so does what you edited.
    """
    if bool(names) == every:
        raise click.UsageError("Say which: weft skills update NAME, or --all")
    app = open_here()
    finish_installation(app)
    site = find_site(app.workspace, scope)
    installed = choose_installed(site, load_lock(site.lock), names, load_other_scope(app, site))
    if not installed and not is_json_asked():
        say(f"weft installed no skills for this {site.scope}")
        _tell_other(app, site, every=every)
        return 0
    options = InstallChoices(force, AllowedRules(rules, one_line(because)), signed=signed, stay=True)
    to = sorted({client for skill in installed for client in skill.to if client in site.roots}) or ["clawft"]
    outcome = _Outcome()
    diagnostics: tuple[Diagnostic, ...] = ()
    with (
        ScanProcesses(len(installed), app.scan_dir) as scans,
        open_transaction(
            f"update {' '.join(skill.name for skill in installed)}"[:200], site, to, open_supplies(app)
        ) as transaction,
        report_interrupt("updated", lambda: transaction.written),
    ):
        staged = anyio.run(_stage, app, transaction, installed, force, scans, outcome)
        for planned in transaction.plan(staged, options):
            if planned.is_same:
                outcome.left.append((planned.name, "is up to date", None))
            elif planned.objections and every:  # one that is in the way does not keep the others back
                outcome.left.append((planned.name, "is left as it is", planned.objections[0]))
            else:
                outcome.plans.append(planned)
        if not (yes and is_json_asked()):
            show_plans(app, transaction, outcome.plans)
        _tell_left(app, outcome)
        check_objections(((plan.name, plan.objections) for plan in outcome.plans), "updated")
        if outcome.plans and not dry_run:
            if not yes and not confirm_plans(app, outcome.plans, "Update"):
                say("Nothing was updated")
                return 1
            diagnostics = transaction.commit(outcome.plans, options)
    return _report(app, transaction, outcome, diagnostics, every=every, dry_run=dry_run)


def _tell_other(app: App, site: InstallSite, *, every: bool) -> None:
    """Print which outdated skills of the other scope --all leaves out, though `list --outdated` lists them."""
    if every and (other := load_other_scope(app, site)):
        scope = "user" if site.scope == "project" else "project"
        many = "1 skill" if len(other) == 1 else f"{len(other)} skills"
        say(f"{many} installed for the {scope}: weft skills update --all --scope {scope}")


async def _stage(
    app: App,
    transaction: Transaction,
    installed: Sequence[LockedSkill],
    force: bool,
    scans: ScanProcesses,
    outcome: _Outcome,
) -> list[StagedSkill]:
    async with open_sources(app) as sources:
        renewed = await find_newer(sources, transaction.site, installed, scan_progress("Asking sources"))
        judge = make_signature_check(app.workspace)
        wanted = [update for update in renewed if _take(transaction.site, update, outcome, judge, force=force)]
        staged = await transaction.stage(
            [
                WantedSkill(update.source, update.newest, update.locked.requested, update.locked.name)
                for update in wanted
                if update.source and update.newest
            ],
            scans,
            scan_progress("Fetching and scanning skills"),
        )
        return await stage_dependencies(transaction, sources, staged, scans, lambda: app.catalog.versions)


def _take(site: InstallSite, one: AvailableUpdate, outcome: _Outcome, judge: Signed, *, force: bool) -> bool:
    """Return whether to fetch it; else it is noted why not."""
    name, newest = one.locked.name, one.newest.version if one.newest else ""
    if one.state == "failed":
        outcome.left.append((name, "could not be looked for", one.problem))
    elif one.state == "pinned":
        at = one.locked.version or one.locked.commit[:12] or "what it is"
        outcome.left.append((name, f"is pinned at {at}: {one.locked.pinned}", None))
    elif one.state == "same" and not any(found.any for found in compare_places(site, one.locked, judge).values()):
        outcome.left.append((name, "is up to date", None))
    elif one.state == "older" and not force:
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


def _report(
    app: App,
    transaction: Transaction,
    outcome: _Outcome,
    diagnostics: Sequence[Diagnostic],
    *,
    every: bool,
    dry_run: bool,
) -> CommandResult:
    show_diagnostics(diagnostics, str)
    failed = any(problem is not None and problem.code != "update-older" for _, _, problem in outcome.left)

    def show() -> None:
        for plan in outcome.plans:
            before = plan.old.version if plan.old and plan.old.version != plan.staged.resolved.version else ""
            done = "Would be updated" if dry_run else "Updated"
            click.echo(one_line(f"{done}: {plan.name} {before and f'{before} → '}{plan.staged.resolved.version}"))
        _tell_other(app, transaction.site, every=every)

    left = [
        {"name": name, "why": why, "problem": diagnostic_json(problem) if problem else None}
        for name, why, problem in outcome.left
    ]
    document = {
        "updated": not dry_run,
        "skills": [planned_json(transaction, plan) for plan in outcome.plans],
        "left": left,
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in diagnostics],
    }
    return CommandResult("clawft.skills.update.v1", document, show, int(failed))
