"""Config files to one frozen value: the user's, then the project's on top of it.

`.toml` or `.json`; both in one folder is an error, since either could be the forgotten one.
"""

import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawft.config.keys import normalise_keys
from clawft.config.secret import SecretRef
from clawft.config.skills import SkillsSettings
from clawft.errors import ClawftError, Diagnostic, find_close
from clawft.files import read_regular
from clawft.workspace import MARKER, Workspace

__all__ = ["CONFIG_NAMES", "Config", "config_files", "load_config"]

CONFIG_NAMES = ("config.toml", "config.json")
MAX_CONFIG_BYTES = 1 << 20
MAX_DOTS = 500  # in a line: keys that nest without end cost quadratic time
_SECTIONS = frozenset({"agents", "providers", "skills", "tools", "mcp", "serve", "hooks", "plugins", "memory"})


class Config(Struct, frozen=True):
    """All settings. `values` holds every section as written, for lookups by path; `files` those that were read."""

    skills: SkillsSettings = SkillsSettings()
    values: dict[str, Any] = {}
    files: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def __repr__(self) -> str:
        return f"Config(files={self.files!r})"  # the values may hold a secret


def config_files(workspace: Workspace) -> tuple[str, ...]:
    """Where config may stand, lowest precedence first; whether or not it exists."""
    folders = (workspace.user_dir, os.path.join(workspace.project, MARKER))
    return tuple(os.path.join(folder, name) for folder in dict.fromkeys(folders) for name in CONFIG_NAMES)


def load_config(workspace: Workspace, environ: Mapping[str, str]) -> Config:
    """Read what there is. Raises: ClawftError for a file that cannot be read or a value that cannot be meant."""
    values: dict[str, Any] = {}
    skills = SkillsSettings()
    read: list[str] = []
    diagnostics: list[Diagnostic] = []
    for path in config_files(workspace):
        data = _read(path)
        if data is None:
            continue
        if read and os.path.dirname(read[-1]) == os.path.dirname(path):
            names = f"{os.path.basename(read[-1])} and {os.path.basename(path)}"
            raise ClawftError("config-twice", f"Both {names} exist", path=path, hint="Keep one of them")
        if any(line.count(b".") > MAX_DOTS for line in data.split(b"\n")):
            raise ClawftError("config-invalid", f"A line has more than {MAX_DOTS} dots", path=path)
        section = _decode(path, data)
        _convert(section, path, data, environ)  # on its own first, so that an error names the file it is in
        diagnostics += _check(section, path, environ)
        values = _merge(values, section)
        skills = _convert(values, path, data, environ)
        read.append(path)
    return Config(skills, values, tuple(read), tuple(diagnostics))


def _is_free(path: tuple[str, ...]) -> bool:
    """Tables whose keys are names that the user chose."""
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

            return _normalise(tomllib.loads(text))
        value = msgspec.json.decode(text) if text.strip() else {}
        if isinstance(value, dict):
            return _normalise(value)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, DecodeError, UnicodeDecodeError
        from clawft.config.explain import explain_syntax

        raise explain_syntax(error, path, data) from error
    raise ClawftError("config-invalid", "The config is not a JSON object", path=path, line=1)


def _normalise(values: dict[str, Any]) -> dict[str, Any]:
    normal: dict[str, Any] = normalise_keys(values, _is_free)
    return normal


def _convert(values: dict[str, Any], path: str, data: bytes, environ: Mapping[str, str]) -> SkillsSettings:
    try:
        return msgspec.convert(_with_secrets(values.get("skills", {}), environ), SkillsSettings)
    except msgspec.ValidationError as error:
        from clawft.config.explain import explain_value

        raise explain_value(str(error), path, data) from error


def _with_secrets(skills: Any, environ: Mapping[str, str]) -> Any:
    """The section with every `api_key` as a reference, whichever way it was written (R149)."""
    made = {}
    for name, entry in _entries(skills).items():
        secret = SecretRef.parse(entry["api_key"], environ) if isinstance(entry, dict) and "api_key" in entry else None
        made[name] = {**entry, "api_key": secret} if secret else entry
    return {**skills, "entries": made} if made else skills


def _entries(skills: Any) -> dict[str, Any]:
    entries = skills.get("entries") if isinstance(skills, dict) else None
    return entries if isinstance(entries, dict) else {}


def _check(section: dict[str, Any], path: str, environ: Mapping[str, str]) -> list[Diagnostic]:
    """What is legal but hardly meant: a secret in plain text, a section with a typo in its name."""
    found = []
    for name, entry in _entries(section.get("skills")).items():
        secret = SecretRef.parse(entry.get("api_key"), environ)
        if secret and secret.is_literal:
            message = f"skills.entries.{name}.api_key holds a secret in plain text"
            hint = 'Put it into a variable and write { env = "NAME" }'
            found.append(Diagnostic("secret-literal", "warning", message, path, 0, hint))
    for name in section:
        if name not in _SECTIONS and find_close(name, ("skills",)):
            message = f"There is no section '{name}'"
            found.append(Diagnostic("config-unknown-section", "warning", message, path, 0, "Did you mean 'skills'?"))
    return found


def _merge(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    """Tables are merged key by key; any other value is replaced."""
    merged = dict(low)
    for key, value in high.items():
        both = isinstance(value, dict) and isinstance(low.get(key), dict)
        merged[key] = _merge(low[key], value) if both else value
    return merged
