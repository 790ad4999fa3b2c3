"""`weft skills sync`: make the skill folders match the lock file, or import what other installers brought."""

import os
from collections.abc import Sequence
from typing import Any

import anyio
import click
from msgspec import Struct, structs

from clawft.app.app import App
from clawft.app.install import open_install_effects, open_sources, open_supplies
from clawft.cli.options import finish_installation, format_option, open_here
from clawft.cli.output import CommandResult, is_json_asked, one_line, say, say_lines, scan_progress, show_diagnostics
from clawft.cli.prompts import confirm, report_interrupt
from clawft.cli.review import review_lines
from clawft.cli.skills.install import check_objections, confirm_plans, list_names, show_plans
from clawft.cli.skills.show import load_signature
from clawft.cli.skills.targets import allow_options
from clawft.cli.skills.verify import installed_scope_option, make_signature_check
from clawft.errors import ClawftError, Diagnostic
from clawft.install.lockfile.file import load_lock
from clawft.install.lockfile.model import LockedSkill
from clawft.install.transaction.apply import lock_transactions
from clawft.install.transaction.imports import ForeignSkill, find_foreign, keep_same, tell_left, want_foreign
from clawft.install.transaction.installation import InstallChoices, Transaction, open_transaction
from clawft.install.transaction.plan import AllowedRules, Removal, compute_folder_digest
from clawft.install.transaction.scanning import ScanProcesses
from clawft.install.transaction.stage import StagedSkill
from clawft.install.transaction.targets import InstallScope, InstallSite, find_site
from clawft.install.transaction.updates import (
    SyncTask,
    check_exact,
    check_signed,
    find_tasks,
    find_unlocked,
    load_merged_lock,
    want_exact,
)
from clawft.server.protocol.base import diagnostic_json
from clawft.server.views.install_plans import planned_json
from clawft.skills.discovery import DiscoveredSkill
from clawft.trust.approvals import make_approval
from clawft.trust.review import Review
from clawft.trust.signing.signatures import Signature, require_signature


def import_installed(
    app: App, site: InstallSite, options: InstallChoices, *, yes: bool, dry_run: bool
) -> list[dict[str, Any]]:
    """Fetch each skill at its installed version, show it, and replace the installed copy if the user agrees.

    Raises: ClawftError; Refused where nobody can be asked.
    """
    found, left = find_foreign(site, app.environ, load_lock(site.lock))
    taken: list[dict[str, Any]] = []
    for client in sorted({skill.checked.client for skill in found}):
        here = [skill for skill in found if skill.checked.client == client]
        with (
            ScanProcesses(len(here), app.scan_dir) as scans,
            open_transaction("sync --import", site, (client,), open_supplies(app)) as transaction,
        ):
            staged, problems = anyio.run(_stage_importing, app, transaction, here, scans)
            left += problems
            plans = transaction.plan(staged, options)
            if not plans:
                continue
            show_plans(app, transaction, plans)
            check_objections(((plan.name, plan.objections) for plan in plans), "taken over")
            taken += [planned_json(transaction, plan) for plan in plans]
            if dry_run:
                continue
            if not yes and not confirm_plans(app, plans, "Take over"):
                say("Nothing was taken over")
                return []
            show_diagnostics(transaction.commit(plans, options), app.workspace.shorten)
    show_diagnostics(tell_left(left), app.workspace.shorten)
    return taken


async def _stage_importing(
    app: App, transaction: Transaction, found: Sequence[ForeignSkill], scans: ScanProcesses
) -> tuple[list[StagedSkill], list[tuple[str, str]]]:
    async with open_sources(app) as sources:
        wanted, left = await want_foreign(sources, transaction.site, found)
        came = await transaction.stage(wanted, scans, scan_progress("Fetching and scanning skills"))
        staged, changed = keep_same(came, found)
        return staged, left + changed


class _Asked(Struct, frozen=True):
    """Options of the command."""

    scope: str
    frozen: bool
    prune: bool
    importing: bool
    dry_run: bool
    rules: tuple[str, ...]
    because: str
    yes: bool


class _Outcome(Struct):
    """The result for one scope."""

    site: InstallSite
    lock: dict[str, LockedSkill]
    healed: bool = False
    restored: list[dict[str, Any]] = []
    removed: list[str] = []
    approved: list[str] = []
    untrusted: list[str] = []
    notes: tuple[Diagnostic, ...] = ()


