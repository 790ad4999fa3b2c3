"""The text of our lock: TOML in one layout, so that the same state is the same bytes and merges line by line.

The layout is narrow enough for one pattern, which reads a thousand skills in milliseconds; what a person or a merge
wrote differently is read by `tomllib`. Both give plain values; what they mean, and whether they may, is `file.py`.
"""

import re
from collections.abc import Iterator
from typing import Any

from clawft.locks.names import HEAD

__all__ = ["FIELDS", "read_quickly", "render_value"]

_TEXT = r'"([^"\\\x00-\x1f\x7f]*)"'
_LIST = r"\[([^\[\]\\\x00-\x1f\x7f]*)\]"
# Each with how it is read: a text, a list of texts, or the one truth value that is not the default.
FIELDS = {
    "kind": _TEXT,
    "url": _TEXT,
    "owner": _TEXT,
    "slug": _TEXT,
    "ref": _TEXT,
    "path": _TEXT,
    "version": _TEXT,
    "commit": _TEXT,
    "archive": _TEXT,
    "digest": _TEXT,
    "verdict": _TEXT,
    "engine": _TEXT,
    "approved": _TEXT,
    "signed_by": _TEXT,
    "pinned": _TEXT,
    "requested": "(false)",
    "to": _LIST,
    "dependencies": _LIST,
}
_FILE = r'  "[0-9a-f]{64} [0-9]+ [x-] [^"\\\x00-\x1f\x7f]+",\n'
_BLOCK = re.compile(
    r"\n\[skill\.([A-Za-z0-9_-]+)\]\n"
    + "".join(f"(?:{name} = {value}\n)?" for name, value in FIELDS.items())
    + rf"files = \[\n((?:{_FILE})*)\]\n"
)
_PLAIN = re.compile(r'[^"\\\x00-\x1f\x7f-\x9f]*')  # nothing to escape
_ITEMS = re.compile(r'"([^"]*)"(?:, |$)')
_LISTS = frozenset(name for name, value in FIELDS.items() if value == _LIST)
_NAMES = tuple(FIELDS)


def read_quickly(text: str) -> dict[str, dict[str, Any]] | None:
    """The blocks by name, as `tomllib` would give them; None for a text that is not just in this layout."""
    if not text.startswith(HEAD):
        return None
    found: dict[str, dict[str, Any]] = {}
    at = len(HEAD)
    while match := _BLOCK.match(text, at):
        name, *values, files = match.groups()
        if name in found:
            return None
        fields = {key: value for key, value in zip(_NAMES, values, strict=True) if value is not None}
        for key in _LISTS.intersection(fields):
            items = _ITEMS.findall(fields[key])
            if render_value(items)[1:-1] != fields[key]:
                return None
            fields[key] = items
        if "requested" in fields:
            fields["requested"] = False
        fields["files"] = [line[3:-2] for line in files.splitlines()] if files else []
        found[name] = fields
        at = match.end()
    return found if at == len(text) else None


def render_value(value: str | bool | list[str]) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(render_value, value))}]"
    return f'"{value if _PLAIN.fullmatch(value) else "".join(_escape(value))}"'


def _escape(text: str) -> Iterator[str]:
    for char in text:
        if char in '"\\':
            yield "\\" + char
        elif ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0:
            yield f"\\u{ord(char):04x}"
        else:
            yield char
