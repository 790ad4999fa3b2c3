"""The files that weft keeps of what a person decided and of what was done: whether each can be read."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from urllib.parse import quote as quote_url

from clawft.app import App
from clawft.cli.doctor.check import Check, from_error, from_failure, quote
from clawft.errors import ClawftError
from clawft.files import get_database_hint, is_there, restore_hint
from clawft.workspace import MARKER

__all__ = ["check_files", "check_pages"]

_SESSIONS = 1_000  # the newest, of which each is looked into


def check_files(app: App) -> Iterator[Check]:
    """What cannot be read. Of what is in order there is nothing to say."""
    for name, why, load in _list_files(app):
        try:
            load()
        except Exception as error:  # one file that fails hides no other
            yield from_failure(name, error, app.workspace, why)
    yield from _check_sessions(app)
    yield from _check_served(app)


def _list_files(app: App) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Each file with a name, what does not work without it, and what reads it."""
    from clawft.locks.file import LOCK_NAME, load_lock
    from clawft.plugging import open_grants
    from clawft.serve.tokens import ServeTokens
    from clawft.signing.keys import find_own_key
    from clawft.signing.publishers import load_publishers

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
    from clawft.config.serve import own_serve
    from clawft.serve.tokens import load_own

    user_dir = app.workspace.user_dir
    load_own(own_serve(app.config, user_dir, app.environ), user_dir, app.environ)


def _load_usage(user_dir: str) -> None:
    from clawft.run.stats import load_uses

    path = os.path.join(user_dir, "usage.sqlite")
    load_uses(path)
    check_pages(path, "the costs and counts so far")


def _load_hub(app: App) -> None:
    from clawft.config.hub import own_hub
    from clawft.hub.opening import has_store, open_store, store_folder
    from clawft.hub.store import DATABASE

    user_dir = app.workspace.user_dir
    settings = own_hub(app.config, user_dir, app.environ)
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
        with closing(sqlite3.connect(f"file:{quote_url(path)}?mode=ro", uri=True)) as database:
            said = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        hint = get_database_hint(error, path, lost)
        raise ClawftError("database-damaged", f"{name} cannot be read: {error}", path=path, hint=hint) from error
    if said != "ok":
        first = said.strip().splitlines()[-1]
        raise ClawftError("database-damaged", f"{name} is damaged: {first}", path=path, hint=restore_hint(lost))


def _check_sessions(app: App) -> Iterator[Check]:
    store = app.sessions
    try:
        store.list(_SESSIONS, forks=True)
    except ClawftError as error:
        if os.path.isdir(store.folder):  # else that is said of the user's folder
            yield from_error("sessions", error, app.workspace, why="no conversation goes on")
    for one in store.diagnostics:
        if one.severity == "error":
            yield from_error("sessions", one, app.workspace, why="this conversation cannot go on")


def _check_served(app: App) -> Iterator[Check]:
    from clawft.discovery.served import ORIGIN_FILE, list_unknown

    for place in list_unknown(app.workspace.user_dir):
        message = f"{ORIGIN_FILE} is missing or damaged: which skill of its server this is, nobody can tell"
        hint = "Restore it from a backup; or remove the copy, and approve the skill again: weft mcp skills"
        where = app.workspace.shorten(f"{place}/{ORIGIN_FILE}")
        why = "the server is not asked whether its skill changed"
        yield Check("mcp skill", "problem", f"{message} ({where})", hint, why, f"rm -r {quote(place)}")
