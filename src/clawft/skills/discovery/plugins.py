"""Plugins on disk: folders with a manifest and installed Python packages, and the skills, agents, hooks and servers in
each."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Literal

import msgspec
from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import is_within, read_optional, real_path
from clawft.skills.discovery.agents import DiscoveredAgent, load_agents
from clawft.skills.discovery.catalog import DiscoveredSkill, load_catalog
from clawft.skills.discovery.hooks import DiscoveredCommandHooks, DiscoveredHook, load_hooks, load_plugin_commands
from clawft.skills.discovery.locations import Location, PluginHooks
from clawft.skills.discovery.plugin_folders import find_entries
from clawft.skills.parse.client_plugins import (
    MARKETPLACE,
    is_agent_plugin,
    parse_agent_plugin,
    parse_claude_plugin,
    parse_marketplace,
)
from clawft.skills.parse.model import LEFT_OUT, Skill
from clawft.skills.parse.plugin import MANIFESTS, Dialect, PluginManifest, ServerSpec, parse_manifest
from clawft.workspace import MARKER, Workspace, resolve_path

MAX_PLUGINS = 500  # of one folder
MAX_MANIFEST_BYTES = 512 * 1024
_CODE = "plugin:Plugin"  # unless something else is said
_CLAUDE = ".claude-plugin/plugin.json"
_LAYOUT = ("skills", "commands", "agents", ".mcp.json")  # of a plugin of Claude Code's


class DiscoveredPlugin(Struct, frozen=True):
    """One folder of a plugin: its manifest, or what is wrong with it.

    `scope` is user, extra, python or project; `entry` the `module:Class` that an entry point of a package names.
    """

    scope: str
    folder: str
    file: str = ""
    manifest: PluginManifest | None = None
    problem: Diagnostic | None = None
    entry: str = ""

    @property
    def kind(self) -> Literal["plugin"]:
        return "plugin"

    @property
    def id(self) -> str:
        return self.manifest.id if self.manifest else os.path.basename(self.folder)

    @property
    def name(self) -> str:
        return self.id

    @property
    def location(self) -> Location:
        return Location("plugin", self.id, os.path.dirname(self.folder))

    @property
    def root(self) -> str:
        return self.folder

    @property
    def base_dir(self) -> str:
        return self.folder

    @property
    def seen(self) -> None:
        """Nothing of it is cached."""

    @property
    def about(self) -> Skill:
        return Skill(name=self.id, description=self.manifest.description or "" if self.manifest else "")


def find_code(found: DiscoveredPlugin) -> tuple[str, str, str]:
    """Module and class of a Python plugin, and the package whose place its folder takes, if it was installed as one."""
    named = found.manifest.python if found.manifest else None
    module, _, name = (named or found.entry or _CODE).partition(":")
    if not found.entry:
        return module, name or "Plugin", ""
    inside = found.entry.partition(":")[0].strip()
    package = inside.rpartition(".")[0] if "." in inside else inside
    if named:
        module = f"{package}.{module}"
    return module.strip(), name.strip() or "Plugin", package


class PluginFolders(Struct, frozen=True):
    """The folders that hold plugins, highest precedence first: pairs of a scope and a folder."""

    pairs: tuple[tuple[str, str], ...]
    entry_points: bool = True
    cache_dir: str | None = None  # where it is kept which packages have some


def plugin_folders(
    workspace: Workspace, extra_dirs: Sequence[str] = (), *, entry_points: bool = True, cache_dir: str | None = None
) -> PluginFolders:
    """THE table of plugin folders. A project's never comes before the user's own."""
    extra = [("extra", resolve_path(path, workspace.project, workspace.home)) for path in extra_dirs]
    own = ("user", os.path.join(workspace.user_dir, "plugins"))
    project = ("project", os.path.join(workspace.project, MARKER, "plugins"))
    pairs = [own, *extra, *([project] if real_path(project[1]) != real_path(own[1]) else [])]
    return PluginFolders(tuple(pairs), entry_points, cache_dir)


def load_plugins(folders: PluginFolders) -> tuple[DiscoveredPlugin, ...]:
    """Every plugin there is, in order of precedence."""
    found = [plugin for scope, base in folders.pairs if scope != "project" for plugin in _load_folder(scope, base)]
    found += _load_packages(folders.cache_dir) if folders.entry_points else []
    found += [plugin for scope, base in folders.pairs if scope == "project" for plugin in _load_folder(scope, base)]
    return tuple(found)


def _load_folder(scope: str, base: str) -> Iterator[DiscoveredPlugin]:
    try:
        names = sorted(name for name in os.listdir(base) if not name.startswith("."))
    except OSError:
        return
    for name in names[:MAX_PLUGINS]:
        folder = os.path.join(base, name)
        if not os.path.isdir(folder):
            continue
        if scope == "project" and not is_within(real_path(folder), real_path(base)):
            problem = Diagnostic("plugin-link", "error", "It is a link that leads out of the project's plugins", folder)
            yield DiscoveredPlugin(scope, folder, problem=problem)
        else:
            yield load_plugin(scope, folder)
    if len(names) > MAX_PLUGINS:
        message = f"The folder has more than {MAX_PLUGINS} plugins; the rest is left out"
        yield DiscoveredPlugin(scope, base, problem=Diagnostic("plugin-limit", "warning", message, base))


def load_plugin(scope: str, folder: str, entry: str = "") -> DiscoveredPlugin:
    """The plugin of a folder, whatever is in it."""
    folder = folder.rstrip("/") or folder
    for name, dialect in MANIFESTS.items():
        file = f"{folder}/{name}"
        try:
            data = read_optional(file, MAX_MANIFEST_BYTES, follow=False)
            if data is None or (dialect == "agent-plugins" and _is_anothers(data, folder)):
                continue
            manifest = _parse(dialect, data, file, folder)
        except (ClawftError, Unreadable) as error:
            return DiscoveredPlugin(scope, folder, file, problem=error.diagnostic, entry=entry)
        return DiscoveredPlugin(scope, folder, file, _tell_others(manifest, name, folder), entry=entry)
    if not os.path.lexists(f"{folder}/{MARKETPLACE}") and any(os.path.lexists(f"{folder}/{name}") for name in _LAYOUT):
        return _load_bare(scope, folder, entry)
    return DiscoveredPlugin(scope, folder, problem=_miss(folder), entry=entry)


def _load_bare(scope: str, folder: str, entry: str) -> DiscoveredPlugin:
    """Load a Claude Code plugin without a manifest: it is recognized by what lies in its folder."""
    file = f"{folder}/{_CLAUDE}"
    message = "It has no manifest; by its folders it is taken for a plugin of Claude Code's"
    notice = Diagnostic("plugin-manifests", "note", message, folder)
    try:
        data = msgspec.json.encode({"name": os.path.basename(folder)})
        manifest = parse_claude_plugin(data, file, partial(_read_below, folder))
    except (ClawftError, Unreadable, UnicodeEncodeError):  # a name that no plugin can have
        return DiscoveredPlugin(scope, folder, problem=_miss(folder), entry=entry)
    return DiscoveredPlugin(
        scope, folder, folder, structs.replace(manifest, diagnostics=(notice, *manifest.diagnostics)), entry=entry
    )


def _parse(dialect: Dialect, data: bytes, file: str, folder: str) -> PluginManifest:
    """Raises: ClawftError."""
    if dialect == "clawft":
        return parse_manifest(data, file)
    parse = parse_agent_plugin if dialect == "agent-plugins" else parse_claude_plugin
    return parse(data, file, partial(_read_below, folder))


def _read_below(folder: str, path: str) -> bytes | None:
    """A file that a manifest names, as far as it really lies in the plugin's folder. Raises: ClawftError."""
    file = os.path.normpath(f"{folder}/{path}")
    if not is_within(file, folder) or not is_within(real_path(os.path.dirname(file)), real_path(folder)):
        raise Unreadable("plugin-path", "It does not lie in the plugin's folder", path=file)
    return read_optional(file, MAX_MANIFEST_BYTES, follow=False)


