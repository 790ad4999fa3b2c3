"""The text of a config file with single settings changed, and all else as it was."""

from collections.abc import Iterator, MutableMapping, Sequence
from itertools import pairwise
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
    """What is left of a TOML table without settings: comments."""
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
