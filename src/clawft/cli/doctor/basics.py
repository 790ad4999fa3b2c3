"""The installation, the config, and what is searched for skills."""

import os
import platform
import sqlite3
from collections import Counter
from collections.abc import Iterator

from clawft import __version__
from clawft.app import App
from clawft.cli.doctor.check import Check, from_error, quote
from clawft.discovery import SCOPES
from clawft.errors import ClawftError, Diagnostic

__all__ = ["check_config", "check_install", "check_locations", "check_skills"]

_WHY = {
    "config-untrusted": "a stranger's project could choose models and start programs",
    "secret-literal": "whoever reads or copies the file has the secret",
}


def check_install() -> Iterator[Check]:
    yield Check("weft", "ok", f"{__version__} on Python {platform.python_version()}, {platform.system()}")
    try:
        sqlite3.connect(":memory:").execute("CREATE VIRTUAL TABLE probe USING fts5(text)").close()
    except sqlite3.Error as error:
        hint = "Use a Python whose SQLite has FTS5"
        yield Check("search", "problem", f"SQLite has no FTS5: {error}", hint, "skills and memories are not found")
    else:
        yield Check("search", "ok", f"SQLite {sqlite3.sqlite_version} with FTS5")


def check_config(app: App) -> Iterator[Check]:
    workspace = app.workspace
    kind = "marked" if workspace.marked else "the current folder; a .clawft/ folder would mark it"
    yield Check("project", "ok", f"{workspace.shorten(workspace.project)} ({kind})")
    try:
        files = app.config.files
        yield Check("config", "ok", ", ".join(map(workspace.shorten, files)) or "none; defaults are used")
        for one in app.config.diagnostics:
            yield _explain(one, app)
    except ClawftError as error:
        why = "no command that needs settings works"
        yield from_error("config", error, workspace, why=why, fix=_mend(error.diagnostic))


def _explain(one: Diagnostic, app: App) -> Check:
    fix = ""
    if one.code == "config-untrusted":
        fix = "weft config trust"
    elif one.code == "secret-literal":
        fix = f"weft config set {one.message.split()[0]} env:NAME"
    return from_error("config", one, app.workspace, status="note", why=_WHY.get(one.code, ""), fix=fix)


def _mend(one: Diagnostic) -> str:
    """What to do about a file that keeps the config from being read."""
    if one.code in ("approvals-damaged", "approvals-tampered", "config-twice"):
        return f"mv {quote(one.path)} {quote(one.path + '.old')}"
    return _edit(one.path)


def _edit(path: str) -> str:
    return f"${{EDITOR:-vi}} {quote(path)}" if path else ""


def check_locations(app: App) -> Iterator[Check]:
    counts = Counter(found.location.path for found in app.catalog.found)
    for location in app.locations:
        if not os.path.isdir(location.path):
            continue
        count = counts[location.path]
        where = app.workspace.shorten(location.path)
        yield Check("searched", "ok", f"{where} ({location.scope}): {count} skill{'s' * (count != 1)}")
    for scope in SCOPES:
        missing = [one for one in app.locations if one.scope == scope and not os.path.isdir(one.path)]
        if missing:
            folders = ", ".join(app.workspace.shorten(one.path).removesuffix("/skills") for one in missing)
            yield Check("not there", "note", f"skills of {scope} in {folders}")
    for one in app.catalog.diagnostics:
        yield Check("search", "note", f"{app.workspace.shorten(one.path)}: {one.message}", one.hint)


def check_skills(app: App) -> Iterator[Check]:
    states = Counter(one.state for one in app.skills)
    yield Check("skills", "ok", ", ".join(f"{count} {state}" for state, count in states.most_common()) or "none")
    shorten = app.workspace.shorten
    for one in app.skills:
        if one.state == "broken":
            problem = one.reasons[0]
            message, why = f"{shorten(problem.where)}: {problem.message}", "no model is offered it"
            yield Check("broken skill", "problem", message, problem.hint, why, _edit(problem.path))
        elif one.state == "blocked":
            problem = one.reasons[0]
            fix = f"weft skills show {quote(one.name)}"
            message, why = f"{shorten(problem.where)}: {problem.message}", "nobody can use it"
            yield Check("blocked skill", "problem", message, why=why, fix=fix)
    for agent in app.agents:
        if agent.state == "broken":
            file = agent.found.file
            message = f"{shorten(file)}: {agent.reasons[0].message}"
            yield Check("broken agent", "problem", message, why="it cannot be used", fix=_edit(file))