def _is_anothers(data: bytes, folder: str) -> bool:
    """Return whether a `plugin.json` is of some other program, and the folder a plugin of Claude Code's."""
    return not is_agent_plugin(data) and os.path.lexists(f"{folder}/{_CLAUDE}")


def _tell_others(manifest: PluginManifest, used: str, folder: str) -> PluginManifest:
    """A manifest with what is said of others beside it, which do not count."""
    others = [name for name in MANIFESTS if name != used and os.path.lexists(f"{folder}/{name}")]
    if not others:
        return manifest
    message = f"{used} counts; {' and '.join(others)} beside it is not used"
    notice = Diagnostic("plugin-manifests", "note", message, f"{folder}/{used}")
    return structs.replace(manifest, diagnostics=(*manifest.diagnostics, notice))


def _miss(folder: str) -> Diagnostic:
    """Return the diagnostic for a folder without a manifest."""
    try:
        data = read_optional(f"{folder}/{MARKETPLACE}", MAX_MANIFEST_BYTES, follow=False)
    except Unreadable:
        data = None
    if data is None:
        hint = f"Expected one of {', '.join(MANIFESTS)}"
        return Diagnostic("plugin-no-manifest", "error", "The folder has no manifest of a plugin", folder, 0, hint)
    plugins, skills = (
        [path for path in paths if os.path.isdir(f"{folder}/{path}")] for paths in parse_marketplace(data)
    )
    hint = "Its plugins lie elsewhere: install one of them by itself, from its own folder"
    if plugins:
        hint = f"Install one of them by itself, as weft plugins install {folder}/{plugins[0]}; it has {_join(plugins)}"
    elif skills:
        parent = os.path.dirname(f"{folder}/{skills[0]}")
        hint = f"It has skills alone: add {parent} to skills.load.extra_dirs for {_join(skills)}"
    return Diagnostic("plugin-marketplace", "error", "It is a marketplace of plugins, not a plugin", folder, 0, hint)


