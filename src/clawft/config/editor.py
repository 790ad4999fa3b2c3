"""Edit config files: keep comments and layout, check each value first, and lock out other writers."""

import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import deepcopy
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import msgspec
import tomlkit
from msgspec import UNSET, Struct
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable, Table

from clawft.config.changes import Changes, ConfigScope, EditedConfig, Record, SettingChange
from clawft.config.keys import is_free, join_path, nest, to_snake_case
from clawft.config.loader import (
    CONFIG_NAMES,
    MAX_CONFIG_BYTES,
    ConfigLayer,
    check_layer,
    decode_json,
    parse_config,
)
from clawft.errors import ClawftError
from clawft.files import get_hint, hold_folder, read_optional, real_path, replace_file
from clawft.workspace import MARKER, Workspace

Document = MutableMapping[str, Any]


class _Change(Protocol):
    @property
    def path(self) -> tuple[str, ...]: ...
    @property
    def value(self) -> Any: ...
    @property
    def comment(self) -> str: ...


def rewrite_table(table: Document, path: tuple[str, ...], value: Any, *, headers: bool = True) -> Any:
    """Change one setting in nested tables, under the spelling it has there. What it was; UNSET for nothing."""
    inner = _find_table(table, path, make=value is not UNSET, headers=headers)
    if inner is None:
        return UNSET
    key = _spelling(inner, path)
    before = inner.get(key, UNSET)
    if value is not UNSET:
        inner[key] = value
    elif before is not UNSET:
        del inner[key]
        if len(path) > 1 and not inner and not _remarks(inner):
            rewrite_table(table, path[:-1], UNSET)  # a table without settings would still be one
    return before


def _remarks(table: Any) -> str:
    """Return what is left of a TOML table without settings: its comments."""
    return str(table.as_string()).strip() if hasattr(table, "as_string") else ""


def rewrite_toml(text: str, changes: Sequence[_Change], *, headers: bool = True) -> bytes:
    """A TOML text with changes made. A new table of settings gets a header of its own, or stands in one line."""
    document = tomlkit.parse(text)
    for change in changes:
        inner = _find_table(document, change.path, make=False)
        there = None if inner is None else inner.get(_spelling(inner, change.path))
        if (there is not None and isinstance(change.value, dict)) or isinstance(there, Table | AoT):
            rewrite_table(document, change.path, UNSET)  # a header cannot stand where a value stood, nor the reverse
        for path, value in _settings(change.path, change.value) if headers else [(change.path, change.value)]:
            item = value if value is UNSET else _item(value)
            if change.comment and there is None and item is not UNSET:
                item.comment(change.comment)
            rewrite_table(document, path, item, headers=headers)
    return _space_headers(text, tomlkit.dumps(document)).encode()


def _space_headers(old: str, new: str) -> str:
    """An empty line before each header that is new there, and an end to the last line."""
    before = old.splitlines()
    known = set(pairwise(before))
    lines = new.splitlines(keepends=True)
    for index in range(len(lines) - 1, 0, -1):
        pair = (lines[index - 1].rstrip("\r\n"), lines[index].rstrip("\r\n"))
        follows = pair[0].strip() and not pair[0].startswith("#")
        if follows and pair[1].startswith("[") and pair not in known:
            lines.insert(index, "\n")
    text = "".join(lines)
    return text if text.endswith("\n") else f"{text}\n"


