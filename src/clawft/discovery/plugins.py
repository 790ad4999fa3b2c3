"""Plugins on disk: folders with a manifest, of the user, of the project, named in the config, or in Python packages.

Only manifests are read: nothing of a plugin is run, or imported, to find it.
"""

import os
import sys
from collections.abc import Iterator, Sequence

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import is_within, read_optional, real_path
from clawft.format.other_plugins import parse_agent_plugin, parse_claude_plugin
from clawft.format.plugin import MANIFESTS, PluginManifest, parse_manifest
from clawft.workspace import MARKER, Workspace, resolve_path

__all__ = ["GROUP", "FoundPlugin", "PluginFolders", "load_plugin", "load_plugins", "plugin_folders"]

GROUP = "clawft.plugins"  # of entry points
MAX_PLUGINS = 500  # of one folder
MAX_MANIFEST_BYTES = 512 * 1024
_PARSERS = {"agent-plugins": parse_agent_plugin, "claude": parse_claude_plugin}


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


class PluginFolders(Struct, frozen=True):
    """Where plugins are looked for, highest precedence first: pairs of a scope and a folder that holds some."""

    pairs: tuple[tuple[str, str], ...]
    entry_points: bool = True


def plugin_folders(workspace: Workspace, extra_dirs: Sequence[str] = (), *, entry_points: bool = True) -> PluginFolders:
    """THE table of plugin folders. A project's never comes before the user's own."""
    extra = [("extra", resolve_path(path, workspace.project, workspace.home)) for path in extra_dirs]
    own = ("user", os.path.join(workspace.user_dir, "plugins"))
    project = ("project", os.path.join(workspace.project, MARKER, "plugins"))
    pairs = [own, *extra, *([project] if real_path(project[1]) != real_path(own[1]) else [])]
    return PluginFolders(tuple(pairs), entry_points)


def load_plugins(folders: PluginFolders) -> tuple[FoundPlugin, ...]:
    """Every plugin there is, in order of precedence."""
    found = [one for scope, base in folders.pairs if scope != "project" for one in _load_folder(scope, base)]
    found += _load_packages() if folders.entry_points else []
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
    for name, dialect in MANIFESTS.items():
        file = f"{folder}/{name}"
        try:
            data = read_optional(file, MAX_MANIFEST_BYTES, follow=False)
            if data is None:
                continue
            manifest = _PARSERS[dialect](data, file, folder) if dialect in _PARSERS else parse_manifest(data, file)
        except (ClawftError, Unreadable) as error:
            return FoundPlugin(scope, folder, file, problem=error.diagnostic, entry=entry)
        return FoundPlugin(scope, folder, file, manifest, entry=entry)
    hint = f"Expected one of {', '.join(MANIFESTS)}"
    problem = Diagnostic("plugin-no-manifest", "error", "The folder has no manifest of a plugin", folder, 0, hint)
    return FoundPlugin(scope, folder, problem=problem, entry=entry)


def _load_packages() -> list[FoundPlugin]:
    """The plugins of installed Python packages; told from their files, since importing metadata costs far more."""
    found: dict[str, FoundPlugin] = {}
    for base in dict.fromkeys(sys.path):
        for value in _find_entries(base) if base.endswith(("site-packages", "dist-packages")) else ():
            module = value.partition(":")[0].strip()
            folder = os.path.join(base, *module.split(".")[:-1]) if "." in module else os.path.join(base, module)
            if os.path.isdir(folder):
                found.setdefault(folder, load_plugin("python", folder, value))
    return list(found.values())


def _find_entries(base: str) -> Iterator[str]:
    """The values of our entry points below one folder of packages."""
    try:
        names = sorted(name for name in os.listdir(base) if name.endswith(".dist-info"))
    except OSError:
        return
    for name in names:
        try:
            with open(f"{base}/{name}/entry_points.txt", "rb") as file:
                data = file.read(64 * 1024)
        except OSError:
            continue
        if GROUP.encode() in data:
            yield from _read_entries(data.decode("utf-8", "replace"))


def _read_entries(text: str) -> Iterator[str]:
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line:
            yield line.partition("=")[2].strip()
