"""The YAML that most skills are written in, read without YAML: `key: text` on each line, or JSON on the line.

It answers exactly what YAML would, at a fraction of the time, or nothing at all where it is not certain.
"""

import re
from typing import Any

from msgspec import DecodeError, json

from clawft.format.fields import KEYS

__all__ = ["read_plain"]

_MAX_BRACKETS = 64  # more may be nested too deep
_MAX_JSON = 1024  # YAML refuses longer keys; what is no longer as a whole has none
_LONG_NUMBER, _TO_ZERO = b"0" * 16, bytes.maketrans(b"123456789", b"000000000")
_KEY = re.compile(r"[a-z][\w-]{0,63}", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"[0-9a-fxo.+-]+", re.IGNORECASE)
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL")),
}


def read_plain(source: str) -> dict[str, Any] | None:
    """The mapping that a YAML text holds, or None when only a YAML parser could tell."""
    if ("[" in source or "{" in source) and source.count("[") + source.count("{") > _MAX_BRACKETS:
        return None
    fields: dict[str, Any] = {}
    for line in source.removesuffix("\n").split("\n"):
        key, _, text = line.partition(": ")
        if key in fields or not (key in KEYS or _is_key(key)) or not text.isprintable():
            return None
        if ":" in text or "#" in text or not text[:1].isalpha() or text[-1] == " " or text in _WORDS:
            value = _read_odd(text.strip(" "))
            if value is None:
                return None
            fields[key] = value
        else:
            fields[key] = text  # a text without quotes stands for itself
    return fields


def _is_key(key: str) -> bool:
    return key not in _WORDS and _KEY.fullmatch(key) is not None


def _read_odd(text: str) -> Any:
    """A value with something to it: quotes, JSON, a number, a comment. None where it takes more to tell."""
    first = text[:1]
    if first == "{" or first == "[":
        return _read_json(text)
    if first == '"' or first == "'":
        inner = text[1:-1]
        return inner if text[-1] == first and len(text) > 1 and first not in inner and "\\" not in inner else None
    if not first.isalnum() or ": " in text or " #" in text or text[-1] == ":":
        return None
    if first.isdigit() and text.count(".") < 2 and _NUMBER.fullmatch(text):
        return None
    return _WORDS.get(text, text)


def _read_json(text: str) -> Any:
    """JSON is YAML but for odd numbers, escapes and keys that stand twice, which do not come back as written."""
    try:
        value = json.decode(text)
    except DecodeError:
        return None
    written = text.encode()
    same = json.encode(value).replace(b" ", b"") == written.replace(b" ", b"")
    long = len(text) > _MAX_JSON or written.translate(_TO_ZERO).find(_LONG_NUMBER) >= 0
    return value if same and not long else None
