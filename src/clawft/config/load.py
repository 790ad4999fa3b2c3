"""Config files to one frozen value: the user's, then the project's on top of it.

`.toml` or `.json`; both in one folder is an error, since either could be the forgotten one.
"""

import os
import re
from typing import Any

import msgspec
from msgspec import Struct

from clawft.config.keys import normalise_keys, to_snake_case
from clawft.config.secret import SecretRef
from clawft.config.skills import LoadSettings, SecuritySettings, SkillEntry, SkillsSettings
from clawft.errors import ClawftError, find_close
from clawft.files import read_regular
from clawft.workspace import MARKER, Workspace

__all__ = ["CONFIG_NAMES", "Config", "config_files", "load_config"]

CONFIG_NAMES = ("config.toml", "config.json")
MAX_CONFIG_BYTES = 1 << 20
_UNKNOWN = re.compile(r"unknown field `(\w+)`")
_PARTS = (SkillsSettings, LoadSettings, SecuritySettings, SkillEntry)
_AT = re.compile(r" - at `\$(.*)`$")


class Config(Struct, frozen=True):
    """All settings. `values` holds every section as written, for lookups by path; `files` those that were read."""

    skills: SkillsSettings = SkillsSettings()
    values: dict[str, Any] = {}
    files: tuple[str, ...] = ()


def config_files(workspace: Workspace) -> tuple[str, ...]:
    """Where config may stand, lowest precedence first; whether or not it exists."""
    folders = (workspace.user_dir, os.path.join(workspace.project, MARKER))
    return tuple(os.path.join(folder, name) for folder in dict.fromkeys(folders) for name in CONFIG_NAMES)


def load_config(workspace: Workspace) -> Config:
    """Read what there is. Raises: ClawftError for a file that cannot be read or a value that cannot be meant."""
    values: dict[str, Any] = {}
    skills = SkillsSettings()
    read: list[str] = []
    for path in config_files(workspace):
        data = _read(path)
        if data is None:
            continue
        if read and os.path.dirname(read[-1]) == os.path.dirname(path):
            raise ClawftError(
                "config-twice",
                f"Both {os.path.basename(read[-1])} and {os.path.basename(path)} exist",
                path=path,
                hint="Keep one of them",
            )
        section = normalise_keys(_decode(path, data), _is_free)
        _convert(section, path, data)  # on its own first, so that an error names the file it is in
        values = _merge(values, section)
        skills = _convert(values, path, data)
        read.append(path)
    return Config(skills, values, tuple(read))


def _is_free(path: tuple[str, ...]) -> bool:
    return path == ("skills", "entries") or (path[:2] == ("skills", "entries") and path[3:] == ("env",))


def _read(path: str) -> bytes | None:
    try:
        return read_regular(path, MAX_CONFIG_BYTES, follow=True)[0]
    except (FileNotFoundError, NotADirectoryError):
        return None


def _decode(path: str, data: bytes) -> dict[str, Any]:
    try:
        text = data.decode("utf-8-sig")
        if path.endswith(".toml"):
            import tomllib  # only where there is such a file

            return tomllib.loads(text)
        value = msgspec.json.decode(text or "{}")
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, DecodeError, UnicodeDecodeError
        line = re.search(r"line (\d+)", str(error))
        raise ClawftError(
            "config-invalid", f"The config cannot be parsed: {error}", path=path, line=int(line[1]) if line else 0
        ) from error
    if not isinstance(value, dict):
        raise ClawftError("config-invalid", "The config is not a JSON object", path=path, line=1)
    return value


def _convert(values: dict[str, Any], path: str, data: bytes) -> SkillsSettings:
    try:
        return msgspec.convert(_with_secrets(values.get("skills", {})), SkillsSettings)
    except msgspec.ValidationError as error:
        raise _explain(str(error), path, data) from error


def _with_secrets(skills: Any) -> Any:
    """The section with every `api_key` as a reference, whichever way it was written (R149)."""
    entries = skills.get("entries") if isinstance(skills, dict) else None
    if not isinstance(entries, dict):
        return skills
    made = {}
    for name, entry in entries.items():
        secret = SecretRef.parse(entry.get("api_key")) if isinstance(entry, dict) else None
        made[name] = {**entry, "api_key": secret} if secret else entry
    return {**skills, "entries": made}


def _explain(complaint: str, path: str, data: bytes) -> ClawftError:
    """The parser's complaint with the line of the key and, for an unknown key, the one that was meant."""
    at = _AT.search(complaint)
    where = at[1] if at else ""
    unknown = _UNKNOWN.search(complaint)
    key = unknown[1] if unknown else re.sub(r"\[.*?\]", "", where).rpartition(".")[2]
    line = _line_of(key, data)
    if unknown is None:
        problem = _AT.sub("", complaint)
        return ClawftError("config-invalid", f"skills{where}: {problem[0].lower()}{problem[1:]}", path=path, line=line)
    close = find_close(key, (name for part in _PARTS for name in part.__struct_fields__))
    return ClawftError(
        "config-unknown-key",
        f"There is no setting 'skills{where}.{key}'",
        path=path,
        line=line,
        hint=f"Did you mean '{close}'?" if close else "",
    )


def _line_of(key: str, data: bytes) -> int:
    for number, line in enumerate(data.decode("utf-8", errors="replace").split("\n"), 1):
        if any(to_snake_case(word) == key for word in re.findall(r"[\w-]+", line.split("=")[0].split(": ")[0])):
            return number
    return 0


def _merge(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    """Tables are merged key by key; any other value is replaced."""
    merged = dict(low)
    for key, value in high.items():
        both = isinstance(value, dict) and isinstance(low.get(key), dict)
        merged[key] = _merge(low[key], value) if both else value
    return merged
