"""`weft skills install` and `remove`: the plan that a person reads, the confirmation and the transaction."""

import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import anyio
import click

from clawft.app.app import App
from clawft.app.install import open_sources, open_supplies
from clawft.cli.completion import complete_installed
from clawft.cli.options import finish_installation, format_option, open_here
from clawft.cli.output import (
    CommandResult,
    is_json_asked,
    one_line,
    say,
    say_lines,
    scan_progress,
    show_diagnostic,
    show_diagnostics,
)
from clawft.cli.prompts import confirm, report_interrupt
from clawft.cli.review import file_lines, power_lines, review_lines, short_lines
from clawft.cli.skills.targets import allow_options, scope_choice, to_option
from clawft.errors import Diagnostic, Refused
from clawft.install.lockfile.file import load_lock
from clawft.install.sources.model import SkillReference
from clawft.install.sources.reference import parse_reference
from clawft.install.transaction.installation import InstallChoices, Transaction, open_transaction
from clawft.install.transaction.plan import (
    AllowedRules,
    PlannedSkill,
    Removal,
    find_unneeded,
    plan_removal,
    worst_verdict,
)
from clawft.install.transaction.resolution import SkillChoice, SkillResolver
from clawft.install.transaction.scanning import ScanProcesses
from clawft.install.transaction.stage import StagedSkill
from clawft.install.transaction.targets import InstallScope, find_site
from clawft.scanner.findings import VERDICTS
from clawft.server.protocol.base import diagnostic_json
from clawft.server.views.install_plans import find_unmet, list_objections, planned_json
from clawft.server.views.review import list_programs
from clawft.skills.discovery.catalog import pause_garbage_collection
from clawft.trust.signing.signatures import Signature

SHOWN = 5  # names in a question
CHANGELOG = 500  # letters of it: a publisher's words do not push the rest off the screen
MANY = 10  # above this many, each skill gets one line, except those that need attention
WHOLE = 3  # so many skills are shown with all there is to say


def show_plans(app: App, transaction: Transaction, plans: Sequence[PlannedSkill]) -> None:
    """Each skill: what it is, where it goes, verdict, power, files, and what speaks against it."""
    many = len(plans) > MANY
    for plan in plans:
        brief = many and _is_plain(plan)
        say_lines([_brief(plan)] if brief else _lines(app, transaction, plan, whole=len(plans) <= WHOLE))
        needing = [other.name for other in plans if plan.name in other.dependencies]
        if needing and not plan.requested:
            say(one_line(f"Needed by: {list_names(needing)}"))
        show_diagnostics(plan.notes, app.workspace.shorten, indent="  ")
        if not brief:
            say()
    if many:
        verdicts = Counter(worst_verdict(plan.staged, plan.review) for plan in plans)
        counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS if verdict in verdicts)
        say(f"{len(plans)} skills: {counts}. All there is to say of each: --format json")


def _is_plain(one: PlannedSkill) -> bool:
    """Return whether a skill has nothing that the user should review separately in a list of many."""
    settled = one.old is None or one.is_same
    return settled and not one.objections and not one.review.hooks and one.review.report.verdict == VERDICTS[0]


def _brief(one: PlannedSkill) -> str:
    power = power_lines("would use", one.review.report.power)
    count = len(list_programs(one.review.found.folder))
    brings = [f"brings {count} program{'s' * (count != 1)}"] if count else []
    parts = [worst_verdict(one.staged, one.review), *power, *brings]
    return one_line(f"{one.name} {one.staged.resolved.version}".strip() + f": {'; '.join(parts)}")[:200]


def _lines(app: App, transaction: Transaction, one: PlannedSkill, *, whole: bool) -> list[str]:
    place = transaction.site.folder(one.to[0], one.name)

    def shorten(path: str) -> str:
        """A path as people write it; what lies in a hidden folder is named by where it goes."""
        return app.workspace.shorten(place if path == one.staged.folder else path)

    changed = one.old is not None and not one.is_same
    lines = review_lines(one.review, shorten) if whole or changed else short_lines(one.review, shorten)
    resolved = one.staged.resolved
    before = f"{one.old.version} → " if one.old and one.old.version != resolved.version and resolved.version else ""
    head = [one_line(f"From: {resolved.origin.line}")]
    if one.is_moved and one.old is not None:
        head.append(one_line(f"Until now from: {one.old.origin.line}"))
    if resolved.version or resolved.commit:
        commit = f" (commit {resolved.commit[:12]})" if resolved.commit else ""
        head.append(one_line(f"Version: {before}{resolved.version}{commit}"))
    if before and resolved.changelog:
        head.append(one_line(f"Changelog: {textwrap.shorten(resolved.changelog, CHANGELOG, placeholder=' …')}"))
    verdict = worst_verdict(one.staged, one.review)
    if one.old is not None and one.old.verdict and one.old.verdict != verdict:
        head.append(f"Verdict: {one.old.verdict} → {verdict}")
    if one.signature.state != "unsigned":
        head.append(one_line(f"Signature: {_signature_words(one.signature)}"))
    if one.resigned and not one.taken:
        head.append("Only its signature differs: the files are those that are installed")
    also = [app.workspace.shorten(transaction.site.folder(client, one.name)) for client in one.to[1:]]
    head += [one_line(f"Also to: {', '.join(also)}")] if also else []
    head += [one_line(f"Needs the skills: {', '.join(one.dependencies)}")] if one.dependencies else []
    return [lines[0], *head, *lines[1:], *_edit_lines(one)]


