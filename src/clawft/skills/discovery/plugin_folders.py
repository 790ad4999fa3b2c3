"""Folders of plugins: find out cheaply whether any exist, and cache where their skills, agents and hooks are."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct, structs

from clawft import __version__
from clawft.errors import ClawftError, Unreadable
from clawft.files import read_optional, replace_file
from clawft.skills.discovery.folder_cache import SETTLE_NS
from clawft.skills.discovery.locations import Location, PluginHooks
from clawft.workspace import MARKER, Workspace, resolve_path

GROUP = "clawft.plugins"  # of entry points
MAX_CACHE_BYTES = 1 << 20
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class _Base(Struct, frozen=True, array_like=True):
    """A folder of packages as it was, and the values of our entry points there."""

    path: str
    mtime_ns: int
    values: tuple[str, ...]


def has_plugins(workspace: Workspace, load_section: Callable[[], Mapping[str, Any]], cache_dir: str | None) -> bool:
    """Return whether anything is where plugins are looked for; `said` is what the config has in `[plugins]`.

    Under a config that cannot be read there are none: it may turn them off.
    """
    try:
        load = load_section().get("load") or {}
    except ClawftError:
        return False
    folders = (f"{workspace.user_dir}/plugins", f"{workspace.project}/{MARKER}/plugins")
    if load.get("extra_dirs") or any(map(_holds_any, folders)):
        return True
    return load.get("entry_points") is not False and bool(find_entries(cache_dir))


def _holds_any(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(not entry.name.startswith(".") for entry in entries)
    except OSError:
        return False


def find_entries(cache_dir: str | None) -> list[tuple[str, str]]:
    """Our entry points in installed packages: the folder of packages, and `module:Class`."""
    paths = [folder for folder in dict.fromkeys(sys.path) if folder.endswith(("site-packages", "dist-packages"))]
    file = os.path.join(cache_dir, "packages.json") if cache_dir else ""
    known = {entry.path: entry for entry in _load_cache(file)} if file else {}
    bases: list[_Base] = []
    for path in paths:
        try:
            mtime_ns = os.stat(path).st_mtime_ns
        except OSError:
            continue
        same = known.get(path)
        fresh = same is not None and same.mtime_ns == mtime_ns
        bases.append(same if same and fresh else _Base(path, mtime_ns, tuple(_find_values(path))))
    before = time.time_ns() - SETTLE_NS  # of what changed just now another change might not be noticed
    settled = [base for base in bases if base.mtime_ns < before]
    if file and any(known.get(entry.path) != entry for entry in settled):
        with suppress(OSError):  # without a cache it is slower, and no less true
            os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
            replace_file(
                file, msgspec.json.encode([*settled, *(entry for path, entry in known.items() if path not in paths)])
            )
    return [(base.path, value) for base in bases for value in base.values]


def _load_cache(file: str) -> list[_Base]:
    try:
        data = read_optional(file, MAX_CACHE_BYTES)
        return msgspec.json.decode(data, type=list[_Base])[:64] if data is not None else []
    except (Unreadable, msgspec.DecodeError):
        return []


def _find_values(base: str) -> Iterator[str]:
    """The values of our entry points below one folder of packages; importing metadata would cost far more."""
    try:
        names = sorted(name for name in os.listdir(base) if name.endswith(".dist-info"))
    except OSError:
        return
    for name in names:
        try:
            with open(os.open(f"{base}/{name}/entry_points.txt", _READ), "rb") as file:  # never waits, as for a pipe
                data = file.read(64 * 1024)
        except OSError:
            continue
        if GROUP.encode() in data:
            yield from _read_values(data.decode("utf-8", "replace"))


def _read_values(text: str) -> Iterator[str]:
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line:
            yield line.partition("=")[2].strip()


MAX_BYTES = 8 << 20
# What tells where a plugin's things are, beside the folder itself; the rest of it is looked at where it is used.
_FILES = (
    "clawft.plugin.json",
    "clawft.plugin.yaml",
    "plugin.json",
    ".claude-plugin/plugin.json",
    "skills",
    "hooks",
    "SKILL.md",
)


class PluginPlaces(Struct, frozen=True):
    """The locations of plugins' skills and commands, agents and hooks; `stamp` covers all that they were found by."""

    skills: tuple[Location, ...] = ()
    agents: tuple[Location, ...] = ()
    hooks: tuple[Location, ...] = ()
    hook_files: tuple[PluginHooks, ...] = ()
    stamp: bytes = b""


