"""Variables that override settings: `CLAWFT_AGENTS__DEFAULTS__MODEL` is `agents.defaults.model`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from clawft.config.keys import is_free
from clawft.config.load import Layer, check_layer
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
    setting: Any = _value_of(environ[variable])
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
        if is_free(path) and isinstance(table, Mapping):
            key = next((known for known in table if known.lower().replace("-", "_") == key), key)
        path = (*path, key)
        table = table.get(key) if isinstance(table, Mapping) else None
    return path


def _value_of(text: str) -> Any:
    """Lists and tables are written as JSON; anything else is taken as the setting's own type."""
    if text[:1] in ("[", "{"):
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            return text
    return text