def _signature_words(signature: Signature) -> str:
    """Summarize the state of a signature in a few words."""
    who = f" of {signature.publisher}" if signature.publisher else ""
    why = f" ({signature.reason})" if signature.reason else ""
    return f"{signature.state}{who}, key {signature.key}{why}" if signature.key else f"{signature.state}{why}"


def _edit_lines(one: PlannedSkill) -> list[str]:
    if one.edits is None:
        return ["It was changed after it was installed; what it was then was not kept"]
    changed = [line for change in one.edits for line in file_lines(change)]
    return ["Changed after it was installed:", *changed] if changed else []


def check_objections(named: Iterable[tuple[str, Sequence[Diagnostic]]], what: str = "installed") -> None:
    """Say all that speaks against any of them, each once. Raises: Refused for the first."""
    found = list_objections(named, what)
    show_diagnostics(found[1:], str)
    for error in found[:1]:
        raise Refused(error.code, error.message, path=error.path, hint=error.hint or f"Nothing was {what}")


def confirm_plans(app: App, plans: Sequence[PlannedSkill], verb: str) -> bool:
    """Return whether a person agrees; what they, or nobody, said no to is written down. Raises: Refused."""
    agreed = False
    question = f"{verb} and approve {list_names([plan.name for plan in plans])}?"
    try:
        agreed = confirm(question, f"To {verb.lower()} a skill", "Look at it, then pass --yes")
    finally:
        for plan in plans if not agreed else ():
            app.reviewer.refuse(plan.review)
    return agreed


def list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


async def _stage(
    app: App,
    transaction: Transaction,
    references: Sequence[str],
    registry: str,
    choice: SkillChoice,
    scans: ScanProcesses,
) -> list[StagedSkill]:
    async with open_sources(app) as sources:
        parsed = [_parse(app, text, registry, sources.registries) for text in references]
        asking = SkillResolver(sources, scans, lambda: app.catalog.versions)
        progress = scan_progress("Fetching and scanning skills")
        return await asking.stage(transaction, parsed, choice, progress)


def _parse(app: App, text: str, registry: str, registries: Any) -> SkillReference:
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


def _report(
    app: App, transaction: Transaction, plans: Sequence[PlannedSkill], diagnostics: Sequence[Diagnostic] | None
) -> CommandResult:
    """The result. `diagnostics` are those of the installation, None if nothing was installed."""
    installed = diagnostics is not None
    unmet = {plan.name: find_unmet(app, plan) for plan in plans}
    show_diagnostics(diagnostics or (), str)

    def show() -> None:
        done = Counter(_name_outcome(plan, installed) for plan in plans)
        for plan in plans if len(plans) <= MANY else ():
            click.echo(one_line(f"{_name_outcome(plan, installed)}: {plan.name} {plan.staged.resolved.version}"))
        for what, count in done.items() if len(plans) > MANY else ():
            click.echo(f"{what}: {count} skills")
        for name, needs in unmet.items():
            show_diagnostics(needs)
            if needs and installed:
                say(one_line(f"{name} is not offered to models until it has that"))

    skills = [
        planned_json(transaction, plan) | {"unmet": list(map(diagnostic_json, unmet[plan.name]))} for plan in plans
    ]
    document = {
        "installed": installed,
        "skills": skills,
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in diagnostics or ()],
    }
    return CommandResult("clawft.skills.install.v1", document, show)


def _name_outcome(one: PlannedSkill, installed: bool) -> str:
    return "Already installed" if one.is_same else "Installed" if installed else "Would be installed"


