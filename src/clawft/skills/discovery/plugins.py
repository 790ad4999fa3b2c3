"""Plugins on disk: folders with a manifest, of the user, of the project, named in the config, or in Python packages.

Only manifests are read: nothing of a plugin is run, or imported, to find it.
"""

import os
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
from msgspec import Struct, structs

from clawft.discovery.plugin_folders import GROUP, find_entries
from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import is_within, read_optional, real_path
from clawft.format.other_plugins import (
    MARKETPLACE,
    is_agent_plugin,
    parse_agent_plugin,
    parse_claude_plugin,
    parse_marketplace,
)
from clawft.format.plugin import MANIFESTS, Dialect, PluginManifest, parse_manifest
from clawft.workspace import MARKER, Workspace, resolve_path

__all__ = ["GROUP", "FoundPlugin", "PluginFolders", "find_code", "load_plugin", "load_plugins", "plugin_folders"]

MAX_PLUGINS = 500  # of one folder
MAX_MANIFEST_BYTES = 512 * 1024
_CODE = "plugin:Plugin"  # unless something else is said
_CLAUDE = ".claude-plugin/plugin.json"
_LAYOUT = ("skills", "commands", "agents", ".mcp.json")  # of a plugin of Claude Code's


class FoundPlugin(Struct, frozen=True):
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
    def id(self) -> str:
        return self.manifest.id if self.manifest else os.path.basename(self.folder)


def find_code(found: FoundPlugin) -> tuple[str, str, str]:
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
    """Where plugins are looked for, highest precedence first: pairs of a scope and a folder that holds some."""

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


def load_plugins(folders: PluginFolders) -> tuple[FoundPlugin, ...]:
    """Every plugin there is, in order of precedence."""
    found = [one for scope, base in folders.pairs if scope != "project" for one in _load_folder(scope, base)]
    found += _load_packages(folders.cache_dir) if folders.entry_points else []
    found += [one for scope, base in folders.pairs if scope == "project" for one in _load_folder(scope, base)]
    return tuple(found)


def _load_folder(scope: str, base: str) -> Iterator[FoundPlugin]:
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
            yield FoundPlugin(scope, folder, problem=problem)
        else:
            yield load_plugin(scope, folder)
    if len(names) > MAX_PLUGINS:
        message = f"The folder has more than {MAX_PLUGINS} plugins; the rest is left out"
        yield FoundPlugin(scope, base, problem=Diagnostic("plugin-limit", "warning", message, base))


def load_plugin(scope: str, folder: str, entry: str = "") -> FoundPlugin:
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
            return FoundPlugin(scope, folder, file, problem=error.diagnostic, entry=entry)
        return FoundPlugin(scope, folder, file, _tell_others(manifest, name, folder), entry=entry)
    if not os.path.lexists(f"{folder}/{MARKETPLACE}") and any(os.path.lexists(f"{folder}/{name}") for name in _LAYOUT):
        return _load_bare(scope, folder, entry)
    return FoundPlugin(scope, folder, problem=_miss(folder), entry=entry)


def _load_bare(scope: str, folder: str, entry: str) -> FoundPlugin:
    """A plugin of Claude Code's without a manifest: there it is told by what lies in the folder."""
    file = f"{folder}/{_CLAUDE}"
    message = "It has no manifest; by its folders it is taken for a plugin of Claude Code's"
    said = Diagnostic("plugin-manifests", "note", message, folder)
    try:
        data = msgspec.json.encode({"name": os.path.basename(folder)})
        manifest = parse_claude_plugin(data, file, partial(_read_below, folder))
    except (ClawftError, Unreadable, UnicodeEncodeError):  # a name that no plugin can have
        return FoundPlugin(scope, folder, problem=_miss(folder), entry=entry)
    return FoundPlugin(
        scope, folder, folder, structs.replace(manifest, diagnostics=(said, *manifest.diagnostics)), entry=entry
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
    """Whether a `plugin.json` is of some other program, and the folder a plugin of Claude Code's."""
    return not is_agent_plugin(data) and os.path.lexists(f"{folder}/{_CLAUDE}")


def _tell_others(manifest: PluginManifest, used: str, folder: str) -> PluginManifest:
    """A manifest with what is said of others beside it, which do not count."""
    others = [name for name in MANIFESTS if name != used and os.path.lexists(f"{folder}/{name}")]
    if not others:
        return manifest
    message = f"{used} counts; {' and '.join(others)} beside it is not used"
    said = Diagnostic("plugin-manifests", "note", message, f"{folder}/{used}")
    return structs.replace(manifest, diagnostics=(*manifest.diagnostics, said))


def _miss(folder: str) -> Diagnostic:
    """What is said of a folder without a manifest."""
    try:
        data = read_optional(f"{folder}/{MARKETPLACE}", MAX_MANIFEST_BYTES, follow=False)
    except Unreadable:
        data = None
    if data is None:
        hint = f"Expected one of {', '.join(MANIFESTS)}"
        return Diagnostic("plugin-no-manifest", "error", "The folder has no manifest of a plugin", folder, 0, hint)
    plugins, skills = ([one for one in paths if os.path.isdir(f"{folder}/{one}")] for paths in parse_marketplace(data))
    hint = "Its plugins lie elsewhere: install one of them by itself, from its own folder"
    if plugins:
        hint = f"Install one of them by itself, as weft plugins install {folder}/{plugins[0]}; it has {_join(plugins)}"
    elif skills:
        parent = os.path.dirname(f"{folder}/{skills[0]}")
        hint = f"It has skills alone: add {parent} to skills.load.extra_dirs for {_join(skills)}"
    return Diagnostic("plugin-marketplace", "error", "It is a marketplace of plugins, not a plugin", folder, 0, hint)


def _join(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _load_packages(cache_dir: str | None) -> list[FoundPlugin]:
    """The plugins of installed Python packages, by their entry points."""
    found: dict[str, FoundPlugin] = {}
    for base, value in find_entries(cache_dir):
        module = value.partition(":")[0].strip()
        folder = os.path.join(base, *module.split(".")[:-1]) if "." in module else os.path.join(base, module)
        if is_within(os.path.normpath(folder), base) and os.path.isdir(folder):
            found.setdefault(folder, load_plugin("python", folder, value))
    return list(found.values())