@click.command("sync")
@installed_scope_option
@click.option(
    "--frozen", is_flag=True, help="For CI: ask nothing, and never change the lock. Approves only with --yes."
)
@click.option("--prune", is_flag=True, help="Remove what weft installed and the lock names no more.")
@click.option(
    "--import", "importing", is_flag=True, help="First take over what the clawhub and skills commands installed."
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@allow_options
@click.option("--yes", "-y", is_flag=True, help="Replace, approve and, with --prune, remove without being asked.")
@format_option
def command(**values: Any) -> CommandResult:
    """Make the folders of skills what the lock says.

    What is missing or was changed comes back just as it was installed: from this machine, or from where it came, and
    only with the digest that the lock has. A lock in which git left two versions is joined where these agree.
    """
    asked = _Asked(**values)
    if asked.frozen and asked.importing:
        raise click.UsageError("--frozen never changes the lock, and --import does")
    app = open_here()
    finish_installation(app)
    imported = _import(app, asked) if asked.importing else []
    locked = [site for site in _find_sites(app, asked.scope) if os.path.lexists(site.lock)]
    outcomes = [_sync(app, site, asked) for site in locked]  # told of one after the other, as it is done
    if not outcomes and not imported:
        hint = "What was installed with weft skills install is in one"
        raise ClawftError("no-lock", "There is no lock to go by", path=_first_lock(app, asked.scope), hint=hint)
    scopes = [_as_json(outcome) for outcome in outcomes]
    document = {"frozen": asked.frozen, "done": not asked.dry_run, "imported": imported, "scopes": scopes}
    return CommandResult("clawft.skills.sync.v1", document, lambda: None)


def _import(app: App, asked: _Asked) -> list[dict[str, Any]]:
    """Take over what others installed. Raises: ClawftError."""
    options = InstallChoices(force=True, allowing=AllowedRules(asked.rules, one_line(asked.because)))
    taken = []
    for site in _find_sites(app, asked.scope):
        taken += import_installed(app, site, options, yes=asked.yes, dry_run=asked.dry_run)
    for skill in () if is_json_asked() else taken:
        done = "Would be taken over" if asked.dry_run else "Taken over"
        click.echo(one_line(f"{done}: {skill['name']} {skill['version']}"))
    return taken


def _find_sites(app: App, scope: str) -> list[InstallSite]:
    """The scopes that are asked for."""
    scopes: tuple[InstallScope, ...] = ("user", "project")
    sites = []
    for name in scopes if scope == "all" else (scope,):
        try:
            sites.append(find_site(app.workspace, "project" if name == "project" else "user"))
        except ClawftError:
            if scope != "all":
                raise
    return sites


def _first_lock(app: App, scope: str) -> str:
    return find_site(app.workspace, "project" if scope == "project" else "user").lock


def _sync(app: App, site: InstallSite, asked: _Asked) -> _Outcome:
    """Synchronize one scope. Raises: ClawftError; click.Abort if the user declined."""
    if asked.frozen or asked.dry_run:
        lock, healed = load_merged_lock(site, write=False)
    else:
        with lock_transactions(open_install_effects(app)):  # nobody else writes the lock meanwhile
            lock, healed = load_merged_lock(site, write=True)
    outcome = _Outcome(site, lock, healed)
    if healed:
        say(f"Joined two versions of {app.workspace.shorten(site.lock)}, which agree")
    tasks = find_tasks(site, lock, app.approved_copies.find, make_signature_check(app.workspace))
    if tasks:
        _restore(app, tasks, asked, outcome)
    if not (tasks and asked.dry_run):
        _approve(app, asked, outcome)
    if asked.prune:
        _prune(app, asked, outcome)
    _tell(app, asked, outcome, tasks)
    return outcome


def _restore(app: App, tasks: Sequence[SyncTask], asked: _Asked, outcome: _Outcome) -> None:
    allowing = AllowedRules(asked.rules, one_line(asked.because))
    approve = asked.yes or not asked.frozen
    options = InstallChoices(force=True, allowing=allowing, stay=True, exact=True, approve=approve)
    site = outcome.site
    to = sorted({client for task in tasks for client in task.differences})
    with (
        ScanProcesses(len(tasks), app.scan_dir) as scans,
        open_transaction(
            f"sync {list_names([task.skill.name for task in tasks])}", site, to, open_supplies(app)
        ) as transaction,
        report_interrupt("restored", lambda: transaction.written),
    ):
        staged = anyio.run(_stage_sync, app, transaction, tasks, scans)
        check_exact(staged, tasks, site.lock)
        plans = transaction.plan(staged, options)
        if not (is_json_asked() and (asked.yes or asked.frozen)):
            show_plans(app, transaction, plans)
        check_objections(((plan.name, plan.objections) for plan in plans), "restored")
        check_signed(plans, site.lock)
        outcome.restored = [planned_json(transaction, plan) for plan in plans]
        if asked.dry_run:
            return
        if approve and not asked.yes and not confirm_plans(app, plans, "Restore"):
            raise click.Abort
        outcome.notes = transaction.commit(plans, options)


async def _stage_sync(
    app: App, transaction: Transaction, tasks: Sequence[SyncTask], scans: ScanProcesses
) -> list[StagedSkill]:
    async with open_sources(app) as sources:
        return await transaction.stage(
            await want_exact(sources, transaction.site, tasks), scans, scan_progress("Fetching and scanning skills")
        )


def _approve(app: App, asked: _Asked, outcome: _Outcome) -> None:
    """Find skills that match the lock and were never approved: approve them with --yes after showing them, else only
    list them."""
    site, app = outcome.site, app.refresh()
    locked = outcome.lock.values()
    places = {site.folder(client, skill.name): skill for skill in locked for client in skill.to if client in site.roots}
    waiting = [skill for skill in app.skills if skill.found.folder in places and skill.state == "untrusted"]
    reviews = []
    reported: set[str] = set()
    for candidate in waiting:
        try:
            app.trust_policy.check_key(candidate.found)
            reviews += [_review(app, candidate.found)] if asked.yes and not asked.dry_run else []
        except ClawftError as error:
            outcome.notes += (error.diagnostic,) if candidate.name not in reported else ()  # once for all copies
            reported.add(candidate.name)
            waiting = [other for other in waiting if other is not candidate]
    reviews = [review for review in reviews if review.digest == places[review.found.folder].digest]
    for review in {
        review.found.name: review for review in reversed(reviews)
    }.values():  # copies are alike: their digest is
        say_lines(review_lines(review, app.workspace.shorten))
        say()
    made = [
        make_approval("skill", review.found.folder, review.digest, review.found.name, review.report.power)
        for review in reviews
    ]
    outcome.notes += app.reviewer.approve_installed([structs.replace(approval, installed=True) for approval in made])
    approved = {review.found.folder for review in reviews}
    outcome.approved = sorted({places[folder].name for folder in approved})
    outcome.untrusted = sorted(
        {places[skill.found.folder].name for skill in waiting if skill.found.folder not in approved}
    )


def _review(app: App, found: DiscoveredSkill) -> Review[DiscoveredSkill]:
    """Raises: Refused for a skill that would not be installed either: its signature is in the way."""
    review = app.reviewer.review(found)
    signature = load_signature(app, found, review.digest) or Signature("unsigned")
    required = app.own_config.skills.security.require_signature
    require_signature(signature, required=required, path=found.folder)
    return review


def _prune(app: App, asked: _Asked, outcome: _Outcome) -> None:
    """Remove what weft installed and the lock names no more, after asking. Raises: Refused where nobody can be."""
    site = outcome.site
    unlocked = find_unlocked(site, outcome.lock)
    names = [name for name in unlocked if _is_as_installed(app, site.folder("clawft", name))]
    left = [name for name in unlocked if name not in names]
    if left:
        say(one_line(f"In no lock, but made or changed by somebody, so they stay: {list_names(left)}"))
    if not names:
        return
    places = [site.folder("clawft", name) for name in names]
    say("Installed, and in the lock no more:")
    for place in places:
        say(f"  {one_line(app.workspace.shorten(place))}")
    outcome.removed = names
    if asked.dry_run:
        return
    question = f"Remove {list_names(names)}? They are in no lock, and cannot be had back"
    if not asked.yes and not confirm(question, "To remove skills", "Look at them, then pass --yes"):
        raise click.Abort("Nothing was removed")
    with open_transaction("sync --prune", site, ("clawft",), open_supplies(app)) as transaction:
        removals = [Removal(name, (place,)) for name, place in zip(names, places, strict=True)]
        outcome.notes += transaction.remove(removals)


def _is_as_installed(app: App, place: str) -> bool:
    """Return whether weft put a folder there, and nobody changed it since: what anybody made is not ours to remove."""
    approval = app.approvals.find("skill", place)
    return approval is not None and approval.installed and compute_folder_digest(place) == approval.digest


def _tell(app: App, asked: _Asked, outcome: _Outcome, tasks: Sequence[SyncTask]) -> None:
    show_diagnostics(outcome.notes, app.workspace.shorten)
    if is_json_asked():
        return
    for task in tasks:
        is_missing = all(difference.is_absent for difference in task.differences.values())
        done = ("Would be " if asked.dry_run else "") + ("installed" if is_missing else "restored")
        click.echo(one_line(f"{done[0].upper()}{done[1:]}: {task.skill.name} {task.skill.version}"))
    for name in outcome.removed:
        click.echo(f"{'Would be removed' if asked.dry_run else 'Removed'}: {name}")
    for name in outcome.approved:
        click.echo(f"Approved: {name}")
    if outcome.untrusted:
        say(f"Not approved, so not used: {', '.join(outcome.untrusted)}. Look at them, then: weft skills trust NAME")
    same = len(outcome.lock) - len(tasks)
    if same or not tasks:
        other = " other" * bool(tasks)
        many = f"1{other} skill was" if same == 1 else f"{same}{other} skills were"
        say(f"{app.workspace.shorten(outcome.site.lock)}: {many} as it says")


def _as_json(outcome: _Outcome) -> dict[str, Any]:
    return {
        "scope": outcome.site.scope,
        "lock": outcome.site.lock,
        "healed": outcome.healed,
        "skills": outcome.restored,
        "removed": outcome.removed,
        "approved": outcome.approved,
        "untrusted": outcome.untrusted,
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in outcome.notes],
    }