@click.command("install")
@click.argument("references", nargs=-1, required=True, metavar="REF...")
@scope_choice
@to_option
@click.option("--skill", "skills", multiple=True, metavar="NAME", help="Which, where there are several (repeatable).")
@click.option("--all", "every", is_flag=True, help="Every skill of a place that holds several.")
@click.option("--registry", default="", metavar="NAME", help="Which registry to ask, in the place of the default.")
@click.option("--digest", default="", metavar="sha256:…", help="Only if it, or its archive, has this digest.")
@click.option("--require-signature", "signed", is_flag=True, help="Only what a publisher whom you trust signed.")
@click.option("--dry-run", is_flag=True, help="Look at them, and install nothing.")
@click.option("--force", is_flag=True, help="Replace a folder that is not weft's, or a skill that was edited.")
@allow_options
@click.option("--yes", "-y", is_flag=True, help="Install and approve them as they are, without being asked.")
@format_option
def install_command(  # noqa: PLR0913  (one for each option)
    references: tuple[str, ...],
    scope: InstallScope,
    to: tuple[str, ...],
    skills: tuple[str, ...],
    every: bool,
    registry: str,
    digest: str,
    signed: bool,
    dry_run: bool,
    force: bool,
    rules: tuple[str, ...],
    because: str,
    yes: bool,
) -> CommandResult | int:
    """Install skills: each is downloaded, checked and scanned; you see what it could do, and are asked.

    REF is a name in a registry (slug, @owner/slug, slug@1.2.3, REGISTRY:slug), a repository (owner/repo, any address of
    git, with #ref), an address of an archive or of a site that offers skills, or a path. Nothing of a skill runs, and
    either all of them are installed or none. A version that you name is not held: weft skills pin NAME --version does
    that. See: weft help install
    """
    app = open_here()
    count = max(len(references), 4 if every else len(skills))
    options = InstallChoices(force, AllowedRules(rules, one_line(because)), digest, signed)
    with pause_garbage_collection(), ScanProcesses(count, app.scan_dir) as scans:
        finish_installation(app)
        site = find_site(app.workspace, scope)
        with (
            open_transaction(f"install {' '.join(references)}"[:200], site, to, open_supplies(app)) as transaction,
            report_interrupt("installed", lambda: transaction.written),
        ):
            staged = anyio.run(_stage, app, transaction, references, registry, SkillChoice(skills, every), scans)
            plans = transaction.plan(staged, options)
            if not (yes and is_json_asked()):
                show_plans(app, transaction, plans)
            check_objections((plan.name, plan.objections) for plan in plans)
            if dry_run:
                return _report(app, transaction, plans, None)
            if not yes and not confirm_plans(app, plans, "Install"):
                say("Nothing was installed")
                return 1
            diagnostics = transaction.commit(plans, options)
        return _report(app, transaction, plans, diagnostics)


@click.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_installed)
@scope_choice
@click.option("--dry-run", is_flag=True, help="Show what would go, and remove nothing.")
@click.option("--force", is_flag=True, help="Also what weft did not install, what was edited, and what others need.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def remove_command(
    names: tuple[str, ...], scope: InstallScope, dry_run: bool, force: bool, yes: bool
) -> CommandResult | int:
    """Remove skills that weft installed, from every folder they were put into; their approvals go with them."""
    app = open_here()
    finish_installation(app)
    site = find_site(app.workspace, scope)
    lock = load_lock(site.lock)
    removals = plan_removal(site, lock, names)
    if not (yes and is_json_asked()):
        _show(app, removals, force=force)
    if not force:
        check_objections(((removal.name, removal.objections) for removal in removals), "removed")
    if not dry_run:
        with (
            open_transaction(f"remove {' '.join(names)}"[:200], site, (), open_supplies(app)) as transaction,
            report_interrupt("removed", lambda: transaction.written),
        ):
            question = f"Remove {list_names([removal.name for removal in removals])}?"
            if not yes and not confirm(question, "To remove a skill"):
                say("Nothing was removed")
                return 1
            show_diagnostics(transaction.remove(removals), app.workspace.shorten)
    unneeded = find_unneeded(lock, names)

    def show() -> None:
        for removal in removals:
            click.echo(one_line(f"{'Would be removed' if dry_run else 'Removed'}: {removal.name}"))
        if unneeded:
            say(one_line(f"No longer needed by others: weft skills remove {' '.join(unneeded)}"))

    skills = [
        {"name": removal.name, "paths": removal.places, "installed": removal.locked is not None} for removal in removals
    ]
    document = {"removed": not dry_run, "skills": skills, "unneeded": unneeded}
    return CommandResult("clawft.skills.remove.v1", document, show)


def _show(app: App, removals: Sequence[Removal], *, force: bool) -> None:
    for removal in removals:
        for place in removal.places:
            say(one_line(f"{removal.name} ({app.workspace.shorten(place)})"))
        if not removal.places:
            say(one_line(f"{removal.name}: its folders are gone already; its entry in the lock goes"))
        for problem in removal.objections if force else ():  # else it is refused with them
            show_diagnostic(problem, where=app.workspace.shorten(problem.where), indent="  ")
