"""Changes to a config file: comments and layout stay, what cannot be meant is never written, writers take turns."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from copy import deepcopy
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct
from tomlkit.exceptions import TOMLKitError

from clawft.config.keys import join_path
from clawft.config.load import (
    CONFIG_NAMES,
    MAX_CONFIG_BYTES,
    Layer,
    check_layer,
    decode_json,
    parse_config,
    read_config,
)
from clawft.config.rewrite import rewrite_table, rewrite_toml
from clawft.errors import ClawftError
from clawft.files import get_hint, lock_file, real_path, replace_file
from clawft.workspace import MARKER, Workspace

__all__ = ["Change", "Changes", "Edited", "Record", "Scope", "edit_config"]

Scope = Literal["user", "project"]
LOCK_TIMEOUT_S = 10.0


class Change(Struct, frozen=True):
    """Give the setting at a path a value; UNSET takes it out. A setting that is new in a TOML file gets the comment."""

    path: tuple[str, ...]
    value: Any = UNSET
    comment: str = ""


class Edited(Struct, frozen=True):
    """The file that was meant, what each setting had in it before (UNSET for nothing), and whether it was written."""

    file: str
    before: tuple[Any, ...]
    changed: bool


# The settings that are about to get another value, each with what it had, to an open record and its last step.
Record = Callable[[Sequence[tuple[Change, Any]]], AbstractContextManager[Callable[[], object]]]
# What to change; or what makes that from the values of the file, read while no other writer can change it.
Changes = Sequence[Change] | Callable[[dict[str, Any]], Sequence[Change]]


def edit_config(
    workspace: Workspace,
    scope: Scope,
    changes: Changes,
    environ: Mapping[str, str],
    *,
    header: str = "",
    around: AbstractContextManager[None] | None = None,
    record: Record | None = None,
) -> Edited:
    """Make all changes in the user's or the project's config file, or none. A new file starts with the header.

    `around` is open while the file is held against other writers. `record` is open while it is replaced, and what it
    gives is called when only that is left to be done: as `commit` for `replace_file`.

    Raises: ClawftError for a value or a file that cannot be meant, and for a file that cannot be written.
    """
    if not callable(changes):
        _check_all(changes, environ)
    folder = _find_folder(workspace, scope)
    if not os.path.isdir(folder):
        wanted = changes({}) if callable(changes) else changes
        if all(change.value is UNSET for change in wanted):
            return Edited(os.path.join(folder, CONFIG_NAMES[0]), (UNSET,) * len(wanted), changed=False)
    mode = 0o600 if scope == "user" else 0o644
    try:
        os.makedirs(folder, 0o700 if scope == "user" else 0o777, exist_ok=True)
        with _locked(folder), around or nullcontext():
            edit = _edit(_find_file(folder, scope), changes, environ, header=header)
            if edit.new is not None:
                with record(edit.replaced) if record else nullcontext() as commit:
                    _write(os.path.realpath(edit.edited.file), edit.new, mode, commit)
            return edit.edited
    except OSError as error:
        path = error.filename or folder
        message = f"The config was not changed: {error.strerror}"
        raise ClawftError("not-written", message, path=path, hint=get_hint(error, path)) from error


def _check_all(changes: Sequence[Change], environ: Mapping[str, str]) -> None:
    for change in changes:
        _check(change, environ)


def _check(change: Change, environ: Mapping[str, str]) -> None:
    """A value that cannot be meant is said before any file is looked at."""
    value = change.value
    if value is not UNSET:
        for key in reversed(change.path):
            value = {key: value}
        check_layer(Layer("", value), environ)
        if _has_null(change.value):
            raise ClawftError("config-invalid", f"{join_path(change.path)}: null is no value", hint="Use --unset")


def _has_null(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(map(_has_null, inner))


def _find_folder(workspace: Workspace, scope: Scope) -> str:
    if scope == "user":
        return workspace.user_dir
    folder = os.path.join(workspace.project, MARKER)
    if real_path(folder) == real_path(workspace.user_dir):
        raise ClawftError("no-project", "This folder has no config of its own", path=folder, hint="Pass --scope user")
    if os.path.islink(folder):  # a stranger's project could make us write anywhere
        raise ClawftError("is-a-link", "The project's folder is a symbolic link", path=folder)
    return folder


def _find_file(folder: str, scope: Scope) -> str:
    """The file that is there, or `config.toml`. Where a user's own link leads; a project's leads nowhere."""
    there = [path for path in (os.path.join(folder, name) for name in CONFIG_NAMES) if os.path.lexists(path)]
    if len(there) > 1:
        names = " and ".join(CONFIG_NAMES)
        raise ClawftError("config-twice", f"Both {names} exist", path=there[-1], hint="Keep one of them")
    file = there[0] if there else os.path.join(folder, CONFIG_NAMES[0])
    if os.path.islink(file) and scope == "project":
        raise ClawftError("is-a-link", "The project's config is a symbolic link", path=file)
    return file


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Hold the folder itself, so that no lock file is left behind."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not lock_file(descriptor, LOCK_TIMEOUT_S):
            message = "Another program keeps changing the config"
            raise ClawftError("config-busy", message, path=folder, hint="Try again")
        yield
    finally:
        os.close(descriptor)


class _Edit(Struct, frozen=True):
    edited: Edited
    new: bytes | None = None  # what is to be written
    replaced: Sequence[tuple[Change, Any]] = ()  # with what was there before


def _edit(file: str, changes: Changes, environ: Mapping[str, str], *, header: str) -> _Edit:
    data = read_config(file) or (header.encode() if file.endswith(".toml") else b"")
    old = parse_config(file, data, environ).values
    if callable(changes):
        changes = changes(deepcopy(old))
        _check_all(changes, environ)
    wanted = deepcopy(old)
    before = tuple(rewrite_table(wanted, change.path, change.value) for change in changes)
    if repr(wanted) == repr(old):
        return _Edit(Edited(file, before, changed=False))
    new = _rewrite(file, data.decode("utf-8-sig"), changes, wanted)
    replaced = [one for one in zip(changes, before, strict=True) if repr(one[0].value) != repr(one[1])]
    return _Edit(Edited(file, before, changed=True), new, replaced)


def _rewrite(file: str, text: str, changes: Sequence[Change], wanted: dict[str, Any]) -> bytes:
    """The new text, which is read again before it is believed: it says what was wanted, and nothing else."""
    ways = (_with_headers, _in_one_line) if file.endswith(".toml") else (_rewrite_json,)
    for way in ways:
        with suppress(ClawftError, TOMLKitError):
            new = way(text, changes)
            if len(new) <= MAX_CONFIG_BYTES and _filled(parse_config(file, new, {}).values) == _filled(wanted):
                return new
    message = f"The file is too large, or laid out such that {join_path(changes[0].path)} cannot be changed"
    raise ClawftError("not-written", message, path=file, hint="Change it by hand")


def _with_headers(text: str, changes: Sequence[Change]) -> bytes:
    return rewrite_toml(text, changes)


def _in_one_line(text: str, changes: Sequence[Change]) -> bytes:
    return rewrite_toml(text, changes, headers=False)  # where keys with dots leave no room for a header


def _filled(value: Any) -> Any:
    """Tables without those in them that hold nothing: TOML may drop them with the last setting."""
    if not isinstance(value, dict):
        return value
    inner = {key: _filled(one) for key, one in value.items()}
    return {key: one for key, one in inner.items() if one != {}}


def _rewrite_json(text: str, changes: Sequence[Change]) -> bytes:
    document = decode_json(text) if text.strip() else {}
    for change in changes:
        rewrite_table(document, change.path, change.value)
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _write(file: str, data: bytes, mode: int, commit: Callable[[], object] | None) -> None:
    """Replace a file in one step; it keeps its rights."""
    with suppress(FileNotFoundError):
        mode = os.stat(file).st_mode & 0o7777
    replace_file(file, data, mode, commit)
