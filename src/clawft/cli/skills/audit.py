"""`weft skills audit`: installed skills scanned again, and what their registries say of them by now."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import anyio
import click
from msgspec import Struct, structs

from clawft.app.app import App
from clawft.app.install import open_sources
from clawft.cli.completion import complete_installed
from clawft.cli.options import finish_installation, format_option, open_here
from clawft.cli.output import CommandResult, print_table, say, show_diagnostics
from clawft.cli.skills.verify import find_sites, installed_scope_option, make_signature_check
from clawft.errors import ClawftError, Diagnostic
from clawft.install.lockfile.file import load_lock
from clawft.install.sources.model import SourceVerdict
from clawft.install.transaction.audit import (
    AuditedSkill,
    InstalledSkill,
    add_unsigned,
    ask_registries,
    judge_installed,
    list_installed,
)
from clawft.install.transaction.other_installers import verify_others
from clawft.install.transaction.verification import verify_site
from clawft.scanner.batch import ScannedPath, scan_cached, scan_many
from clawft.scanner.findings import Report
from clawft.scanner.screening import screen_report
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.discovery import Location, load_catalog
from clawft.trust.overrides import ScreenedSkills, check_screening


class _Found(Struct):
    """The skills to audit, and diagnostics about locks that could not be read."""

    installed: list[InstalledSkill] = []
    problems: list[Diagnostic] = []


@click.command("audit")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_installed)
@installed_scope_option
@click.option("--offline", is_flag=True, help="Ask no registry.")
@format_option
def command(names: tuple[str, ...], scope: str, offline: bool) -> CommandResult:
    """Audit installed skills: scan them, check their locks and signatures, ask their registries.

    It fails with 3 if one is malicious or its signature is no longer accepted, and with 1 if one was changed, was
    yanked by its registry, could not be checked, or is not signed although your config requires that.
    """
    app = open_here()
    finish_installation(app, change=False)
    found = _find(app, scope, names)
    verdicts, problems = ({}, {}) if offline else anyio.run(_ask, app, found.installed)
    audited = _audit(app, found.installed, verdicts)
    audited = [_unasked(skill, problems.get(at)) for at, skill in enumerate(audited)]
    if app.own_config.skills.security.require_signature:
        audited = list(map(add_unsigned, audited))
    code = 3 if any(skill.malicious for skill in audited) else 1 if found.problems or any(map(_is_open, audited)) else 0
    skills = [_as_json(skill) for skill in audited]
    diagnostics = [diagnostic_json(diagnostic) for diagnostic in found.problems]
    return CommandResult(
        "clawft.skills.audit.v1",
        {"ok": code == 0, "offline": offline, "skills": skills, "diagnostics": diagnostics},
        lambda: _show(app, found, audited, offline=offline),
        code,
    )


def _is_open(audited: AuditedSkill) -> bool:
    return audited.unchecked


def _find(app: App, scope: str, names: Sequence[str]) -> _Found:
    found = _Found()
    for site in find_sites(app.workspace, scope):
        ours = verify_site(site, names)
        others = verify_others(site, app.environ, names)
        found.problems += (*ours.diagnostics, *others.diagnostics)
        lock = {} if ours.diagnostics else load_lock(site.lock)
        folders = {folder.folder for folder in ours.checked}
        more = [folder for folder in others.checked if folder.folder and folder.folder not in folders]
        found.installed += list_installed((*ours.checked, *more), lock)
    known = {skill.checked.name for skill in found.installed}
    for name in names:
        if name not in known and not found.problems:
            raise ClawftError("not-locked", f"No lock names a skill '{name}'", hint="Run: weft skills verify")
    return found


async def _ask(
    app: App, installed: Sequence[InstalledSkill]
) -> tuple[dict[int, SourceVerdict | None], dict[int, Diagnostic]]:
    async with open_sources(app) as sources:
        return await ask_registries(sources, installed)


def _audit(
    app: App, installed: Sequence[InstalledSkill], verdicts: dict[int, SourceVerdict | None]
) -> list[AuditedSkill]:
    folders = [skill.checked.folder for skill in installed]
    there = [folder for folder in dict.fromkeys(folders) if folder and os.path.isdir(folder)]
    targets = [ScannedPath(folder) for folder in there]
    made = scan_cached(targets, app.scan_dir) if app.scan_dir else scan_many(targets)
    reports = dict(zip(there, _watched(app, made, len(there)), strict=True))
    signed = make_signature_check(app.workspace)

    def allowed(folder: str, report: Report) -> bool:
        """Return whether all that keeps it from use was allowed, as `weft skills allow` does."""
        catalog = load_catalog([Location("dir", folder, folder)], max_prompt_bytes=1 << 20)
        found = next((candidate for candidate in catalog.found if candidate.folder == folder), None)
        screening = screen_report(report)
        if found is None or screening is None:
            return False
        return not check_screening(
            found, screening, ScreenedSkills((screening,), app.overrides.load(), block_critical=True)
        )[0]

    return [
        judge_installed(skill, reports.get(skill.checked.folder), allowed, signed, verdicts.get(at))
        for at, skill in enumerate(installed)
    ]


def _watched(app: App, made: Any, total: int) -> list[Report]:
    reports = []
    for report in made:
        reports.append(report)
        if app.tell_scan is not None:
            app.tell_scan(len(reports), total)
    return reports


def _unasked(audited: AuditedSkill, problem: Diagnostic | None) -> AuditedSkill:
    if problem is None:
        return audited
    return structs.replace(audited, problems=(*audited.problems, problem), unchecked=True)


def _as_json(audited: AuditedSkill) -> dict[str, Any]:
    checked, locked = audited.installed.checked, audited.installed.locked
    return {
        "name": checked.name,
        "scope": checked.scope,
        "client": checked.client,
        "folder": checked.folder,
        "version": checked.version or None,
        "state": checked.state,
        "verdict": audited.verdict or None,
        "locked_verdict": locked.verdict if locked else None,
        "locked_engine": locked.engine if locked else None,
        "registry": audited.registry or None,
        "malicious": audited.malicious,
        "unchecked": audited.unchecked,
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in audited.problems],
    }


def _count(audited: Iterable[AuditedSkill]) -> int:
    """Return how many different skills these are; copies in several folders are counted once."""
    return len({(skill.installed.checked.scope, skill.installed.checked.name) for skill in audited})


def _line(one: Diagnostic) -> str:
    return f"{one.severity}[{one.code}]: {one.message}" + (f". {one.hint}" if one.hint else "")


def _show(app: App, found: _Found, audited: Sequence[AuditedSkill], *, offline: bool) -> None:
    show_diagnostics(found.problems, app.workspace.shorten)
    if not audited:
        return say("Nothing is installed that a lock names. See: weft skills install")
    rows: dict[tuple[str, ...], list[str]] = {}  # copies of which there is the same to say are one row
    for entry in audited:
        checked = entry.installed.checked
        cells = checked.name, checked.version, checked.scope, checked.state, entry.verdict or "?", entry.registry or "-"
        folders = rows.setdefault((*cells, "; ".join(map(_line, entry.problems))), [])
        folders.append(app.workspace.shorten(os.path.dirname(checked.folder)))
    heads = ("NAME", "VERSION", "SCOPE", "FILES", "VERDICT", "REGISTRY", "IN")
    table = [(*cells, ", ".join(folders)) for (*cells, _), folders in rows.items()]
    print_table(heads, table, wide=6, after=[notes for *_, notes in rows])
    bad, open_ones = (
        _count(skill for skill in audited if skill.malicious),
        _count(skill for skill in audited if skill.unchecked),
    )
    total = _count(audited)
    counts = [f"{total} {'skill' if total == 1 else 'skills'}"]
    counts += [f"{bad} must not be used"] if bad else []
    counts += [f"{open_ones} to look at"] if open_ones else []
    say(", ".join(counts) + ("; no registry was asked" if offline else ""))
    return None
