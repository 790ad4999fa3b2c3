"""What `weft skills list --outdated` prints: installed skills that their sources have newer versions of."""

from collections.abc import Sequence

import anyio
import click
from msgspec import Struct, structs

from clawft.app import App
from clawft.cli._progress import scan_progress
from clawft.cli.options import finish
from clawft.cli.output import one_line, print_json, print_table, say, show_diagnostic
from clawft.cli.skills._supply import list_names
from clawft.describe.diagnostics import to_json
from clawft.errors import ClawftError, Diagnostic
from clawft.locks.file import load_lock
from clawft.supply.targets import Scope, Site, find_site
from clawft.supply.update import Renewed, find_newer
from clawft.supplying import open_sources

__all__ = ["list_outdated"]

NOTHING = "weft installed no skills here"


class _Row(Struct, frozen=True):
    site: Site
    one: Renewed

    @property
    def cells(self) -> tuple[str, ...]:
        locked, newest = self.one.locked, self.one.newest
        held = f"pinned: {locked.pinned}" if locked.pinned else "older" if self.one.state == "older" else ""
        theirs = newest.verdict.status if newest and newest.verdict else "not scanned yet"
        return locked.name, _version(locked.version, locked.commit), _newest(self.one), theirs, self.site.scope, held


def list_outdated(app: App, scope: str, output: str) -> int:
    """Ask all sources, and print what is newer there. Raises: ClawftError."""
    if scope not in ("all", "user", "project"):
        raise click.UsageError("--outdated is for what weft installed: --scope user or project")
    finish(app, change=False)
    sites, said = _find_sites(app, scope)
    rows = anyio.run(_ask, app, sites)
    failed = _gather([row.one for row in rows])
    newer = [row for row in rows if row.one.state in ("newer", "older") or _is_held_back(row.one)]
    if output == "json":
        told = [to_json(one) for one in (*said, *failed)]
        print_json("clawft.skills.outdated.v1", skills=[_plain(row) for row in newer], diagnostics=told)
    elif newer:
        heads = ("NAME", "INSTALLED", "NEWEST", "REGISTRY", "SCOPE", "")
        print_table(heads, [row.cells for row in newer], wide=5)
    for problem in (*said, *failed):
        show_diagnostic(problem, where=app.workspace.shorten(problem.where))
    if output == "table":
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
    return 1 if failed or said else 0


def _count(newer: int, count: int) -> str:
    if not newer:
        return "No installed skill has another version at its source"
    return f"{newer} of {count} {'skill' if count == 1 else 'skills'} {'has' if newer == 1 else 'have'} another version"


def _find_sites(app: App, scope: str) -> tuple[list[Site], list[Diagnostic]]:
    wanted: list[Scope] = ["user", "project"] if scope == "all" else ["user" if scope == "user" else "project"]
    sites, said = [], []
    for one in wanted:
        try:
            site = find_site(app.workspace, one)
            load_lock(site.lock)
            sites.append(site)
        except ClawftError as error:
            if scope != "all" or error.code != "no-project":
                said.append(error.diagnostic)
    return sites, said


async def _ask(app: App, sites: list[Site]) -> list[_Row]:
    rows = []
    async with open_sources(app) as sources:
        for site in sites:
            found = await find_newer(
                sources, site, list(load_lock(site.lock).values()), scan_progress("Asking sources")
            )
            rows += [_Row(site, one) for one in found]
    return rows


def _gather(asked: Sequence[Renewed]) -> list[Diagnostic]:
    """What went wrong, each once, with the skills that it went wrong for."""
    names: dict[Diagnostic, list[str]] = {}
    for one in asked:
        if one.problem is not None:
            names.setdefault(one.problem, []).append(one.locked.name)
    return [
        structs.replace(problem, message=f"{list_names(found)} could not be looked for: {problem.message}")
        for problem, found in names.items()
    ]


def _is_held_back(one: Renewed) -> bool:
    newest = one.newest
    return one.state == "pinned" and newest is not None and newest.version != one.locked.version


def _newest(one: Renewed) -> str:
    return _version(one.newest.version, one.newest.commit) if one.newest else ""


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
