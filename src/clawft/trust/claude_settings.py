"""Claude Code's `settings.json`: its permissions as rules of ours, each with what it becomes or why it is left out."""

import os
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawft.config.tools import KINDS
from clawft.errors import ClawftError
from clawft.files import is_within, read_optional, read_regular, real_path
from clawft.trust.modes import CLAUDE_MODES, Mode
from clawft.trust.path_patterns import PathPattern
from clawft.trust.patterns import parse_pattern
from clawft.trust.tools import matches_any_tool
from clawft.workspace import Workspace, resolve_path

MAX_BYTES = 1 << 20
_NAMES = ("settings.json", "settings.local.json")


class ImportedPermission(Struct, frozen=True):
    """One thing that the settings say. `becomes` is what it is here; where that is empty `note` tells why."""

    kind: Literal["allow", "ask", "deny", "mode", "folder"]
    text: str
    file: str
    becomes: str = ""
    note: str = ""


def settings_files(workspace: Workspace, path: str | None) -> list[str]:
    """The files that are looked at: one that was named, or a folder's, or the project's and the user's own."""
    if path is not None:
        full = resolve_path(path, workspace.cwd, workspace.home)
        return [os.path.join(full, name) for name in _NAMES] if os.path.isdir(full) else [full]
    folders = dict.fromkeys(os.path.join(base, ".claude") for base in (workspace.project, workspace.home))
    return [os.path.join(folder, name) for folder in folders for name in _NAMES]


def load_settings(file: str, workspace: Workspace, scope: Literal["user", "project"]) -> Iterator[ImportedPermission]:
    """Load the permissions of a settings file; empty where there is none. Raises: ClawftError."""
    named = not file.endswith(_NAMES)
    data = read_regular(file, MAX_BYTES, follow=True)[0] if named else read_optional(file, MAX_BYTES, follow=True)
    permissions = _read(file, data) if data is not None else {}
    own = is_within(real_path(file), real_path(os.path.join(workspace.home, ".claude")))
    for kind in KINDS:
        for text in _texts(permissions.get(kind)):
            becomes, note = _convert(text, workspace, own=own, scope=scope)
            yield ImportedPermission(kind, text, file, becomes, note)
    mode = permissions.get("defaultMode")
    if mode is not None:
        yield _convert_mode(str(mode), file, own=own, fits=own == (scope == "user"))
    for folder in _texts(permissions.get("additionalDirectories")):
        note = "file tools stay inside the project: start weft in that folder, or above it"
        yield ImportedPermission("folder", folder, file, note=note)


def _read(file: str, data: bytes) -> dict[str, Any]:
    try:
        settings = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ClawftError("settings-invalid", f"It is no JSON: {error}", path=file) from error
    permissions = settings.get("permissions", {}) if isinstance(settings, dict) else {}
    return permissions if isinstance(permissions, dict) else {}


def _texts(value: Any) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else []


def _convert(text: str, workspace: Workspace, *, own: bool, scope: str) -> tuple[str, str]:
    pattern = parse_pattern(text, {"CLAUDE_PROJECT_DIR": workspace.project})
    if pattern.problem:
        return "", f"not understood: {pattern.problem}"
    if "__" not in pattern.name and not matches_any_tool(pattern.name, ()):
        return "", f"there is no tool '{pattern.name}' here"
    everywhere = "" if own or scope == "project" else "it is this project's, and will hold in all. See: --scope project"
    if not isinstance(pattern.matcher, PathPattern):
        return pattern.text, everywhere
    path = text[text.index("(") + 1 : -1].strip()
    note = everywhere if path.startswith(("//", "~/")) else ""
    return f"{pattern.name}({_convert_path(path, workspace, own=own, scope=scope)})", note


def _convert_path(path: str, workspace: Workspace, *, own: bool, scope: str) -> str:
    """Theirs: `//x` is absolute, `/x` starts at the project, as `x/y` does. A rule of one project keeps to it."""
    if path.startswith("//"):
        return path[1:]
    if path.startswith("~/"):
        return path
    inside = path.removeprefix("./").lstrip("/")
    if own or scope == "project":
        return f"./{inside}" if path.startswith(("/", "./")) else inside
    anywhere = "" if "/" in path.rstrip("/") else "**/"
    return f"{real_path(workspace.project)}/{anywhere}{inside}"


def _convert_mode(mode: str, file: str, *, own: bool, fits: bool) -> ImportedPermission:
    ours = CLAUDE_MODES.get(mode)
    if ours is None:
        return ImportedPermission("mode", mode, file, note="there is no such mode here")
    if ours is Mode.FULL:
        note = "that nothing is asked any more is not taken over: weft config set agents.defaults.mode full"
        return ImportedPermission("mode", mode, file, note=note)
    if not fits:
        whose, wanted = ("yours", "user") if own else ("this project's", "project")
        return ImportedPermission("mode", mode, file, note=f"it is {whose}: --scope {wanted} takes it over")
    return ImportedPermission("mode", mode, file, ours.value)
