"""The installation, the config, and what is searched for skills."""

import os
import platform
import sqlite3
from collections import Counter
from collections.abc import Iterator

from clawft import __version__
from clawft.app import App
from clawft.cli.doctor.check import Check, from_error, move_away, quote
from clawft.discovery import SCOPES
from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import read_regular

__all__ = ["check_config", "check_install", "check_locations", "check_skills"]

_WHY = {
    "config-untrusted": "a stranger's project could choose models and start programs",
    "secret-literal": "whoever reads or copies the file has the secret",
}

_MAX_TEXT = 1 << 20


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
        yield from_error("config", error, workspace, why=why, **_mend(error.diagnostic))


def _explain(one: Diagnostic, app: App) -> Check:
    fix = ""
    if one.code == "config-untrusted":
        fix = "weft config trust"
    elif one.code == "secret-literal":
        fix = f"weft config set {one.message.split()[0]} env:NAME"
    return from_error("config", one, app.workspace, status="note", why=_WHY.get(one.code, ""), fix=fix)


def _mend(one: Diagnostic) -> dict[str, str]:
    """What to do about a file that keeps the config from being read; of other files than a config the hint tells it."""
    if one.code == "config-twice":
        return {"fix": f"mv {quote(one.path)} {quote(one.path + '.old')}"}
    return {"fix": _edit(one.path)} if os.path.basename(one.path).startswith("config.") else {}


def _edit(path: str) -> str:
    """The command that opens a file in an editor, or moves away what is no text; '' where the hint tells more."""
    try:
        is_text = b"\0" not in (content := read_regular(path, _MAX_TEXT, follow=True)[0])
        content.decode()
    except Unreadable as error:
        if error.code != "file-too-large":
            return move_away(path) if error.code == "not-a-file" else ""
        is_text = True
    except (OSError, UnicodeDecodeError):
        is_text = not os.path.lexists(path)
    return f"${{EDITOR:-vi}} {quote(path)}" if is_text else move_away(path)


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
