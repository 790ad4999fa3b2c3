"""JSON to and from hooks, whatever is in it: names that are no UTF-8 are told, half characters are not kept."""

import json
from typing import Any

import msgspec

__all__ = ["read_json", "write_json"]


def write_json(value: Any) -> bytes:
    """A value for a hook. A folder whose name is no UTF-8 must not keep a hook from hearing what happens in it."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def read_json(text: str | bytes) -> Any:
    """What a hook wrote, with nothing in it that could not be written again. Raises: ValueError, RecursionError."""
    value = json.loads(text)
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value
