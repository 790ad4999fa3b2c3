"""The text of a config file with single settings changed, and all else as it was."""

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, Protocol

import tomlkit
from msgspec import UNSET
from tomlkit.items import AoT, InlineTable, Table

from clawft.config.keys import is_free, join_path, to_snake_case
from clawft.errors import ClawftError

__all__ = ["rewrite_table", "rewrite_toml"]

Document = MutableMapping[str, Any]


class _Change(Protocol):
    @property
    def path(self) -> tuple[str, ...]: ...
    @property
    def value(self) -> Any: ...


def rewrite_table(table: Document, path: tuple[str, ...], value: Any) -> Any:
    """Change one setting in nested tables, under the spelling it has there. What it was; UNSET for nothing."""
    inner = _find_table(table, path, make=value is not UNSET)
    if inner is None:
        return UNSET
    key = _spelling(inner, path)
    before = inner.get(key, UNSET)
    if value is not UNSET:
        inner[key] = value
    elif before is not UNSET:
        del inner[key]
    return before


def rewrite_toml(text: str, changes: Sequence[_Change]) -> bytes:
    """A TOML text with changes made. A new table of settings gets a header of its own."""
    document = tomlkit.parse(text)
    for change in changes:
        inner = _find_table(document, change.path, make=False)
        if inner is not None and isinstance(inner.get(_spelling(inner, change.path)), Table | AoT):
            rewrite_table(document, change.path, UNSET)  # a value cannot stand where a header stood
        for path, value in _settings(change.path, change.value):
            rewrite_table(document, path, value if value is UNSET else _item(value))
    return tomlkit.dumps(document).encode()


def _settings(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A table becomes its settings, each under its own header; a reference to a secret stays in one piece."""
    if isinstance(value, dict) and value and set(value) != {"env"}:
        for key, inner in value.items():
            yield from _settings((*path, key), inner)
    else:
        yield path, value


def _find_table(table: Document, path: tuple[str, ...], *, make: bool) -> Document | None:
    """The table that a setting stands in; made if it is not there and shall be."""
    for length in range(1, len(path)):
        key = _spelling(table, path[:length])
        if key not in table:
            if not make:
                return None
            table[key] = _new_table(table, is_last=length == len(path) - 1)
        inner = table[key]
        if not isinstance(inner, MutableMapping):
            if not make:
                return None
            raise ClawftError("config-invalid", f"{join_path(path[:length])} is set, and is no table")
        table = inner
    return table


def _new_table(parent: Document, *, is_last: bool) -> Any:
    if type(parent) is dict:  # JSON
        return {}
    if isinstance(parent, InlineTable):
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
    if value is None:
        raise ClawftError("config-invalid", "TOML has no null", hint="Leave the key out, or use --unset")
    return tomlkit.item(value)
