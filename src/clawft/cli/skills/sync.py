"""`weft skills sync`: the folders of skills made what the lock says."""

import os
from collections.abc import Sequence
from typing import Any

import anyio
import click
from msgspec import Struct, structs

from clawft.app import App
from clawft.cli._confirm import confirm, stopped_before
from clawft.cli._progress import scan_progress
from clawft.cli.options import finish, format_option, open_here
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.cli.skills._review import review_lines
from clawft.cli.skills._signature import load_signature
from clawft.cli.skills._supply import agree, check_objections, list_names, show_plans
from clawft.cli.skills._targets import allow_options
from clawft.cli.skills._verifying import installed_scope_option, make_judge
from clawft.describe.diagnostics import to_json
from clawft.describe.plans import planned_json
from clawft.discovery import Found
from clawft.errors import ClawftError, Diagnostic
from clawft.locks.model import LockedSkill
from clawft.signing.check import Signature, is_required, require_signature
from clawft.supply.apply import take_turn
from clawft.supply.install import Options, Transaction, begin
from clawft.supply.plan import Allowing, look_at
from clawft.supply.remove import Removal
from clawft.supply.scanning import Scans
from clawft.supply.stage import Staged
from clawft.supply.sync import Task, check_exact, check_signed, find_tasks, find_unlocked, load_or_heal, want_exact
from clawft.supply.targets import Scope, Site, find_site
from clawft.supplying import open_hands, open_sources, open_supplies
from clawft.trust.approvals import make_approval
from clawft.trust.review import Review

__all__ = ["command"]


class _Asked(Struct, frozen=True):
    """What was asked for."""

    scope: str
    frozen: bool
    prune: bool
    importing: bool
    dry_run: bool
    rules: tuple[str, ...]
    because: str
    yes: bool
    output: str


class _Outcome(Struct):
    """What came of one scope."""

    site: Site
    lock: dict[str, LockedSkill]
    healed: bool = False
    restored: list[dict[str, Any]] = []
    removed: list[str] = []
    approved: list[str] = []
    untrusted: list[str] = []
    said: tuple[Diagnostic, ...] = ()


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
def command(**given: Any) -> int:
    """Make the folders of skills what the lock says.

    What is missing or was changed comes back just as it was installed: from this machine, or from where it came, and
    only with the digest that the lock has. A lock in which git left two versions is joined where these agree.
    """
    asked = _Asked(**given)
    if asked.frozen and asked.importing:
        raise click.UsageError("--frozen never changes the lock, and --import does")
    app = open_here()
    finish(app)
    imported = _import(app, asked) if asked.importing else []
    locked = [site for site in _find_sites(app, asked.scope) if os.path.lexists(site.lock)]
    outcomes = [_sync(app, site, asked) for site in locked]
    if not outcomes and not imported:
        hint = "What was installed with weft skills install is in one"
        raise ClawftError("no-lock", "There is no lock to go by", path=_first_lock(app, asked.scope), hint=hint)
    if asked.output == "json":
        done = [_as_json(one) for one in outcomes]
        print_json("clawft.skills.sync.v1", frozen=asked.frozen, done=not asked.dry_run, imported=imported, scopes=done)
    return 0


def _import(app: App, asked: _Asked) -> list[dict[str, Any]]:
    """Take over what others installed. Raises: ClawftError."""
    from clawft.cli.skills._importing import import_others

    options = Options(force=True, allowing=Allowing(asked.rules, one_line(asked.because)))
    taken = []
    for site in _find_sites(app, asked.scope):
        taken += import_others(app, site, options, yes=asked.yes, dry_run=asked.dry_run)
    for one in taken if asked.output == "table" else ():
        done = "Would be taken over" if asked.dry_run else "Taken over"
        click.echo(one_line(f"{done}: {one['name']} {one['version']}"))
    return taken


def _find_sites(app: App, scope: str) -> list[Site]:
    """The scopes that are asked for."""
    scopes: tuple[Scope, ...] = ("user", "project")
    sites = []
    for one in scopes if scope == "all" else (scope,):
        try:
            sites.append(find_site(app.workspace, "project" if one == "project" else "user"))
        except ClawftError:
            if scope != "all":
                raise
    return sites


def _first_lock(app: App, scope: str) -> str:
    return find_site(app.workspace, "project" if scope == "project" else "user").lock


def _sync(app: App, site: Site, asked: _Asked) -> _Outcome:
    """One scope. Raises: ClawftError; click.Abort where somebody said no."""
    if asked.frozen or asked.dry_run:
        lock, healed = load_or_heal(site, write=False)
    else:
        with take_turn(open_hands(app)):  # nobody else writes the lock meanwhile
            lock, healed = load_or_heal(site, write=True)
    outcome = _Outcome(site, lock, healed)
    if healed:
        say(f"Joined two versions of {app.workspace.shorten(site.lock)}, which agree")
    tasks = find_tasks(site, lock, app.kept.find, make_judge(app.workspace))
    if tasks:
        _restore(app, tasks, asked, outcome)
    if not (tasks and asked.dry_run):
        _approve(app, asked, outcome)
    if asked.prune:
        _prune(app, asked, outcome)
    _tell(app, asked, outcome, tasks)
    return outcome


