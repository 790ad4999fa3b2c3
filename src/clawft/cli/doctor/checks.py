"""All checks of `weft doctor` in order, and those of the installation, the config and the skill folders."""

import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator

from clawft import __version__
from clawft.app.app import App
from clawft.cli.doctor.check import DoctorCheck, from_error, from_failure, move_away, quote
from clawft.cli.doctor.extensions import (
    check_approvals,
    check_hooks,
    check_jobs,
    check_memory,
    check_optional,
    check_plugins,
    check_registries,
    check_sandbox,
    check_servers,
)
from clawft.cli.doctor.files import (
    check_audit,
    check_checkpoints,
    check_files,
    check_folder,
    check_installing,
    check_keys,
)
from clawft.cli.doctor.services import check_answering, check_gateway, check_runs, check_serving
from clawft.config.sqlite import IN_MEMORY, LIBRARY_VERSION, DatabaseError, open_sqlite
from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import read_regular
from clawft.skills.discovery import SCOPES

_WHY = {
    "config-untrusted": "a stranger's project could choose models and start programs",
    "secret-literal": "whoever reads or copies the file has the secret",
}

_MAX_TEXT = 1 << 20


def check_install() -> Iterator[DoctorCheck]:
    yield DoctorCheck("weft", "ok", f"{__version__} on Python {platform.python_version()}, {platform.system()}")
    try:
        open_sqlite(IN_MEMORY).execute("CREATE VIRTUAL TABLE probe USING fts5(text)").close()
    except DatabaseError as error:
        hint = "Use a Python whose SQLite has FTS5"
        yield DoctorCheck(
            "search", "problem", f"SQLite has no FTS5: {error}", hint, "skills and memories are not found"
        )
    else:
        yield DoctorCheck("search", "ok", f"SQLite {LIBRARY_VERSION} with FTS5")


def check_config(app: App) -> Iterator[DoctorCheck]:
    workspace = app.workspace
    kind = "marked" if workspace.marked else "the current folder; a .clawft/ folder would mark it"
    yield DoctorCheck("project", "ok", f"{workspace.shorten(workspace.project)} ({kind})")
    try:
        files = app.config.files
        yield DoctorCheck("config", "ok", ", ".join(map(workspace.shorten, files)) or "none; defaults are used")
        for diagnostic in app.config.diagnostics:
            yield _explain(diagnostic, app)
    except ClawftError as error:
        why = "no command that needs settings works"
        yield from_error("config", error, workspace, why=why, **_list_fixes(error.diagnostic))


def _explain(one: Diagnostic, app: App) -> DoctorCheck:
    fix = ""
    if one.code == "config-untrusted":
        fix = "weft config trust"
    elif one.code == "secret-literal":
        fix = f"weft config set {one.message.split()[0]} env:NAME"
    return from_error("config", one, app.workspace, status="note", why=_WHY.get(one.code, ""), fix=fix)


def _list_fixes(one: Diagnostic) -> dict[str, str]:
    """Return the fix for a file that keeps the config from being read; {} for other files, whose hint has the fix."""
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


def check_locations(app: App) -> Iterator[DoctorCheck]:
    counts = Counter(found.location.path for found in app.catalog.found)
    for location in app.locations:
        if not os.path.isdir(location.path):
            continue
        count = counts[location.path]
        where = app.workspace.shorten(location.path)
        yield DoctorCheck("searched", "ok", f"{where} ({location.scope}): {count} skill{'s' * (count != 1)}")
    for scope in SCOPES:
        missing = [
            location for location in app.locations if location.scope == scope and not os.path.isdir(location.path)
        ]
        if missing:
            folders = ", ".join(app.workspace.shorten(place.path).removesuffix("/skills") for place in missing)
            yield DoctorCheck("not there", "note", f"skills of {scope} in {folders}")
    for diagnostic in app.catalog.diagnostics:
        yield DoctorCheck(
            "search", "note", f"{app.workspace.shorten(diagnostic.path)}: {diagnostic.message}", diagnostic.hint
        )


def check_skills(app: App) -> Iterator[DoctorCheck]:
    states = Counter(skill.state for skill in app.skills)
    yield DoctorCheck("skills", "ok", ", ".join(f"{count} {state}" for state, count in states.most_common()) or "none")
    shorten = app.workspace.shorten
    for skill in app.skills:
        if skill.state == "broken":
            problem = skill.reasons[0]
            message, why = f"{shorten(problem.where)}: {problem.message}", "no model is offered it"
            yield DoctorCheck("broken skill", "problem", message, problem.hint, why, _edit(problem.path))
        elif skill.state == "blocked":
            problem = skill.reasons[0]
            fix = f"weft skills show {quote(skill.name)}"
            message, why = f"{shorten(problem.where)}: {problem.message}", "nobody can use it"
            yield DoctorCheck("blocked skill", "problem", message, why=why, fix=fix)
    for agent in app.agents:
        if agent.state == "broken":
            file = agent.found.file
            message = f"{shorten(file)}: {agent.reasons[0].message}"
            yield DoctorCheck("broken agent", "problem", message, why="it cannot be used", fix=_edit(file))


def run_checks(app: App, *, online: bool) -> Iterator[DoctorCheck]:
    """Every check, in the order of the report; with `online` the model is called."""
    checks: tuple[tuple[str, Callable[[App], Iterator[DoctorCheck]]], ...] = (
        ("weft", lambda _: check_install()),
        ("config", check_config),
        ("user folder", check_folder),
        ("model", lambda app: check_answering(app, online=online)),
        ("keys", check_keys),
        ("audit", check_audit),
        ("checkpoints", check_checkpoints),
        ("sandbox", check_sandbox),
        ("mcp", check_servers),
        ("cron", check_jobs),
        ("runs", check_runs),
        ("memory", check_memory),
        ("approval", check_approvals),
        ("searched", check_locations),
        ("skills", check_skills),
        ("hooks", check_hooks),
        ("plugins", check_plugins),
        ("gateway", check_gateway),
        ("serve", check_serving),
        ("registry", check_registries),
        ("installing", check_installing),
        ("files", check_files),
        ("part", lambda _: check_optional()),
    )
    reported: set[str] = set()  # a cause that affects several parts is reported once
    for name, check in checks:
        for result in _run(name, check, app):
            causes = {result.message, result.fix if result.fix.startswith("mv ") else result.message}
            if result.status != "problem" or not causes & reported:
                yield result
            reported |= causes


def _run(name: str, check: Callable[[App], Iterator[DoctorCheck]], app: App) -> Iterator[DoctorCheck]:
    try:
        yield from check(app)
    except Exception as error:  # one check that fails hides no other
        yield from_failure(name, error, app.workspace)
