"""Checks of the user's folder: permissions, disk space, keys, the audit log, databases and unfinished installations."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

from clawft.agent.checkpoints.store import list_stores
from clawft.agent.records import load_uses
from clawft.app.app import App
from clawft.app.install import open_install_effects
from clawft.app.plugins import open_grants
from clawft.cli.doctor.check import CheckStatus, DoctorCheck, from_error, from_failure, move_away, quote, quote_chmod
from clawft.config.keys import is_plugin_env, is_skill_env, join_path
from clawft.config.keystore import find_keyring, open_keystore
from clawft.config.secret import find_secrets
from clawft.config.sqlite import DatabaseError, get_database_hint, open_sqlite, restore_hint
from clawft.errors import ClawftError
from clawft.files import get_hint, is_there
from clawft.install.lockfile.file import load_lock
from clawft.install.lockfile.model import LOCK_NAME
from clawft.server.hub.store import DATABASE, has_store, open_store, store_folder
from clawft.server.tokens import ServeTokens, load_own
from clawft.skills.discovery.mcp_copies import ORIGIN_FILE, list_unknown
from clawft.trust.audit.log import make_unreadable_error
from clawft.trust.audit.reader import check_end
from clawft.trust.signing.keys import find_own_key
from clawft.trust.signing.publishers import load_publishers
from clawft.workspace import MARKER

_SESSIONS = 1_000  # the newest, of which each is looked into


def check_files(app: App) -> Iterator[DoctorCheck]:
    """Check for files that cannot be read. Yields nothing for files in order."""
    for name, why, load in _list_files(app):
        try:
            load()
        except Exception as error:  # one file that fails hides no other
            yield from_failure(name, error, app.workspace, why)
    yield from _check_sessions(app)
    yield from _check_served(app)


def _list_files(app: App) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Each file with a name, what does not work without it, and what reads it."""
    user_dir = app.workspace.user_dir
    yield "approvals", "nothing that others wrote counts as approved", app.approvals.load
    yield "exceptions", "what you allowed is blocked again", app.overrides.load
    yield "grants", "no plugin is used", open_grants(app).load
    yield "publishers", "no signature counts", partial(load_publishers, user_dir)
    yield "signing key", "no skill can be signed", partial(find_own_key, user_dir)
    for folder in dict.fromkeys((user_dir, os.path.join(app.workspace.project, MARKER))):
        yield "lock", "no installed skill can be compared with its source", partial(load_lock, f"{folder}/{LOCK_NAME}")
    yield "tokens", "the daemon knows no token but your own", ServeTokens(user_dir).all
    yield "token", "the daemon does not start", partial(_load_token, app)
    yield "usage", "no turn is answered", partial(_load_usage, user_dir)
    yield "hub", "the registry does not start", partial(_load_hub, app)


def _load_token(app: App) -> None:
    user_dir = app.workspace.user_dir
    load_own(app.own_config.serve, user_dir, app.environ)


def _load_usage(user_dir: str) -> None:
    path = os.path.join(user_dir, "usage.sqlite")
    load_uses(path)
    check_pages(path, "the costs and counts so far")


def _load_hub(app: App) -> None:
    user_dir = app.workspace.user_dir
    settings = app.own_config.hub
    if settings.database is not None or not has_store(settings, user_dir):
        return
    with closing(open_store(settings, user_dir, app.environ)) as store:
        store.list_skills("updated", 1)
    check_pages(os.path.join(store_folder(settings, user_dir), DATABASE), "the skills so far")


def check_pages(path: str, lost: str) -> None:
    """Look at every page of a database that can be opened. Raises: ClawftError for one that is damaged."""
    if not is_there(path):
        return
    name = os.path.basename(path)
    try:
        with closing(open_sqlite(path, read_only=True)) as database:
            answer = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    except DatabaseError as error:
        hint = get_database_hint(error, path, lost)
        raise ClawftError("database-damaged", f"{name} cannot be read: {error}", path=path, hint=hint) from error
    if answer != "ok":
        first = answer.strip().splitlines()[-1]
        raise ClawftError("database-damaged", f"{name} is damaged: {first}", path=path, hint=restore_hint(lost))