def _join(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _load_packages(cache_dir: str | None) -> list[DiscoveredPlugin]:
    """The plugins of installed Python packages, by their entry points."""
    found: dict[str, DiscoveredPlugin] = {}
    for base, value in find_entries(cache_dir):
        module = value.partition(":")[0].strip()
        folder = os.path.join(base, *module.split(".")[:-1]) if "." in module else os.path.join(base, module)
        if is_within(os.path.normpath(folder), base) and os.path.isdir(folder):
            found.setdefault(folder, load_plugin("python", folder, value))
    return list(found.values())


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
    """Everything that a plugin brings, broken or not, with the diagnostics about it."""

    skills: tuple[DiscoveredSkill, ...] = ()
    commands: tuple[DiscoveredSkill, ...] = ()
    agents: tuple[DiscoveredAgent, ...] = ()
    hooks: tuple[DiscoveredHook, ...] = ()
    command_hooks: tuple[DiscoveredCommandHooks, ...] = ()
    servers: tuple[ServerSpec, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def skill_places(found: DiscoveredPlugin) -> Iterator[Location]:
    """Yield the locations of a plugin's skills, then its commands: only what really lies in its folder."""
    manifest = found.manifest
    if manifest is None:
        return
    is_claude = manifest.dialect == "claude"
    for path in manifest.skill_dirs:
        place = f"{found.folder}/{path}" if path != "." else found.folder
        if not _lies_in(place, found):
            continue
        if manifest.dialect != "agent-plugins":
            yield Location("plugin", found.id, place, claude=is_claude)
        else:  # only what stands right in the folder counts, and only what conforms
            for name in _list(place):
                if os.path.lexists(f"{place}/{name}/SKILL.md") and _lies_in(f"{place}/{name}", found):
                    yield Location("plugin", found.id, f"{place}/{name}", strict=True)
    if is_claude and _is_one_skill(found):
        yield Location("plugin", found.id, found.folder, claude=True)
    for path in manifest.command_dirs:
        if _lies_in(f"{found.folder}/{path}", found):
            yield Location("plugin", found.id, f"{found.folder}/{path}", "commands")


def _is_one_skill(found: DiscoveredPlugin) -> bool:
    """Return whether a plugin of Claude Code's is a skill itself: there is one at its root, and no folder of skills."""
    return os.path.lexists(f"{found.folder}/SKILL.md") and not os.path.isdir(f"{found.folder}/skills")


def agent_places(found: DiscoveredPlugin) -> Iterator[Location]:
    """Yield the locations of a plugin's agents: folders, or single files."""
    for path in found.manifest.agent_dirs if found.manifest else ():
        if _lies_in(f"{found.folder}/{path}", found):
            yield Location("plugin", found.id, f"{found.folder}/{path}")


def hook_place(found: DiscoveredPlugin) -> Location | None:
    """Return the location of a plugin's hooks with a HOOK.md; None for Agent Plugins, which have none of these."""
    if found.manifest is not None and found.manifest.dialect == "agent-plugins":
        return None
    return Location("plugin", found.id, f"{found.folder}/hooks")


def hook_files(found: DiscoveredPlugin) -> PluginHooks | None:
    """The files of its command hooks: those that Claude Code's manifest names, else the usual one."""
    manifest = found.manifest
    if manifest is not None and manifest.dialect == "agent-plugins":
        return None
    named = manifest.hook_files if manifest is not None and manifest.dialect == "claude" else ("hooks/hooks.json",)
    files = tuple(f"{found.folder}/{path}" for path in named if _lies_in(f"{found.folder}/{path}", found))
    return PluginHooks(found.id, found.folder, files) if files else None


def load_contents(found: DiscoveredPlugin, max_prompt_bytes: int) -> PluginContents:
    """Load all that a plugin brings, from disk now."""
    places = list(skill_places(found))
    catalog = load_catalog(places, max_prompt_bytes=max_prompt_bytes)
    hooks, files = hook_place(found), hook_files(found)
    return PluginContents(
        tuple(skill for skill in catalog.found if skill.location.kind == "skills"),
        tuple(skill for skill in catalog.found if skill.location.kind == "commands"),
        tuple(agent for agent in load_agents(list(agent_places(found))) if agent.scope == "plugin"),
        load_hooks([hooks]) if hooks else (),
        load_plugin_commands([files]) if files else (),
        found.manifest.servers if found.manifest else (),
        (*catalog.diagnostics, *_tell_missing(found), *_tell_unused(found)),
    )


def _tell_missing(found: DiscoveredPlugin) -> Iterator[Diagnostic]:
    """Yield diagnostics for paths in the manifest that do not exist or lie outside. The usual folders may be
    missing."""
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


def _tell_unused(found: DiscoveredPlugin) -> Iterator[Diagnostic]:
    """Yield diagnostics for what the plugin has for another client."""
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


def _lies_in(path: str, found: DiscoveredPlugin) -> bool:
    """Return whether a path leads into the plugin's folder, to what its digest covers."""
    inside = os.path.normpath(path)[len(found.folder) :].split("/")
    return LEFT_OUT.isdisjoint(inside) and is_within(real_path(path), real_path(found.folder))


def _list(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return []
