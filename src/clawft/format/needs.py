"""What a skill requires and how to install it, found wherever a client would have written it (D45).

Blocks of `metadata` are read in the order of NAMESPACES, an earlier one winning key by key; then the flat forms.
"""

from typing import Any

import msgspec

from clawft.format.fields import BLOCK_KEYS, UNREAD, read_names
from clawft.format.model import Requires
from clawft.format.notes import Notes

__all__ = ["NAMESPACES", "check_metadata", "read_block", "read_requires"]

NAMESPACES = ("clawft", "openclaw", "wundr", "clawdbot", "clawdis", "moltbot", "nanobot")
MAX_METADATA_BYTES = 8192  # R117
MAX_METADATA_DEPTH = 10
_OS = {"macos": "darwin", "mac": "darwin", "osx": "darwin", "windows": "win32", "win": "win32"}
_REQUIRES = {
    "bins": "bins",
    "bin": "bins",
    "commands": "bins",
    "anyBins": "any_bins",
    "any_bins": "any_bins",
    "any-bins": "any_bins",
    "env": "env",
    "envs": "env",
    "config": "config",
    "os": "os",
    "tools": "tools",
}


def check_metadata(metadata: dict[Any, Any], notes: Notes) -> dict[str, Any]:
    """The metadata as JSON-safe values, or nothing when it is over the limits of R117."""
    try:
        encoded = msgspec.json.encode(metadata)
    except (TypeError, ValueError, RecursionError):
        encoded = b""
    too_deep = encoded.count(b"{") + encoded.count(b"[") > MAX_METADATA_DEPTH and _depth(metadata) > MAX_METADATA_DEPTH
    if not encoded or len(encoded) > MAX_METADATA_BYTES or too_deep:
        limit = f"{MAX_METADATA_BYTES} bytes and {MAX_METADATA_DEPTH} levels"
        notes.add("metadata-limit", "error", f"'metadata' is over {limit}; all of it was left out, requirements too", key="metadata")
        return {}
    if all(type(key) is str for key in metadata):
        return metadata
    decoded: dict[str, Any] = msgspec.json.decode(encoded)
    return decoded


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level:
        deepest += 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return deepest


def read_block(metadata: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The fields that a client's block, or the flat metadata, gives the skill."""
    block: dict[str, Any] = {key: value for key, value in metadata.items() if key in BLOCK_KEYS}
    for namespace in reversed(NAMESPACES):
        inner = metadata.get(namespace)
        if isinstance(inner, dict):
            block.update((key, value) for key, value in inner.items() if key in BLOCK_KEYS)
    fields: dict[str, Any] = {}
    for key, value in block.items():
        if value is None:
            continue
        field = BLOCK_KEYS[key]
        read = field.read(value, key, notes)
        if read is not UNREAD:
            fields[field.name] = read
    return fields


def read_requires(fields: dict[str, Any], notes: Notes) -> Requires:
    """All requirements, from `requires` and the flat forms, taken out of `fields`."""
    found: dict[str, tuple[str, ...]] = {}
    for key, value in (fields.pop("requires", None) or {}).items():
        name = _REQUIRES.get(key)
        if name is None:
            notes.add("unknown-requirement", "note", f"No client checks 'requires.{key}'", key="metadata")
        elif value is not None:
            names = read_names(_names_of(value), f"requires.{key}", notes)
            found[name] = found.get(name, ()) + (names if names is not UNREAD else ())
    found["bins"] = found.get("bins", ()) + fields.pop("bins", ())
    found["env"] = found.get("env", ()) + _required_env(fields)
    found["os"] = tuple(_OS.get(name.lower(), name.lower()) for name in found.get("os", ()) + fields.pop("os", ()))
    found["tools"] = found.get("tools", ()) + fields.pop("required_tools", ())
    return Requires(**{name: tuple(dict.fromkeys(values)) for name, values in found.items()})


def _names_of(value: Any) -> Any:
    """Items written as mappings (`{name: X, …}`) count by their name unless they are marked optional."""
    if not isinstance(value, list):
        return value
    wanted = [item for item in value if not (isinstance(item, dict) and item.get("required") is False)]
    return [item.get("name") if isinstance(item, dict) else item for item in wanted]


def _required_env(fields: dict[str, Any]) -> tuple[str, ...]:
    listed = [*fields.pop("required_environment_variables", ()), *fields.pop("env_vars", ())]
    return tuple(name for name in _names_of(listed) if isinstance(name, str) and name)
