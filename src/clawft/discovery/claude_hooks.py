"""Command hooks on disk: in Claude Code's settings of the user and of the project, in plugins, and in skills."""

import os
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from clawft.discovery.catalog import Found
from clawft.discovery.locations import PluginHooks
from clawft.errors import ClawftError, Diagnostic
from clawft.files import is_within, read_optional, real_path
from clawft.format.command_hooks import CommandHook, parse_command_hooks, parse_skill_commands
from clawft.workspace import Workspace

__all__ = [
    "NAMES",
    "FoundCommands",
    "load_claude_hooks",
    "load_plugin_commands",
    "load_skill_commands",
]

MAX_BYTES = 1 << 20
# Settings go by these: no other hook has one of them.
NAMES = ("claude-user", "claude-project", "claude-local", "claude-here")


class FoundCommands(Struct, frozen=True):
    """The command hooks of one file, or of one skill. `written` is what an approval of a project's is bound to;
    `folder` is that of a plugin."""

    name: str
    scope: str
    file: str
    hooks: tuple[CommandHook, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    written: bytes = b""
    off: bool = False  # it says `disableAllHooks`
    problem: Diagnostic | None = None
    skill: Found | None = None
    folder: str = ""

    @property
    def events(self) -> tuple[str, ...]:
        """What it hears, in Claude's words."""
        return tuple(dict.fromkeys(one.event for one in self.hooks))


def load_claude_hooks(workspace: Workspace, plugins: Iterable[PluginHooks] = ()) -> tuple[FoundCommands, ...]:
    """Those of the settings files that have hooks, or say something of them: the user's first; then of plugins."""
    home, project = f"{workspace.home}/.claude", f"{workspace.project}/.claude"
    places = [(NAMES[0], _find_scope(workspace, f"{home}/settings.json"), f"{home}/settings.json")]
    if real_path(home) != real_path(project):
        places.append((NAMES[1], "project", f"{project}/settings.json"))
        places.append((NAMES[2], "project", f"{project}/settings.local.json"))
    found = [_load(*place) for place in places]
    return (*(one for one in found if one is not None), *load_plugin_commands(plugins))


def load_plugin_commands(plugins: Iterable[PluginHooks]) -> tuple[FoundCommands, ...]:
    """Those of plugins, under the name `plugin:ID`; of further files with the name of the file behind it."""
    found = []
    for one in plugins:
        for number, file in enumerate(one.files):
            more = f":{os.path.basename(file).removesuffix('.json')}" if number else ""
            found.append(_load(f"plugin:{one.id}{more}", "plugin", file, one.folder))
    return tuple(one for one in found if one is not None)


def _find_scope(workspace: Workspace, file: str) -> str:
    """Whose the user's file is: the project's where a link leads into it, since tools can write there."""
    real, closed = real_path(file), f"{real_path(workspace.home)}/.claude"
    return "project" if is_within(real, real_path(workspace.project)) and not is_within(real, closed) else "user"


def load_skill_commands(skills: Iterable[Found]) -> tuple[FoundCommands, ...]:
    """Those of skills, each under the name `skill:NAME`."""
    found = []
    for one in skills:
        skill = one.skill
        if skill is None or not (skill.hooks or skill.hook_before or skill.hook_after):
            continue
        read = parse_skill_commands(skill, one.file)
        scope = one.location.scope
        found.append(FoundCommands(f"skill:{one.name}", scope, one.file, read.hooks, read.diagnostics, skill=one))
    return tuple(found)


def _load(name: str, scope: str, file: str, folder: str = "") -> FoundCommands | None:
    try:
        data = read_optional(file, MAX_BYTES, follow=not folder)  # what a digest covers holds no links
        settings = _decode(data, file) if data is not None else {}
    except ClawftError as error:
        return FoundCommands(name, scope, file, problem=error.diagnostic)
    except OSError as error:
        problem = Diagnostic("unreadable", "error", f"It cannot be read: {error.strerror}", file)
        return FoundCommands(name, scope, file, problem=problem)
    written, off = settings.get("hooks"), settings.get("disableAllHooks") is True
    if not written and not off:
        return None
    read = parse_command_hooks(written or {}, file)
    kept = msgspec.json.encode(written, order="deterministic")
    return FoundCommands(name, scope, os.path.abspath(file), read.hooks, read.diagnostics, kept, off, folder=folder)


def _decode(data: bytes, file: str) -> dict[str, Any]:
    try:
        settings = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ClawftError(
            "settings-invalid", f"It is no JSON, so none of its hooks is run: {error}", path=file
        ) from error
    return settings if isinstance(settings, dict) else {}
