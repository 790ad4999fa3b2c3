"""A parser's complaint about a config file, in terms of the file: the line, the key, and what was meant."""

import re

from clawft.config.keys import to_snake_case
from clawft.config.skills import LoadSettings, SecuritySettings, SkillEntry, SkillsSettings
from clawft.errors import ClawftError, find_close

__all__ = ["explain_syntax", "explain_value"]

_SECTIONS = {
    "skills": SkillsSettings,
    "skills.load": LoadSettings,
    "skills.security": SecuritySettings,
    "skills.entries.NAME": SkillEntry,
}
_AT = re.compile(r" - at `\$(.*)`$")
_INDEX = re.compile(r"\[.*?\]")
_UNKNOWN = re.compile(r"unknown field `(\w+)`")
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
    unknown = _UNKNOWN.search(complaint)
    if unknown is None:
        problem = _AT.sub("", complaint)
        key = _INDEX.sub("", where).rpartition(".")[2] or "skills"
        message = f"skills{where}: {problem[0].lower()}{problem[1:]}"
        return ClawftError("config-invalid", message, path=path, line=_line_of(key, data))
    key = unknown[1]
    message = f"There is no setting 'skills{where}.{key}'"
    return ClawftError("config-unknown-key", message, path=path, line=_line_of(key, data), hint=_meant(key, where))


def _meant(key: str, where: str) -> str:
    """The setting with the nearest name, in the same section if there is one."""
    here = "skills" + _INDEX.sub(".NAME", where)
    for sections in ([here], _SECTIONS):
        paths = {name: f"{one}.{name}" for one in sections if one in _SECTIONS for name in _fields(one)}
        close = find_close(key, paths)
        if close:
            return f"Did you mean '{paths[close]}'?"
    return ""


def _fields(section: str) -> tuple[str, ...]:
    return _SECTIONS[section].__struct_fields__


def _line_of(key: str, data: bytes) -> int:
    for number, line in enumerate(data.decode("utf-8", errors="replace").split("\n"), 1):
        if any(to_snake_case(word) == key for word in _KEYS.findall(line)):
            return number
    return 0
