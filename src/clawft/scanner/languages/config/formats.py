"""Parse JSON, YAML, TOML, INI and property lists into plain values, however broken they are."""

import json
import re
from typing import Any

from clawft.scanner.regex import lazy
from clawft.skills.parse.text import read_toml

AGAIN = "\0"  # ends a key that stands twice in one object: programs differ in which of the two they take
_JSON_PIECE = lazy(r'"|//|/\*|,(?=\s*+[}\]])')
_JSON_STRING = lazy(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_JSON_COLON = lazy(r"\s{0,100}:")
_YAML_MARK = lazy(r"^(?:---|\.\.\.)(?:[ \t].*)?$", re.MULTILINE)
_YAML_LINE = lazy(r"^[ \t]*(?:- +)*(?:[\"']?([\w.$/@-]{1,80})[\"']? *: )?[ \t]*(\S.*)$", re.MULTILINE)
# A colon ends a key when a space follows it, or when there is no equals sign: `@scope:registry=…` is one key.
_INI_LINE = lazy(
    r"^[ \t]*(?:export[ \t]+)?([^\s=:#;\[](?:[^=:\n]|:(?!\s)){0,120}?)[ \t]*(?:=|:(?=\s|[^=\n]*$))[ \t]*(.*)$"
)
_PLIST_TEXT = lazy(r"<(key|string|true|false)\b[^<>]{0,200}>(?:([^<]{0,20000})</\1>)?")
_MAX_PIECES = 20_000


def read_config(text: str, form: str) -> tuple[list[Any], str]:
    """The values of a text (YAML may hold several), and what was wrong with it."""
    if form == "json":
        return _read_json(text)
    if form == "yaml":
        return _read_yaml(text)
    if form == "toml":
        return _read_toml(text)
    if form == "plist":
        return _read_plist(text)
    return [_read_ini(text)], ""


def _read_json(text: str) -> tuple[list[Any], str]:
    for prepare in (str, _plain_json):
        try:
            return [json.loads(prepare(text), object_pairs_hook=_pairs)], ""
        except (ValueError, RecursionError):
            continue
    lines = _read_json_lines(text)
    if lines:
        return lines, ""
    return [_read_json_pieces(text)], "It is not valid JSON; its strings were read one by one"


def _read_json_pieces(text: str) -> dict[str, list[str]]:
    """The strings of a broken text, each under the key before it."""
    pairs: dict[str, list[str]] = {}
    key, at = "", text.find('"')
    for _ in range(_MAX_PIECES):
        if at < 0:
            break
        end = _end_of_string(text, at)
        word = _unescape(text[at + 1 : end])
        if _JSON_COLON.match(text, end + 1):
            key = word
        else:
            pairs.setdefault(key, []).append(word)
        at = text.find('"', end + 1)
    return pairs


def _end_of_string(text: str, start: int) -> int:
    """Find the end of the string that begins at a quote: at its other quote, or with the text."""
    match = _JSON_STRING.match(text, start + 1)
    return match.end() if match else len(text)


def _read_json_lines(text: str) -> list[Any]:
    """JSON lines: one value per line, or nothing when a line is not one."""
    values = []
    lines = [line for line in text.split("\n", _MAX_PIECES) if line.strip()]
    if len(lines) < 2 or len(lines) > _MAX_PIECES or not all(line.lstrip()[0] in "{[" for line in lines):
        return []
    for line in lines:
        try:
            values.append(json.loads(line, object_pairs_hook=_pairs))
        except (ValueError, RecursionError):
            return []
    return values


def _plain_json(text: str) -> str:
    """JSON without the comments and trailing commas that editors and agents allow."""
    parts: list[str] = []
    at = 0
    while match := _JSON_PIECE.search(text, at):
        parts.append(text[at : match.start()])
        at = match.end()
        if match[0] == '"':
            at = _end_of_string(text, match.start()) + 1
            parts.append(text[match.start() : at])
        elif match[0] != ",":
            end = text.find("\n" if match[0] == "//" else "*/", at)
            at = len(text) if end < 0 else end + (0 if match[0] == "//" else 2)
    parts.append(text[at:])
    return "".join(parts).lstrip("\ufeff")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that stands twice keeps both values."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, value in reversed(pairs):
            while key in seen:
                key += AGAIN
            seen.add(key)
            found[key] = value
    return found


def _unescape(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted
    try:
        return str(json.loads(f'"{quoted}"', strict=False))
    except ValueError:
        return quoted


def _read_yaml(text: str) -> tuple[list[Any], str]:
    from clawft.skills.parse.diagnostics import DiagnosticCollector
    from clawft.skills.parse.yaml import load_yaml

    values, complaint = [], ""
    parts = _YAML_MARK.split(text, 500) if _YAML_MARK.search(text) else [text]
    for part in parts:
        if not part.strip():
            continue
        try:
            value, broken = load_yaml(part, DiagnosticCollector("", part))
        except (ValueError, RecursionError):
            value, broken = None, "broken"
        if broken and not (isinstance(value, dict) and value):
            value = _yaml_lines(part)
            complaint = "It is not valid YAML; its values were read line by line"
        elif broken:
            value = {**_yaml_lines(part), **value}
        values.append(value)
    return values, complaint


_YAML_CALL = lazy(
    r"!!python/(?:object/apply|object/new|object):([\w.]{1,80})[ \t]*"
    r"(?:\[|\{args:[ \t]*\[|\n[ \t]*-|)[ \t\n]*([^\n]{0,4000})"
)


def find_yaml_calls(text: str) -> list[tuple[str, str]]:
    """The Python functions that a YAML text calls when an unsafe loader reads it, each with its first argument."""
    if "!!python/" not in text:
        return []
    calls = (match.groups() for match in _YAML_CALL.finditer(text))
    return [(name, argument.strip().strip("[](){}").strip("\"'")) for name, argument in calls][:200]


def _yaml_lines(text: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for index, match in enumerate(_YAML_LINE.finditer(text)):
        if index > _MAX_PIECES:
            break
        pairs.setdefault(match[1] or "", []).append(match[2].strip().strip("\"'"))
    return pairs


def _read_toml(text: str) -> tuple[list[Any], str]:
    try:
        return [read_toml(text.replace("\r\n", "\n"))], ""
    except (ValueError, RecursionError):
        return [_read_ini(text)], "It is not valid TOML; its values were read line by line"


def _read_ini(text: str) -> dict[str, Any]:
    """Sections of keys, of every dialect: `key = value`, `key: value`, indented lines go on; a key may repeat."""
    root: dict[str, Any] = {}
    section: dict[str, Any] = root
    values: list[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if stripped[0] == "[" and "]" in stripped:
            name = stripped[1 : stripped.rindex("]")].strip("[] ")
            while not isinstance(root.setdefault(name, {}), dict):
                name += AGAIN
            section, values = root[name], []
        elif line[0] in " \t" and values and not (match := _INI_LINE.match(line)):
            values.append(stripped)
        elif match := _INI_LINE.match(line):
            key = match[1].strip().strip("\"'")
            while not isinstance(section.setdefault(key, []), list):
                key += AGAIN
            values = section[key]
            values.append(_unquote(match[2].strip()))
    return root


def _unquote(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _read_plist(text: str) -> tuple[list[Any], str]:
    import plistlib

    try:
        return [plistlib.loads(text.encode("utf-8", "surrogatepass"))], ""
    except Exception:  # expat, the date parser and the number parser each raise their own kind
        pairs: dict[str, Any] = {}
        key = ""
        for match in _PLIST_TEXT.finditer(text):
            if match[1] == "key":
                key = (match[2] or "").strip()
            else:
                pairs.setdefault(key, []).append(match[2] if match[1] == "string" else match[1] == "true")
        return [pairs], "It is not a valid property list; its strings were read one by one"
