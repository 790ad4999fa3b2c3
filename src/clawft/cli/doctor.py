"""`weft doctor`: is everything in place, and where is what looked for? Exits 1 when something needs attention."""

import os
import platform
from collections import Counter
from collections.abc import Iterator

import click
from msgspec import Struct

from clawft import __version__
from clawft.app import App
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json
from clawft.discovery import SCOPES
from clawft.errors import ClawftError

__all__ = ["command"]

_MARKS = {"ok": "✓", "note": "·", "problem": "✗"}


class _Check(Struct, frozen=True):
    name: str
    status: str
    message: str
    hint: str = ""


@click.command("doctor")
@format_option
def command(output: str) -> int:
    """Check the installation, the config and the folders that are searched."""
    app = open_here()
    checks = list(_checks(app))
    healthy = all(check.status != "problem" for check in checks)
    if output == "json":
        rows = [
            {"name": one.name, "status": one.status, "message": one.message, "hint": one.hint or None} for one in checks
        ]
        print_json("clawft.doctor.v1", ok=healthy, checks=rows)
    else:
        for check in checks:
            click.echo(f"{_MARKS[check.status]} {check.name}: {one_line(check.message)}")
            if check.hint:
                click.echo(f"    hint: {one_line(check.hint)}")
    return 0 if healthy else 1


def _checks(app: App) -> Iterator[_Check]:
    yield _Check("weft", "ok", f"{__version__} on Python {platform.python_version()}, {platform.system()}")
    yield from _check_config(app)
    yield _check_user_dir(app)
    yield _check_search()
    try:
        yield from _check_locations(app)
        yield from _check_skills(app)
    except ClawftError:
        return  # the config is broken, and was said to be


def _check_config(app: App) -> Iterator[_Check]:
    workspace = app.workspace
    kind = "marked" if workspace.marked else "the current folder; a .clawft/ folder would mark it"
    yield _Check("project", "ok", f"{workspace.shorten(workspace.project)} ({kind})")
    try:
        files = app.config.files
        yield _Check("config", "ok", ", ".join(map(workspace.shorten, files)) or "none; defaults are used")
        for one in app.config.diagnostics:
            yield _Check("config", "problem", f"{workspace.shorten(one.path)}: {one.message}", one.hint)
    except ClawftError as error:
        where = f" ({workspace.shorten(error.diagnostic.where)})" if error.diagnostic.where else ""
        yield _Check("config", "problem", f"{error}{where}", error.hint)


def _check_user_dir(app: App) -> _Check:
    folder = app.workspace.user_dir
    existing = folder
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    if os.access(existing, os.W_OK | os.X_OK):
        return _Check("user folder", "ok", app.workspace.shorten(folder))
    return _Check(
        "user folder",
        "note",
        f"{app.workspace.shorten(folder)} cannot be written to: nothing is cached, which only costs time",
    )


def _check_search() -> _Check:
    import sqlite3

    try:
        sqlite3.connect(":memory:").execute("CREATE VIRTUAL TABLE probe USING fts5(text)").close()
    except sqlite3.Error as error:
        return _Check("search", "problem", f"SQLite has no FTS5: {error}", "Use a Python whose SQLite has FTS5")
    return _Check("search", "ok", f"SQLite {sqlite3.sqlite_version} with FTS5")


def _check_locations(app: App) -> Iterator[_Check]:
    counts = Counter(found.location.path for found in app.catalog.found)
    for location in app.locations:
        if not os.path.isdir(location.path):
            continue
        count = counts[location.path]
        where = app.workspace.shorten(location.path)
        yield _Check("searched", "ok", f"{where} ({location.scope}): {count} skill{'s' * (count != 1)}")
    for scope in SCOPES:
        missing = [one for one in app.locations if one.scope == scope and not os.path.isdir(one.path)]
        if missing:
            folders = ", ".join(app.workspace.shorten(one.path).removesuffix("/skills") for one in missing)
            yield _Check("not there", "note", f"skills of {scope} in {folders}")
    for diagnostic in app.catalog.diagnostics:
        yield _Check(
            "search", "note", f"{app.workspace.shorten(diagnostic.path)}: {diagnostic.message}", diagnostic.hint
        )


def _check_skills(app: App) -> Iterator[_Check]:
    states = Counter(one.state for one in app.skills)
    yield _Check("skills", "ok", ", ".join(f"{count} {state}" for state, count in states.most_common()) or "none")
    for one in app.skills:
        if one.state == "broken":
            problem = one.reasons[0]
            yield _Check(
                "broken skill", "problem", f"{app.workspace.shorten(problem.where)}: {problem.message}", problem.hint
            )
    broken = [one for one in app.agents if one.state == "broken"]
    for agent in broken:
        yield _Check(
            "broken agent", "problem", f"{app.workspace.shorten(agent.found.file)}: {agent.reasons[0].message}"
        )