def load_places(
    workspace: Workspace,
    section: Mapping[str, Any],
    environ: Mapping[str, str],
    cache_dir: str | None,
    find: Callable[[], PluginPlaces],
) -> PluginPlaces:
    """Load the places from the cache if nothing that they depend on changed; else call `find`.

    `section` is what the config has in `[plugins]`.
    """
    if cache_dir is None:
        return find()
    stamp, newest = _stamp_places(workspace, section, environ, cache_dir)
    known = _load(cache_dir)
    if known is None or known.stamp != stamp:
        known = structs.replace(find(), stamp=stamp)
        if newest < time.time_ns() - SETTLE_NS:  # else another change might not be noticed
            _store(cache_dir, known)
    return known


def _stamp_places(
    workspace: Workspace, section: Mapping[str, Any], environ: Mapping[str, str], cache_dir: str
) -> tuple[bytes, int]:
    """Return a stamp of everything that the places of plugins depend on, and the time when the newest of it changed."""
    load = section.get("load") or {}
    extra = [
        resolve_path(str(directory), workspace.project, workspace.home) for directory in load.get("extra_dirs") or ()
    ]
    bases = [f"{workspace.user_dir}/plugins", *extra, f"{workspace.project}/{MARKER}/plugins"]
    folders = [f"{base}/{name}" for base in bases for name in _list(base)]
    packages = [os.path.join(base, *value.partition(":")[0].split(".")) for base, value in find_entries(cache_dir)]
    folders += [path for package in packages for path in (package, os.path.dirname(package))]
    settings = msgspec.json.encode(section, order="sorted", enc_hook=str)
    variables = sorted(environ.items()) if b"$" in settings or b"env" in settings else ()  # a setting may be a variable
    newest = 0
    fields = [settings, repr((__version__, bases, variables, folders)).encode("utf-8", "surrogateescape")]
    paths = (path for folder in folders for path in _list_stamped(folder))
    for path in (f"{workspace.user_dir}/grants.json", *paths):
        try:
            status = os.lstat(path)
        except OSError:
            fields.append(b"-")
        else:
            times = status.st_mtime_ns, status.st_ctime_ns
            fields.append(b"%d %d %d %d %d" % (status.st_mode, status.st_ino, status.st_size, *times))
            newest = max(newest, *times)
    return b"\n".join(fields), newest


def _list_stamped(folder: str) -> list[str]:
    paths = [folder, *(f"{folder}/{name}" for name in _FILES)]
    if os.path.lexists(f"{folder}/plugin.json"):  # of Agent Plugins, where each folder that has a skill is a place
        paths += [f"{folder}/skills/{name}" for name in _list(f"{folder}/skills")]
    return paths


def _load(cache_dir: str) -> PluginPlaces | None:
    try:
        data = read_optional(_file(cache_dir), MAX_BYTES)
        return msgspec.msgpack.decode(data, type=PluginPlaces) if data is not None else None
    except (Unreadable, msgspec.DecodeError):
        return None


def _store(cache_dir: str, places: PluginPlaces) -> None:
    with suppress(OSError, UnicodeEncodeError):  # without them it is slower, and no less true
        os.makedirs(cache_dir, mode=0o700, exist_ok=True)
        replace_file(_file(cache_dir), msgspec.msgpack.encode(places))


def _file(cache_dir: str) -> str:
    return os.path.join(cache_dir, "plugins.msgpack")


def _list(base: str) -> Sequence[str]:
    try:
        return sorted(name for name in os.listdir(base) if not name.startswith("."))
    except OSError:
        return ()