def _restore(app: App, tasks: Sequence[Task], asked: _Asked, outcome: _Outcome) -> None:
    allowing = Allowing(asked.rules, one_line(asked.because))
    approve = asked.yes or not asked.frozen
    options = Options(force=True, allowing=allowing, stay=True, exact=True, approve=approve)
    site = outcome.site
    to = sorted({client for task in tasks for client in task.differences})
    with (
        Scans(len(tasks), app.scan_dir) as scans,
        begin(f"sync {list_names([task.skill.name for task in tasks])}", site, to, open_supplies(app)) as transaction,
        stopped_before("restored", lambda: transaction.written),
    ):
        staged = anyio.run(_stage, app, transaction, tasks, scans)
        check_exact(staged, tasks, site.lock)
        plans = transaction.plan(staged, options)
        if asked.output == "table" or not (asked.yes or asked.frozen):
            show_plans(app, transaction, plans)
        check_objections(((one.name, one.objections) for one in plans), "restored")
        check_signed(plans, site.lock)
        outcome.restored = [planned_json(transaction, one) for one in plans]
        if asked.dry_run:
            return
        if approve and not asked.yes and not agree(app, plans, "Restore"):
            raise click.Abort
        outcome.said = transaction.commit(plans, options)


async def _stage(app: App, transaction: Transaction, tasks: Sequence[Task], scans: Scans) -> list[Staged]:
    async with open_sources(app) as sources:
        return await transaction.stage(
            await want_exact(sources, transaction.site, tasks), scans, scan_progress("Fetching and scanning skills")
        )


def _approve(app: App, asked: _Asked, outcome: _Outcome) -> None:
    """What is there as the lock says and was never approved: shown and approved with --yes, else only named."""
    site, app = outcome.site, app.reopen()
    locked = outcome.lock.values()
    places = {site.folder(client, one.name): one for one in locked for client in one.to if client in site.roots}
    waiting = [one for one in app.skills if one.found.folder in places and one.state == "untrusted"]
    reviews = []
    told: set[str] = set()
    for one in waiting:
        try:
            app.strangers.check_key(one.found)
            reviews += [_review(app, one.found)] if asked.yes and not asked.dry_run else []
        except ClawftError as error:
            outcome.said += (error.diagnostic,) if one.name not in told else ()  # once for all copies
            told.add(one.name)
            waiting = [other for other in waiting if other is not one]
    reviews = [one for one in reviews if one.digest == places[one.found.folder].digest]
    for review in {one.found.name: one for one in reversed(reviews)}.values():  # copies are alike: their digest is
        for line in review_lines(review, app.workspace.shorten):
            say(line)
        say()
    made = [make_approval("skill", one.found.folder, one.digest, one.found.name, one.report.power) for one in reviews]
    outcome.said += app.desk.approve_placed([structs.replace(one, installed=True) for one in made])
    approved = {one.found.folder for one in reviews}
    outcome.approved = sorted({places[folder].name for folder in approved})
    outcome.untrusted = sorted({places[one.found.folder].name for one in waiting if one.found.folder not in approved})


def _review(app: App, found: Found) -> Review:
    """Raises: Refused for a skill that would not be installed either: its signature is in the way."""
    review = app.desk.review(found)
    signature = load_signature(app, found, review.digest) or Signature("unsigned")
    required = is_required(app.config, app.workspace.user_dir, app.environ)
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
    with begin("sync --prune", site, ("clawft",), open_supplies(app)) as transaction:
        removals = [Removal(name, (place,)) for name, place in zip(names, places, strict=True)]
        outcome.said += transaction.remove(removals)


def _is_as_installed(app: App, place: str) -> bool:
    """Whether weft put a folder there, and nobody changed it since: what anybody made is not ours to remove."""
    approval = app.approvals.find("skill", place)
    return approval is not None and approval.installed and look_at(place) == approval.digest


def _tell(app: App, asked: _Asked, outcome: _Outcome, tasks: Sequence[Task]) -> None:
    for problem in outcome.said:
        show_diagnostic(problem, where=app.workspace.shorten(problem.path))
    if asked.output == "json":
        return
    for task in tasks:
        gone = all(one.gone for one in task.differences.values())
        done = ("Would be " if asked.dry_run else "") + ("installed" if gone else "restored")
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
        "diagnostics": [to_json(one) for one in outcome.said],
    }