def _settings(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A table becomes its settings, each under its own header; a reference to a secret stays in one piece."""
    if isinstance(value, dict) and value and set(value) not in ({"env"}, {"keystore"}):
        for key, inner in value.items():
            yield from _settings((*path, key), inner)
    else:
        yield path, value


def _find_table(table: Document, path: tuple[str, ...], *, make: bool, headers: bool = True) -> Document | None:
    """The table that a setting stands in; made if it is not there and shall be."""
    for length in range(1, len(path)):
        key = _spelling(table, path[:length])
        if key not in table:
            if not make:
                return None
            table[key] = _new_table(table, headers=headers, is_last=length == len(path) - 1)
        inner = table[key]
        if not isinstance(inner, MutableMapping):
            if not make:
                return None
            raise ClawftError("config-invalid", f"{join_path(path[:length])} is set, and is no table")
        table = inner
    return table


def _new_table(parent: Document, *, headers: bool, is_last: bool) -> Any:
    if type(parent) is dict:  # JSON
        return {}
    if isinstance(parent, InlineTable) or not headers:
        return tomlkit.inline_table()
    return tomlkit.table(is_super_table=not is_last)


def _spelling(table: Document, path: tuple[str, ...]) -> str:
    """The key as the file has it: `extraDirs` for `extra_dirs`."""
    free = is_free(path[:-1])
    return next((key for key in table if (key if free else to_snake_case(key)) == path[-1]), path[-1])


def _item(value: Any) -> Any:
    """A value on one line, tables in it too."""
    if isinstance(value, dict):
        inline = tomlkit.inline_table()
        for key, inner in value.items():
            inline[key] = _item(inner)
        return inline
    if isinstance(value, list):
        array = tomlkit.array()
        for inner in value:
            array.append(_item(inner))
        return array
    return tomlkit.item(value)


LOCK_TIMEOUT_S = 10.0


def edit_config(
    workspace: Workspace,
    scope: ConfigScope,
    changes: Changes,
    environ: Mapping[str, str],
    *,
    header: str = "",
    around: AbstractContextManager[None] | None = None,
    record: Record | None = None,
) -> EditedConfig:
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
            return EditedConfig(os.path.join(folder, CONFIG_NAMES[0]), (UNSET,) * len(wanted), changed=False)
    mode = 0o600 if scope == "user" else 0o644
    busy = ClawftError("config-busy", "Another program keeps changing the config", path=folder, hint="Try again")
    try:
        os.makedirs(folder, 0o700 if scope == "user" else 0o777, exist_ok=True)
        with hold_folder(folder, LOCK_TIMEOUT_S, busy), around or nullcontext():
            edit = _edit(_find_file(folder, scope), changes, environ, header=header)
            if edit.new is not None:
                with record(edit.replaced) if record else nullcontext() as commit:
                    _write(os.path.realpath(edit.edited.file), edit.new, mode, commit)
            return edit.edited
    except OSError as error:
        path = error.filename or folder
        message = f"The config was not changed: {error.strerror}"
        raise ClawftError("not-written", message, path=path, hint=get_hint(error, path)) from error


def _check_all(changes: Sequence[SettingChange], environ: Mapping[str, str]) -> None:
    for change in changes:
        _check(change, environ)


def _check(change: SettingChange, environ: Mapping[str, str]) -> None:
    """A value that cannot be meant is said before any file is looked at."""
    value = change.value
    if value is not UNSET:
        check_layer(ConfigLayer("", nest(change.path, value)), environ)
        if _has_null(change.value):
            raise ClawftError("config-invalid", f"{join_path(change.path)}: null is no value", hint="Use --unset")


def _has_null(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(map(_has_null, inner))


def _find_folder(workspace: Workspace, scope: ConfigScope) -> str:
    if scope == "user":
        return workspace.user_dir
    folder = os.path.join(workspace.project, MARKER)
    if real_path(folder) == real_path(workspace.user_dir):
        raise ClawftError("no-project", "This folder has no config of its own", path=folder, hint="Pass --scope user")
    if os.path.islink(folder):  # an untrusted project could make us write anywhere
        raise ClawftError("is-a-link", "The project's folder is a symbolic link", path=folder)
    return folder


def _find_file(folder: str, scope: ConfigScope) -> str:
    """The file that is there, or `config.toml`. Where a user's own link leads; a project's leads nowhere."""
    there = [path for path in (os.path.join(folder, name) for name in CONFIG_NAMES) if os.path.lexists(path)]
    if len(there) > 1:
        names = " and ".join(CONFIG_NAMES)
        raise ClawftError("config-twice", f"Both {names} exist", path=there[-1], hint="Keep one of them")
    file = there[0] if there else os.path.join(folder, CONFIG_NAMES[0])
    if os.path.islink(file) and scope == "project":
        raise ClawftError("is-a-link", "The project's config is a symbolic link", path=file)
    return file


class _Edit(Struct, frozen=True):
    edited: EditedConfig
    new: bytes | None = None  # what is to be written
    replaced: Sequence[tuple[SettingChange, Any]] = ()  # with what was there before


def _edit(file: str, changes: Changes, environ: Mapping[str, str], *, header: str) -> _Edit:
    data = read_optional(file, MAX_CONFIG_BYTES, follow=True) or (header.encode() if file.endswith(".toml") else b"")
    old = parse_config(file, data, environ).values
    if callable(changes):
        changes = changes(deepcopy(old))
        _check_all(changes, environ)
    wanted = deepcopy(old)
    before = tuple(rewrite_table(wanted, change.path, change.value) for change in changes)
    if repr(wanted) == repr(old):
        return _Edit(EditedConfig(file, before, changed=False))
    new = _rewrite(file, data.decode("utf-8-sig"), changes, wanted)
    replaced = [pair for pair in zip(changes, before, strict=True) if repr(pair[0].value) != repr(pair[1])]
    return _Edit(EditedConfig(file, before, changed=True), new, replaced)


def _rewrite(file: str, text: str, changes: Sequence[SettingChange], wanted: dict[str, Any]) -> bytes:
    """The new text, which is read again before it is believed: it says what was wanted, and nothing else."""
    ways: list[Callable[[str, Sequence[SettingChange]], bytes]] = [_rewrite_json]
    if file.endswith(".toml"):  # where keys with dots leave no room for a header, it is done without
        ways = [rewrite_toml, partial(rewrite_toml, headers=False)]
    for way in ways:
        with suppress(ClawftError, TOMLKitError):
            new = way(text, changes)
            if len(new) <= MAX_CONFIG_BYTES and _filled(parse_config(file, new, {}).values) == _filled(wanted):
                return new
    message = f"The file is too large, or laid out such that {join_path(changes[0].path)} cannot be changed"
    raise ClawftError("not-written", message, path=file, hint="Change it by hand")


def _filled(value: Any) -> Any:
    """Tables without those in them that hold nothing: TOML may drop them with the last setting."""
    if not isinstance(value, dict):
        return value
    inner = {key: _filled(child) for key, child in value.items()}
    return {key: child for key, child in inner.items() if child != {}}


def _rewrite_json(text: str, changes: Sequence[SettingChange]) -> bytes:
    document = decode_json(text) if text.strip() else {}
    for change in changes:
        rewrite_table(document, change.path, change.value)
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _write(file: str, data: bytes, mode: int, commit: Callable[[], object] | None) -> None:
    """Replace a file in one step; it keeps its rights."""
    with suppress(FileNotFoundError):
        mode = os.stat(file).st_mode & 0o7777
    replace_file(file, data, mode, commit)
