"""`weft skills audit`: installed skills scanned again, and what their registries say of them by now."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import anyio
import click
from msgspec import Struct, structs

from clawft.app import App
from clawft.cli._complete import complete_installed
from clawft.cli.options import finish, format_option, open_here
from clawft.cli.output import print_json, print_table, say, show_diagnostic
from clawft.cli.skills._verifying import find_sites, installed_scope_option, make_judge
from clawft.describe.diagnostics import to_json
from clawft.discovery import Location, load_catalog
from clawft.errors import ClawftError, Diagnostic
from clawft.locks.file import load_lock
from clawft.scan.batch import scan_many
from clawft.scan.findings import Report
from clawft.scan.kept import scan_kept
from clawft.scan.screening import screen_report
from clawft.scan.targets import Target
from clawft.signing.check import is_required
from clawft.sources.model import Verdict
from clawft.supply.audit import Audited, Installed, add_unsigned, ask_registries, judge, list_installed
from clawft.supply.others import verify_others
from clawft.supply.verify import verify_site
from clawft.supplying import open_sources
from clawft.trust.blocking import Scanned, check_screening

__all__ = ["command"]


class _Found(Struct):
    """What is to be looked at, and the locks that could not be read."""

    installed: list[Installed] = []
    said: list[Diagnostic] = []


@click.command("audit")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_installed)
@installed_scope_option
@click.option("--offline", is_flag=True, help="Ask no registry.")
@format_option
def command(names: tuple[str, ...], scope: str, offline: bool, output: str) -> int:
    """Look at installed skills again: scan them, check their locks and signatures, ask their registries.

    It fails with 3 if one is malicious or its signature counts no more, and with 1 if one was changed, was taken back
    by its registry, could not be checked, or is not signed where your config wants that.
    """
    app = open_here()
    finish(app, change=False)
    found = _find(app, scope, names)
    verdicts, problems = ({}, {}) if offline else anyio.run(_ask, app, found.installed)
    audited = _audit(app, found.installed, verdicts)
    audited = [_unasked(one, problems.get(at)) for at, one in enumerate(audited)]
    if is_required(app.config, app.workspace.user_dir, app.environ):
        audited = list(map(add_unsigned, audited))
    code = 3 if any(one.malicious for one in audited) else 1 if found.said or any(map(_is_open, audited)) else 0
    if output == "json":
        skills = [_as_json(one) for one in audited]
        said = [to_json(one) for one in found.said]
        print_json("clawft.skills.audit.v1", ok=code == 0, offline=offline, skills=skills, diagnostics=said)
    else:
        _show(app, found, audited, offline=offline)
    return code


def _is_open(audited: Audited) -> bool:
    return audited.unchecked


def _find(app: App, scope: str, names: Sequence[str]) -> _Found:
    found = _Found()
    for site in find_sites(app.workspace, scope):
        ours = verify_site(site, names)
        others = verify_others(site, app.environ, names)
        found.said += (*ours.diagnostics, *others.diagnostics)
        lock = {} if ours.diagnostics else load_lock(site.lock)
        folders = {one.folder for one in ours.checked}
        more = [one for one in others.checked if one.folder and one.folder not in folders]
        found.installed += list_installed((*ours.checked, *more), lock)
    known = {one.checked.name for one in found.installed}
    for name in names:
        if name not in known and not found.said:
            raise ClawftError("not-locked", f"No lock names a skill '{name}'", hint="Run: weft skills verify")
    return found


async def _ask(app: App, installed: Sequence[Installed]) -> tuple[dict[int, Verdict | None], dict[int, Diagnostic]]:
    async with open_sources(app) as sources:
        return await ask_registries(sources, installed)


def _audit(app: App, installed: Sequence[Installed], verdicts: dict[int, Verdict | None]) -> list[Audited]:
    folders = [one.checked.folder for one in installed]
    there = [folder for folder in dict.fromkeys(folders) if folder and os.path.isdir(folder)]
    targets = [Target(folder) for folder in there]
    made = scan_kept(targets, app.scan_dir) if app.scan_dir else scan_many(targets)
    reports = dict(zip(there, _watched(app, made, len(there)), strict=True))
    signed = make_judge(app.workspace)

    def allowed(folder: str, report: Report) -> bool:
        """Whether all that keeps it from use was allowed, as `weft skills allow` does."""
        catalog = load_catalog([Location("dir", folder, folder)], max_prompt_bytes=1 << 20)
        found = next((one for one in catalog.found if one.folder == folder), None)
        screening = screen_report(report)
        if found is None or screening is None:
            return False
        return not check_screening(found, screening, Scanned((screening,), app.overrides.load(), block_critical=True))[
            0
        ]

    return [
        judge(one, reports.get(one.checked.folder), allowed, signed, verdicts.get(at))
        for at, one in enumerate(installed)
    ]


def _watched(app: App, made: Any, total: int) -> list[Report]:
    reports = []
    for report in made:
        reports.append(report)
        if app.tell_scan is not None:
            app.tell_scan(len(reports), total)
    return reports


def _unasked(audited: Audited, problem: Diagnostic | None) -> Audited:
    if problem is None:
        return audited
    return structs.replace(audited, said=(*audited.said, problem), unchecked=True)


def _as_json(audited: Audited) -> dict[str, Any]:
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
        "diagnostics": [to_json(one) for one in audited.said],
    }


def _count(audited: Iterable[Audited]) -> int:
    """How many skills these are, wherever each lies."""
    return len({(one.installed.checked.scope, one.installed.checked.name) for one in audited})


def _line(one: Diagnostic) -> str:
    return f"{one.severity}[{one.code}]: {one.message}" + (f". {one.hint}" if one.hint else "")


def _show(app: App, found: _Found, audited: Sequence[Audited], *, offline: bool) -> None:
    for one in found.said:
        show_diagnostic(one, where=app.workspace.shorten(one.path))
    if not audited:
        return say("Nothing is installed that a lock names. See: weft skills install")
    rows: dict[tuple[str, ...], list[str]] = {}  # copies of which there is the same to say are one row
    for entry in audited:
        checked = entry.installed.checked
        cells = checked.name, checked.version, checked.scope, checked.state, entry.verdict or "?", entry.registry or "-"
        folders = rows.setdefault((*cells, "; ".join(map(_line, entry.said))), [])
        folders.append(app.workspace.shorten(os.path.dirname(checked.folder)))
    heads = ("NAME", "VERSION", "SCOPE", "FILES", "VERDICT", "REGISTRY", "IN")
    table = [(*cells, ", ".join(folders)) for (*cells, _), folders in rows.items()]
    print_table(heads, table, wide=6, after=[said for *_, said in rows])
    bad, open_ones = _count(one for one in audited if one.malicious), _count(one for one in audited if one.unchecked)
    total = _count(audited)
    counts = [f"{total} {'skill' if total == 1 else 'skills'}"]
    counts += [f"{bad} must not be used"] if bad else []
    counts += [f"{open_ones} to look at"] if open_ones else []
    say(", ".join(counts) + ("; no registry was asked" if offline else ""))
    return None
