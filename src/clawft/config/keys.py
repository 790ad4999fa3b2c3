"""Keys of config files: camelCase and snake_case mean the same, dots reach into sections."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Path = tuple[str | int, ...]  # a number is the place in a list

_SKILL_ENV = ["skills", "entries", "*", "env"]
_HOOK_ENV = ["hooks", "entries", "*", "env"]
_PLUGIN_ENV = ["plugins", "entries", "*", "env"]
_PLUGIN_CONFIG = ["plugins", "entries", "*", "config"]
# Tables whose keys are names that the user or a plugin chose. "*" is any one key; below ".**" every key is.
_FREE = (
    "skills.entries",
    ".".join(_SKILL_ENV),
    "skills.config.**",
    "hooks.entries",
    ".".join(_HOOK_ENV),
    "plugins.entries",
    ".".join(_PLUGIN_ENV),
    ".".join([*_PLUGIN_CONFIG, "**"]),
    "gateway.channels",
    "providers",
    "registries",
    "providers.*.headers",
    "providers.*.models",
    "mcp.servers",
    "mcp.servers.*.env",
    "mcp.servers.*.headers",
)

# Compiled when first needed: a list of skills with a config in snake_case needs none.
_WORD_END = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
_PLAIN = r"[A-Za-z0-9_-]+"
_PART = r'"((?:\\.|[^"\\])*)"|([^."]+)'


class DuplicateKey(ValueError):
    """Two spellings of one key in the same table."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{join_path(path)} is set twice")
        self.path = path


def to_snake_case(name: str) -> str:
    """`getHTTPSUrl` becomes `get_https_url`; snake_case stays."""
    lower = name.lower()
    return (lower if name == lower else re.sub(_WORD_END, "_", name).lower()).replace("-", "_")


def is_free(path: Path) -> bool:
    """Return whether the keys of the table at a path are the user's own names."""
    return any(_matches(pattern.split("."), path) for pattern in _FREE)


def is_skill_env(path: Path) -> bool:
    """Return whether the table at a path holds the variables of a skill."""
    return _matches(_SKILL_ENV, path)


def is_plugin_env(path: Path) -> bool:
    """Return whether the table at a path holds the variables of a plugin."""
    return _matches(_PLUGIN_ENV, path)


def is_plugin_config(path: Path) -> bool:
    """Return whether the table at a path holds the settings of a plugin."""
    return _matches(_PLUGIN_CONFIG, path)


def is_env_table(path: Path) -> bool:
    """Return whether the table at a path holds variables that a skill, a hook or a plugin is given."""
    return is_skill_env(path) or _matches(_HOOK_ENV, path) or is_plugin_env(path)


def _matches(pattern: list[str], path: Path) -> bool:
    if pattern[-1] == "**":
        return _matches(pattern[:-1], path[: len(pattern) - 1])
    return len(pattern) == len(path) and all(want in ("*", have) for want, have in zip(pattern, path, strict=True))


def normalise_keys(value: Any, free: Callable[[Path], bool], path: Path = ()) -> Any:
    """All keys in snake_case, except in tables whose keys are the user's own names: `free` knows them by path.

    Raises: SetTwice.
    """
    if isinstance(value, list):
        return [normalise_keys(inner, free, (*path, index)) for index, inner in enumerate(value)]
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, inner in value.items():
        name = str(key) if free(path) else to_snake_case(str(key))
        if name in result:
            raise DuplicateKey((*path, name))
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


def nest(path: Sequence[str], value: Any) -> Any:
    """A value in the tables that a path names, each with the next one alone."""
    for key in reversed(path):
        value = {key: value}
    return value


def split_path(text: str) -> tuple[str, ...]:
    """The parts of a dotted key, in snake_case unless they are names: `providers.x.models."gpt-4.1".contextWindow`.

    Raises: ValueError.
    """
    path: tuple[str, ...] = ()
    at = 0
    while match := re.compile(_PART).match(text, at):
        quoted, bare = match.groups()
        part = re.sub(r"\\(.)", r"\1", quoted) if bare is None else bare
        path = (*path, part if is_free(path) else to_snake_case(part))
        at = match.end()
        if text[at : at + 1] != ".":
            break
        at += 1
    if not path or at != len(text) or text.endswith("."):
        raise ValueError(text)
    return path


def join_path(path: Iterable[str | int]) -> str:
    """A path as it is written: `agents.routing.tiers[0].model`; names that are not plain words in quotes."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            escaped = part.replace("\\", "\\\\").replace('"', '\\"')
            text += "." * bool(text) + (part if re.fullmatch(_PLAIN, part) else f'"{escaped}"')
    return text
