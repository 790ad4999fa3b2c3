"""Values as JSON, whatever is in them."""

from typing import Any

import msgspec

__all__ = ["encode", "tellable"]


def encode(value: object) -> bytes:
    """As `msgspec.json.encode`; of a text that is no Unicode, such as a strange file name, what can be told."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(tellable(msgspec.to_builtins(value)))


def tellable(value: Any) -> Any:
    """A value with question marks for what is no Unicode in its texts."""
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace").decode()
    if isinstance(value, dict):
        return {tellable(key): tellable(inner) for key, inner in value.items()}
    return [tellable(inner) for inner in value] if isinstance(value, list | tuple) else value