def _check_sessions(app: App) -> Iterator[DoctorCheck]:
    store = app.sessions
    try:
        store.list(_SESSIONS, forks=True)
    except ClawftError as error:
        if os.path.isdir(store.folder):  # else that is said of the user's folder
            yield from_error("sessions", error, app.workspace, why="no conversation goes on")
    for diagnostic in store.diagnostics:
        if diagnostic.severity == "error":
            yield from_error("sessions", diagnostic, app.workspace, why="this conversation cannot go on")


def _check_served(app: App) -> Iterator[DoctorCheck]:
    for place in list_unknown(app.workspace.user_dir):
        message = f"{ORIGIN_FILE} is missing or damaged: which skill of its server this is, nobody can tell"
        hint = "Restore it from a backup; or remove the copy, and approve the skill again: weft mcp skills"
        where = app.workspace.shorten(f"{place}/{ORIGIN_FILE}")
        why = "the server is not asked whether its skill changed"
        yield DoctorCheck("mcp skill", "problem", f"{message} ({where})", hint, why, f"rm -r {quote(place)}")


_WRITE = os.W_OK | os.X_OK
_LITTLE = 500 << 20
_TOO_LITTLE = 20 << 20
# What is in the folder -> the rights that nobody else should have.
_RIGHTS = {
    **dict.fromkeys(("config.toml", "config.json", "approvals.json", "skills", "agents", "AGENTS.md"), 0o022),
    **dict.fromkeys(("publishers.toml", "skills.lock", "serve-tokens.json"), 0o022),
    **dict.fromkeys(("sessions", "memory", "output", "checkpoints", "usage.sqlite", "audit.jsonl", "keys"), 0o077),
    "serve-token": 0o077,
}
_KEEPING = "a turn keeps its session, costs and output there"


def check_folder(app: App) -> Iterator[DoctorCheck]:
    folder, shorten = app.workspace.user_dir, app.workspace.shorten
    existing = folder
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    if existing != folder and not os.access(existing, _WRITE):
        message = f"{shorten(folder)} cannot be written to: nothing is cached, which only costs time"
        yield DoctorCheck("user folder", "note", message, why=_KEEPING, fix="export CLAWFT_HOME=FOLDER")
        return
    yield DoctorCheck("user folder", "ok", shorten(folder))
    for path in (folder, os.path.join(folder, "sessions"), os.path.join(folder, "output")):
        if is_there(path) and not (os.path.isdir(path) and os.access(path, _WRITE)):
            if os.path.isdir(path):
                message, fix = f"{shorten(path)} cannot be written to", quote_chmod("u+rwX", path)
            else:
                message, fix = f"{shorten(path)} is no folder", move_away(path)
            yield DoctorCheck("user folder", "problem", message, why=_KEEPING, fix=fix)
    yield from _check_rights(app)
    yield check_space(existing, shutil.disk_usage(existing).free)


def _check_rights(app: App) -> Iterator[DoctorCheck]:
    """Check for files that other users may change or read but should not.

    Nothing is checked inside a folder that is closed to other users.
    """
    folder, shorten = app.workspace.user_dir, app.workspace.shorten
    if not os.path.isdir(folder) or not _rights(folder) & 0o011:
        return
    for name, rights in {"": 0o022, **_RIGHTS}.items():
        path = os.path.join(folder, name) if name else folder
        open_to = _rights(path) & rights
        if open_to:
            can = "change" if open_to & 0o022 else "read"
            why = "it decides what is run for you" if can == "change" else "it holds what you and the agent said"
            message = f"Others may {can} {shorten(path)}"
            yield DoctorCheck("user folder", "note", message, why=why, fix=quote_chmod("700", folder))
            return


