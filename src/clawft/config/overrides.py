"""Variables that override settings: `CLAWFT_AGENTS__DEFAULTS__MODEL` is `agents.defaults.model`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from clawft.config.keys import SetTwice, is_free, normalise_keys
from clawft.config.load import Layer, check_layer, decode_json
from clawft.config.schema import find_kind, plain
from clawft.errors import ClawftError

__all__ = ["load_overrides"]

_PREFIX = "CLAWFT_"


def load_overrides(environ: Mapping[str, str], values: Mapping[str, Any]) -> list[Layer]:
    """One layer per variable, in order of their names. Raises: ClawftError for one that sets nothing there is."""
    return [
        _load(name, environ, values)
        for name in sorted(environ)
        if name.startswith(_PREFIX) and "__" in name.removeprefix(_PREFIX)
    ]


def _load(variable: str, environ: Mapping[str, str], values: Mapping[str, Any]) -> Layer:
    path = _path_of(variable, values)
    if "" in path:
        raise ClawftError("config-unknown-key", f"{variable} names no setting", path=variable)
    setting = _value_of(variable, environ[variable], path)
    for key in reversed(path):
        setting = {key: setting}
    layer = Layer(variable, setting)
    check_layer(layer, environ, strict=False)
    return layer


def _path_of(variable: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The path a variable means; a name that the files have in another case, or with dashes, is that name."""
    path: tuple[str, ...] = ()
    table: Any = values
    for part in variable.removeprefix(_PREFIX).split("__"):
        key = part.lower()
        if is_free(path):
            known = table if isinstance(table, Mapping) else {}
            key = next((name for name in known if name.lower().replace("-", "_") == key), _new_name(part, path))
        path = (*path, key)
        table = table.get(key) if isinstance(table, Mapping) else None
    return path


def _new_name(part: str, path: tuple[str, ...]) -> str:
    """A name that no file has: variables keep their case, and skills, hooks and headers are written with dashes."""
    if path[-1] == "env":
        return part
    name = part.lower()
    dashed = path in (("skills", "entries"), ("hooks", "entries"), ("plugins", "entries")) or path[-1] == "headers"
    return name.replace("_", "-") if dashed else name


def _value_of(variable: str, text: str, path: tuple[str, ...]) -> Any:
    """Lists and tables are written as JSON; a text for anything but a text is read as what it is meant to be."""
    kind = find_kind(path)
    inner = plain(kind)
    if inner is Any or (text[:1] in ("[", "{") and inner is not str):
        try:
            return normalise_keys(decode_json(text), is_free, path)
        except SetTwice as error:
            raise ClawftError("config-invalid", f"{variable} sets a key twice", path=variable) from error
        except (ValueError, RecursionError):
            return text
    if inner in (bool, int, float):
        try:
            return msgspec.convert(text, inner, strict=False)
        except msgspec.ValidationError:
            return text
    return text
