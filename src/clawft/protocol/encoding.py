"""Values as JSON, whatever is in them."""

from typing import Any

import msgspec

__all__ = ["encode"]


def encode(value: object) -> bytes:
    """As `msgspec.json.encode`; of a text that is no Unicode, such as a strange file name, what can be told."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(msgspec.to_builtins(value)))


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    return [_encodable(inner) for inner in value] if isinstance(value, list | tuple) else value
