"""What a plugin brings beside code of its own: skills, commands, agents, hooks and MCP servers.

Where they lie is told from the manifest alone; only `load_contents` reads them, and nothing of them is run.
"""

import os
from collections.abc import Iterable, Iterator

from msgspec import Struct

from clawft.discovery.agents import FoundAgent, load_agents
from clawft.discovery.catalog import Found
from clawft.discovery.claude_hooks import FoundCommands, load_plugin_commands
from clawft.discovery.hooks import FoundHook, load_hooks
from clawft.discovery.listing import LEFT_OUT
from clawft.discovery.load import load_catalog
from clawft.discovery.locations import Location, PluginHooks
from clawft.discovery.plugins import FoundPlugin
from clawft.errors import Diagnostic
from clawft.files import is_within, real_path
from clawft.format.plugin import ServerSpec

__all__ = ["PluginContents", "agent_places", "hook_files", "hook_place", "load_contents", "skill_places"]

# What Claude Code would find in a plugin without being told, and this client has no use for.
_UNUSED = {
    ".lsp.json": "language servers",
    "output-styles": "output styles",
    "monitors": "monitors",
    "themes": "themes",
    "workflows": "workflows",
    "bin": "programs for the command line",
    "settings.json": "settings",
}


class PluginContents(Struct, frozen=True):
    """All that a plugin brings, broken or not, and what there is to say of it."""

    skills: tuple[Found, ...] = ()
    commands: tuple[Found, ...] = ()
    agents: tuple[FoundAgent, ...] = ()
    hooks: tuple[FoundHook, ...] = ()
    command_hooks: tuple[FoundCommands, ...] = ()
    servers: tuple[ServerSpec, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def skill_places(found: FoundPlugin) -> Iterator[Location]:
    """Where its skills are, then its commands: only what really lies in its folder."""
    manifest = found.manifest
    if manifest is None:
        return
    for path in manifest.skill_dirs:
        place = f"{found.folder}/{path}" if path != "." else found.folder
        if not _lies_in(place, found):
            continue
        if manifest.dialect != "agent-plugins":
            yield Location("plugin", found.id, place)
        else:  # only what stands right in the folder counts, and only what conforms
            for name in _list(place):
                if os.path.lexists(f"{place}/{name}/SKILL.md") and _lies_in(f"{place}/{name}", found):
                    yield Location("plugin", found.id, f"{place}/{name}", strict=True)
    if manifest.dialect == "claude" and _is_one_skill(found):
        yield Location("plugin", found.id, found.folder)
    for path in manifest.command_dirs:
        if _lies_in(f"{found.folder}/{path}", found):
            yield Location("plugin", found.id, f"{found.folder}/{path}", "commands")


def _is_one_skill(found: FoundPlugin) -> bool:
    """Whether a plugin of Claude Code's is a skill itself: there is one at its root, and no folder of skills."""
    return os.path.lexists(f"{found.folder}/SKILL.md") and not os.path.isdir(f"{found.folder}/skills")


def agent_places(found: FoundPlugin) -> Iterator[Location]:
    """Where its agents are: folders, or single files."""
    for path in found.manifest.agent_dirs if found.manifest else ():
        if _lies_in(f"{found.folder}/{path}", found):
            yield Location("plugin", found.id, f"{found.folder}/{path}")


def hook_place(found: FoundPlugin) -> Location | None:
    """Where its hooks with a HOOK.md are. Agent Plugins has none of these."""
    if found.manifest is not None and found.manifest.dialect == "agent-plugins":
        return None
    return Location("plugin", found.id, f"{found.folder}/hooks")


def hook_files(found: FoundPlugin) -> PluginHooks | None:
    """The files of its command hooks: those that Claude Code's manifest names, else the usual one."""
    manifest = found.manifest
    if manifest is not None and manifest.dialect == "agent-plugins":
        return None
    named = manifest.hook_files if manifest is not None and manifest.dialect == "claude" else ("hooks/hooks.json",)
    files = tuple(f"{found.folder}/{one}" for one in named if _lies_in(f"{found.folder}/{one}", found))
    return PluginHooks(found.id, found.folder, files) if files else None


def load_contents(found: FoundPlugin, max_prompt_bytes: int, cache_dir: str | None = None) -> PluginContents:
    """All that a plugin brings, read now."""
    places = list(skill_places(found))
    catalog = load_catalog(places, max_prompt_bytes=max_prompt_bytes, cache_dir=cache_dir)
    hooks, files = hook_place(found), hook_files(found)
    return PluginContents(
        tuple(one for one in catalog.found if one.location.kind == "skills"),
        tuple(one for one in catalog.found if one.location.kind == "commands"),
        tuple(one for one in load_agents(list(agent_places(found))) if one.scope == "plugin"),
        load_hooks([hooks]) if hooks else (),
        load_plugin_commands([files]) if files else (),
        found.manifest.servers if found.manifest else (),
        (*catalog.diagnostics, *_tell_missing(found), *_tell_unused(found)),
    )


def _tell_missing(found: FoundPlugin) -> Iterator[Diagnostic]:
    """What the manifest names and nothing is there, or lies outside. The usual folders need not be there."""
    manifest = found.manifest
    if manifest is None:
        return
    usual = () if manifest.dialect == "clawft" else ("skills", "commands", "agents", "hooks/hooks.json")
    named = (*manifest.skill_dirs, *manifest.command_dirs, *manifest.agent_dirs, *manifest.hook_files)
    for path in dict.fromkeys(named):
        place = f"{found.folder}/{path}"
        if path not in usual and not os.path.lexists(place):
            yield Diagnostic("plugin-path", "warning", f"There is no '{path}', which its manifest names", found.file)
        elif os.path.lexists(place) and not _lies_in(place, found):
            message = f"'{path}' is a link that leads out of the plugin's folder, or is no part of it; it is not used"
            yield Diagnostic("plugin-path", "warning", message, place)


def _tell_unused(found: FoundPlugin) -> Iterator[Diagnostic]:
    """What it has for another client."""
    if found.manifest is None:
        return
    if found.manifest.dialect == "claude":
        for name, what in _UNUSED.items():
            if os.path.lexists(f"{found.folder}/{name}"):
                message = f"It has {what}, which are of Claude Code and are not used here"
                yield Diagnostic("plugin-unused", "note", message, f"{found.folder}/{name}")
    if found.manifest.dialect == "agent-plugins":
        others: Iterable[str] = (name for name in ("commands", "agents", "hooks") if name in _list(found.folder))
        for name in others:
            message = f"'{name}' is no part of Agent Plugins 1.0 and is not used"
            yield Diagnostic("plugin-unused", "note", message, f"{found.folder}/{name}")


def _lies_in(path: str, found: FoundPlugin) -> bool:
    """Whether a path leads into the plugin's folder, to what its digest covers."""
    inside = os.path.normpath(path)[len(found.folder) :].split("/")
    return LEFT_OUT.isdisjoint(inside) and is_within(real_path(path), real_path(found.folder))


def _list(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return []
