"""Keys of config files: camelCase and snake_case mean the same (R165, R175), dots reach into sections."""

import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["find_by_path", "is_free", "normalise_keys", "to_snake_case"]

# Tables whose keys are names that somebody else chose. "*" is any one key; below ".**" every key is.
_FREE = (
    "skills.entries",
    "skills.entries.*.env",
    "skills.config.**",
    "providers",
    "providers.*.headers",
    "providers.*.models",
    "mcp.servers",
    "mcp.servers.*.env",
    "mcp.servers.*.headers",
)

_WORD_END = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def to_snake_case(name: str) -> str:
    """`getHTTPSUrl` becomes `get_https_url`; snake_case stays."""
    return _WORD_END.sub("_", name).replace("-", "_").lower()


def is_free(path: tuple[str, ...]) -> bool:
    """Whether the keys of the table at a path are the user's own names."""
    return any(_matches(pattern.split("."), path) for pattern in _FREE)


def _matches(pattern: list[str], path: tuple[str, ...]) -> bool:
    if pattern[-1] == "**":
        return path[: len(pattern) - 1] == tuple(pattern[:-1])
    return len(pattern) == len(path) and all(want in ("*", have) for want, have in zip(pattern, path, strict=True))


def normalise_keys(value: Any, free: Callable[[tuple[str, ...]], bool], path: tuple[str, ...] = ()) -> Any:
    """All keys in snake_case, except in tables whose keys are the user's own names: `free` knows them by path."""
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, inner in value.items():
        name = str(key) if free(path) else to_snake_case(str(key))
        result[name] = normalise_keys(inner, free, (*path, name))
    return result


def find_by_path(values: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, such as `agents.defaults.model`; None where there is none."""
    current: Any = values
    for part in path.split("."):
        if not isinstance(current, Mapping):
            return None
        current = current.get(part, current.get(to_snake_case(part)))
    return current
