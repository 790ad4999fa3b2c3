"""The user's folder: whether it can be written, who else may read it, what is stored in it, and room on the disk."""

import os
import shutil
import time
from collections.abc import Iterator

from clawft.app import App
from clawft.cli.doctor.check import Check, Status, from_error, mend, move_away, quote
from clawft.config.keys import is_plugin_env, is_skill_env, join_path
from clawft.config.keystore import find_keyring, open_keystore
from clawft.config.secret import find_secrets
from clawft.errors import ClawftError
from clawft.files import is_there

__all__ = ["check_audit", "check_folder", "check_keys", "check_space"]

_WRITE = os.W_OK | os.X_OK
_LITTLE = 500 << 20
_TOO_LITTLE = 20 << 20
# What is in the folder -> the rights that nobody else should have.
_RIGHTS = {
    **dict.fromkeys(("config.toml", "config.json", "approvals.json", "skills", "agents", "AGENTS.md"), 0o022),
    **dict.fromkeys(("publishers.toml", "skills.lock", "serve-tokens.json"), 0o022),
    **dict.fromkeys(("sessions", "memory", "output", "usage.sqlite", "cron.json", "audit.jsonl", "keys"), 0o077),
    "serve-token": 0o077,
}
_KEEPING = "a turn keeps its session, costs and output there"


def check_folder(app: App) -> Iterator[Check]:
    folder, shorten = app.workspace.user_dir, app.workspace.shorten
    existing = folder
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    if existing != folder and not os.access(existing, _WRITE):
        message = f"{shorten(folder)} cannot be written to: nothing is cached, which only costs time"
        yield Check("user folder", "note", message, why=_KEEPING, fix="export CLAWFT_HOME=FOLDER")
        return
    yield Check("user folder", "ok", shorten(folder))
    for path in (folder, os.path.join(folder, "sessions"), os.path.join(folder, "output")):
        if is_there(path) and not (os.path.isdir(path) and os.access(path, _WRITE)):
            if os.path.isdir(path):
                message, fix = f"{shorten(path)} cannot be written to", mend("u+rwX", path)
            else:
                message, fix = f"{shorten(path)} is no folder", move_away(path)
            yield Check("user folder", "problem", message, why=_KEEPING, fix=fix)
    yield from _check_rights(app)
    yield check_space(existing, shutil.disk_usage(existing).free)


def _check_rights(app: App) -> Iterator[Check]:
    """What others may change or read that they should not; behind a folder that is closed to them nothing counts."""
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
            yield Check("user folder", "note", message, why=why, fix=mend("700", folder))
            return


def _rights(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def check_space(path: str, free: int) -> Check:
    """How much room is left where the user's folder is, in bytes."""
    text = f"{free / (1 << 30):.1f} GB free"
    if free >= _LITTLE:
        return Check("disk", "ok", text)
    status: Status = "problem" if free < _TOO_LITTLE else "note"
    fix = f"du -sh {quote(path)}/*"
    return Check("disk", status, f"only {free >> 20} MB free", "It shows what takes the room", _KEEPING, fix)


def check_keys(app: App) -> Iterator[Check]:
    """What is stored, and what the config names and is not."""
    store = open_keystore(app.environ)
    wanted = {one.keystore: path for path, one in find_secrets(app.config.values, app.environ) if one.keystore}
    try:
        names = store.names()
        missing = [name for name in wanted if not store.find(name)]
    except ClawftError as error:
        yield from_error("keys", error, app.workspace, why="no stored key is used")
        return
    backend = "the system's keyring" if find_keyring() else "a file"
    if names:
        yield Check("keys", "ok", f"{', '.join(names)}; new ones go to {backend}")
    for name in missing:
        held = names.get(name) == "keyring"
        message = f"The keyring does not give the key '{name}'" if held else f"No key '{name}' is stored"
        path = wanted[name]
        named = is_skill_env(path[:-1]) or is_plugin_env(path[:-1])
        fix = f"weft {path[0]} env {path[2]} {path[-1]}" if named else "weft onboard"
        yield Check("keys", "note", message, why=f"{join_path(path)} names it", fix=fix)


def check_audit(app: App) -> Iterator[Check]:
    """Whether the log of decisions ends as it was sealed; `weft audit verify` looks at every line."""
    from clawft.trust.audit.log import unreadable
    from clawft.trust.audit.verify import check_end

    why = "what gives power is not done when its line cannot be written"
    try:
        reason = check_end(app.audit)
    except NotADirectoryError:  # there is no user folder, which is said already
        return
    except (OSError, ClawftError) as error:
        failed = unreadable(error, app.audit) if isinstance(error, OSError) else error
        yield from_error("audit", failed, app.workspace, why=why)
        return
    if reason:
        folder, kept = quote(app.workspace.user_dir), f"audit.damaged-{int(time.time())}"
        hint = (
            "Restore it from a backup; or see what is left (weft audit verify) and keep the files elsewhere: a new log"
        )
        hint += " begins without their lines"
        fix = f"cd {folder} && mkdir {kept} && mv audit.head audit*.jsonl {kept}/; ls {kept}"
        why = "nobody can tell whether lines are missing or were changed"
        yield Check("audit", "problem", f"audit.jsonl cannot be verified: {reason}", hint, why, fix)
    elif os.path.exists(app.audit.path):
        yield Check("audit", "ok", app.workspace.shorten(app.audit.path))