def _rights(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def check_checkpoints(app: App) -> Iterator[DoctorCheck]:
    """Say how much room the checkpoints of all projects take."""
    stores = list_stores(app.workspace.user_dir)
    if stores:
        size = sum(os.stat(path).st_size for path in stores if os.path.exists(path))
        text = f"of {len(stores)} project{'s' * (len(stores) != 1)}, {size / (1 << 20):.1f} MB"
        yield DoctorCheck("checkpoints", "ok", text)


def check_space(path: str, free: int) -> DoctorCheck:
    """Check how much space is left on the disk of the user's folder; `free` is in bytes."""
    text = f"{free / (1 << 30):.1f} GB free"
    if free >= _LITTLE:
        return DoctorCheck("disk", "ok", text)
    status: CheckStatus = "problem" if free < _TOO_LITTLE else "note"
    fix = f"du -sh {quote(path)}/*"
    return DoctorCheck("disk", status, f"only {free >> 20} MB free", "It shows what takes the room", _KEEPING, fix)


def check_keys(app: App) -> Iterator[DoctorCheck]:
    """Check which keys are stored, and which the config names without being stored."""
    store = open_keystore(app.environ)
    wanted = {secret.keystore: path for path, secret in find_secrets(app.config.values, app.environ) if secret.keystore}
    try:
        names = store.names()
        missing = [name for name in wanted if not store.find(name)]
    except ClawftError as error:
        yield from_error("keys", error, app.workspace, why="no stored key is used")
        return
    backend = "the system's keyring" if find_keyring() else "a file"
    if names:
        yield DoctorCheck("keys", "ok", f"{', '.join(names)}; new ones go to {backend}")
    for name in missing:
        held = names.get(name) == "keyring"
        message = f"The keyring does not give the key '{name}'" if held else f"No key '{name}' is stored"
        path = wanted[name]
        named = is_skill_env(path[:-1]) or is_plugin_env(path[:-1])
        fix = f"weft {path[0]} env {path[2]} {path[-1]}" if named else "weft onboard"
        yield DoctorCheck("keys", "note", message, why=f"{join_path(path)} names it", fix=fix)


def check_audit(app: App) -> Iterator[DoctorCheck]:
    """Return whether the log of decisions ends as it was sealed; `weft audit verify` looks at every line."""
    why = "what gives power is not done when its line cannot be written"
    try:
        reason = check_end(app.audit)
    except NotADirectoryError:  # there is no user folder, which is said already
        return
    except (OSError, ClawftError) as error:
        failed = make_unreadable_error(error, app.audit) if isinstance(error, OSError) else error
        yield from_error("audit", failed, app.workspace, why=why)
        return
    if reason:
        folder, backup = quote(app.workspace.user_dir), f"audit.damaged-{int(time.time())}"
        hint = (
            "Restore it from a backup; or see what is left (weft audit verify) and keep the files elsewhere: a new log"
        )
        hint += " begins without their lines"
        fix = f"cd {folder} && mkdir {backup} && mv audit.head audit*.jsonl {backup}/; ls {backup}"
        why = "nobody can tell whether lines are missing or were changed"
        yield DoctorCheck("audit", "problem", f"audit.jsonl cannot be verified: {reason}", hint, why, fix)
    elif os.path.exists(app.audit.path):
        yield DoctorCheck("audit", "ok", app.workspace.shorten(app.audit.path))


_WHY = "nothing is installed or removed"


def check_installing(app: App) -> Iterator[DoctorCheck]:
    """Check for installations that a killed process left unfinished."""
    journals = open_install_effects(app).journals
    try:
        if is_there(journals.folder):
            os.scandir(journals.folder).close()
    except OSError as error:
        hint = get_hint(error, journals.folder)
        message = f"The notes of installations cannot be read: {error.strerror}"
        failed = ClawftError("unreadable", message, path=journals.folder, hint=hint)
        yield from_error("installing", failed, app.workspace, why=_WHY)
        return
    if not journals.has_any():
        return
    try:
        with journals.turn():
            broken = journals.list_interrupted()
    except ClawftError as error:
        path = error.diagnostic.path
        away = os.path.join(app.workspace.user_dir, f"{os.path.basename(path)}.damaged")
        more = {"fix": f"mv {quote(path)} {quote(away)}"} if os.path.dirname(path) == journals.folder else {}
        yield from_error("installing", error, app.workspace, why=_WHY, **more)
        return
    for journal in broken:
        fate = "it failed, and is taken back by" if journal.undo else "it is finished by"
        state = fate if journal.ready else "nothing was changed, and what it left is removed by"
        why = f"{state} the next command that installs or verifies"
        yield DoctorCheck(
            "installing", "note", f"broken off: {journal.what or journal.id}", why=why, fix="weft skills verify"
        )
