"""What a skill requires and how to install it, found wherever a client would have written it (D45).

Blocks of `metadata` are read in the order of NAMESPACES, an earlier one winning key by key; then the flat forms.
"""

from typing import Any

import msgspec

from clawft.format.fields import BLOCK_KEYS, UNREAD, json_safe, read_names, read_needs
from clawft.format.model import Requires
from clawft.format.names import NAMESPACES
from clawft.format.notes import Notes

__all__ = ["check_metadata", "read_block", "read_requires"]

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
    "skills": "skills",
    "skill": "skills",
}
# What may stand beside `requires` -> the requirement it is
_FLAT = {
    "bins": "bins",
    "required_environment_variables": "env",
    "env_vars": "env",
    "os": "os",
    "required_tools": "tools",
}


def check_metadata(metadata: dict[Any, Any], notes: Notes) -> dict[str, Any]:
    """The metadata as JSON-safe values, or nothing when it is over the limits of R117."""
    try:
        encoded = msgspec.json.encode(metadata)
    except (TypeError, ValueError, RecursionError):  # keys that are no texts, among others
        metadata = json_safe(metadata)
        encoded = msgspec.json.encode(metadata)
    too_deep = encoded.count(b"{") + encoded.count(b"[") > MAX_METADATA_DEPTH and _depth(metadata) > MAX_METADATA_DEPTH
    if len(encoded) > MAX_METADATA_BYTES or too_deep:
        limit = f"{MAX_METADATA_BYTES} bytes and {MAX_METADATA_DEPTH} levels"
        notes.add(
            "metadata-limit",
            "error",
            f"'metadata' is over {limit}; all of it was left out, requirements too",
            key="metadata",
        )
        return {}
    if {str}.issuperset(map(type, metadata)):
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
    named = [name for name in NAMESPACES if name in metadata and isinstance(metadata[name], dict)]
    if len(metadata) == len(named) == 1:  # as most are
        block = metadata[named[0]]
    else:
        block = dict(metadata)
        for name in reversed(named):
            block.update(metadata[name])
    fields: dict[str, Any] = {}
    for key, value in block.items():
        field = BLOCK_KEYS.get(key)
        if field is None or value is None:
            continue
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
            notes.add("unknown-requirement", "note", f"No client checks 'requires.{key}'", key=f"requires.{key}")
        elif value is not None:
            read = read_needs if name == "skills" else read_names
            names = read(value if name == "skills" else _names_of(value), f"requires.{key}", notes)
            if names is not UNREAD:
                found[name] = found.get(name, ()) + names
    for flat, name in _FLAT.items():
        if flat in fields:
            names = fields.pop(flat)
            found[name] = found.get(name, ()) + (_required(names) if name == "env" else names)
    if "os" in found:
        found["os"] = tuple(_OS.get(name.lower(), name.lower()) for name in found["os"])
    return Requires(**{name: tuple(dict.fromkeys(values)) for name, values in found.items()})


def _names_of(value: Any) -> Any:
    """Items written as mappings (`{name: X, …}`) count by their name unless they are marked optional."""
    if not isinstance(value, list) or dict not in map(type, value):
        return value
    wanted = [item for item in value if not (isinstance(item, dict) and item.get("required") is False)]
    return [item.get("name") if isinstance(item, dict) else item for item in wanted]


def _required(listed: list[Any]) -> tuple[str, ...]:
    return tuple(name for name in _names_of(listed) if isinstance(name, str) and name)
