"""Keys of config files: camelCase and snake_case mean the same (R165, R175), dots reach into sections."""

import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["find_by_path", "normalise_keys", "to_snake_case"]

_WORD_END = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def to_snake_case(name: str) -> str:
    """`getHTTPSUrl` becomes `get_https_url`; snake_case stays."""
    return _WORD_END.sub("_", name).replace("-", "_").lower()


def normalise_keys(value: Any, is_free: Callable[[tuple[str, ...]], bool], path: tuple[str, ...] = ()) -> Any:
    """All keys in snake_case, except in tables whose keys are the user's own names: `is_free` knows them by path."""
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, inner in value.items():
        name = str(key) if is_free(path) else to_snake_case(str(key))
        result[name] = normalise_keys(inner, is_free, (*path, name))
    return result


def find_by_path(values: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, such as `agents.defaults.model`; None where there is none."""
    current: Any = values
    for part in path.split("."):
        if not isinstance(current, Mapping):
            return None
        current = current.get(part, current.get(to_snake_case(part)))
    return current
