"""A parser's complaint about a config file, in terms of the file: the line, the key, and what was meant."""

import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct

from clawft.config.keys import to_snake_case
from clawft.config.load import SECTIONS, section_type
from clawft.errors import ClawftError, find_close

__all__ = ["explain_syntax", "explain_value", "walk_sections"]

_AT = re.compile(r" - at `\$\.?(.*)`$")
_INDEX = re.compile(r"\[.*?\]")
_UNKNOWN = re.compile(r"unknown field `(.+)`")
_KEYS = re.compile(r"[\"']?([\w-]+)[\"']?\s*(?=[:=.\]])")


def explain_syntax(error: Exception, path: str, data: bytes) -> ClawftError:
    """A file that is not TOML or JSON."""
    text = str(error)
    line, byte = re.search(r"line (\d+)", text), re.search(r"\(byte (\d+)\)", text)
    if line:
        number = int(line[1])
    elif byte:
        number = data.count(b"\n", 0, int(byte[1])) + 1
    else:
        number = data.rstrip().count(b"\n") + 1
    return ClawftError("config-invalid", f"The config cannot be parsed: {text}", path=path, line=number)


def explain_value(complaint: str, path: str, data: bytes) -> ClawftError:
    """A value of the wrong type, or a key that does not exist."""
    at = _AT.search(complaint)
    where = at[1] if at else ""
    problem = _AT.sub("", complaint)
    unknown = _UNKNOWN.search(problem)
    if unknown is None:
        key = _INDEX.sub("", where).rpartition(".")[2]
        message = f"{where}: {problem[0].lower()}{problem[1:]}"
        return ClawftError("config-invalid", message, path=path, line=_line_of(key, data))
    key = unknown[1]
    kind, setting = ("setting", f"{where}.{key}") if where else ("section", key)
    message = f"There is no {kind} '{setting}'"
    return ClawftError("config-unknown-key", message, path=path, line=_line_of(key, data), hint=_meant(key, where))


def walk_sections() -> Iterator[tuple[str, type[Struct]]]:
    """Every table of settings by its path; NAME stands for what the user chooses, [] for one of a list."""
    for name in SECTIONS:
        yield from _walk(name, section_type(name))


def _walk(path: str, kind: Any) -> Iterator[tuple[str, type[Struct]]]:
    arguments = get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Struct):
        yield path, kind
        for name, inner in get_type_hints(kind).items():
            yield from _walk(f"{path}.{name}", inner)
    elif get_origin(kind) is dict:
        yield from _walk(f"{path}.{'MODEL' if path.endswith('.models') else 'NAME'}", arguments[1])
    else:
        for argument in arguments:
            yield from _walk(f"{path}[]" if get_origin(kind) is tuple else path, argument)


def _meant(key: str, where: str) -> str:
    """The setting with the nearest name, in the same section if there is one."""
    if not where:
        close = find_close(key, SECTIONS)
        return f"Did you mean '{close}'?" if close else f"Sections are {', '.join(SECTIONS)}"
    here = _INDEX.sub(lambda match: "[]" if match[0].strip("[]").isdigit() else ".NAME", where)
    tables = {name: kind.__struct_fields__ for name, kind in walk_sections()}
    for sections in ([here], [name for name in tables if name.startswith(here.partition(".")[0])], tables):
        paths = {name: f"{one}.{name}" for one in reversed(list(sections)) for name in tables.get(one, ())}
        close = find_close(key, paths)
        if close:
            return f"Did you mean '{paths[close]}'?"
    return ""


def _line_of(key: str, data: bytes) -> int:
    for number, line in enumerate(data.decode("utf-8", errors="replace").split("\n"), 1):
        if any(to_snake_case(word) == key or word == key for word in _KEYS.findall(line)):
            return number
    return 0
