"""Where plugins have skills, agents and hooks, as it was told from their manifests: true while none of these changed.

Reading fifty manifests takes longer than a list of skills does. A look at the times of their files does not.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct, structs

from clawft import __version__
from clawft.discovery.cache import SETTLE_NS
from clawft.discovery.locations import Location, PluginHooks
from clawft.discovery.plugin_folders import find_entries
from clawft.errors import Unreadable
from clawft.files import read_optional, replace_file
from clawft.workspace import MARKER, Workspace, resolve_path

__all__ = ["Places", "load_places"]

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


class Places(Struct, frozen=True):
    """Where plugins have skills and commands, agents and hooks; `stamp` is of all that this was told from."""

    skills: tuple[Location, ...] = ()
    agents: tuple[Location, ...] = ()
    hooks: tuple[Location, ...] = ()
    hook_files: tuple[PluginHooks, ...] = ()
    stamp: bytes = b""


def load_places(
    workspace: Workspace,
    said: Mapping[str, Any],
    environ: Mapping[str, str],
    cache_dir: str | None,
    find: Callable[[], Places],
) -> Places:
    """The places as they were told before, if nothing that they depend on changed; else as `find` tells them.

    `said` is what the config has in `[plugins]`.
    """
    if cache_dir is None:
        return find()
    stamp, newest = _stamp_places(workspace, said, environ, cache_dir)
    known = _load(cache_dir)
    if known is None or known.stamp != stamp:
        known = structs.replace(find(), stamp=stamp)
        if newest < time.time_ns() - SETTLE_NS:  # else another change might not be noticed
            _store(cache_dir, known)
    return known


def _stamp_places(
    workspace: Workspace, said: Mapping[str, Any], environ: Mapping[str, str], cache_dir: str
) -> tuple[bytes, int]:
    """What the places of plugins depend on; and when the newest of it changed."""
    load = said.get("load") or {}
    extra = [resolve_path(str(one), workspace.project, workspace.home) for one in load.get("extra_dirs") or ()]
    bases = [f"{workspace.user_dir}/plugins", *extra, f"{workspace.project}/{MARKER}/plugins"]
    folders = [f"{base}/{name}" for base in bases for name in _list(base)]
    packages = [os.path.join(base, *value.partition(":")[0].split(".")) for base, value in find_entries(cache_dir)]
    folders += [path for one in packages for path in (one, os.path.dirname(one))]
    settings = msgspec.json.encode(said, order="sorted", enc_hook=str)
    given = sorted(environ.items()) if b"$" in settings or b"env" in settings else ()  # a setting may be a variable
    newest = 0
    told = [settings, repr((__version__, bases, given, folders)).encode("utf-8", "surrogateescape")]
    paths = (path for folder in folders for path in _list_stamped(folder))
    for path in (f"{workspace.user_dir}/grants.json", *paths):
        try:
            status = os.lstat(path)
        except OSError:
            told.append(b"-")
        else:
            times = status.st_mtime_ns, status.st_ctime_ns
            told.append(b"%d %d %d %d %d" % (status.st_mode, status.st_ino, status.st_size, *times))
            newest = max(newest, *times)
    return b"\n".join(told), newest


def _list_stamped(folder: str) -> list[str]:
    paths = [folder, *(f"{folder}/{name}" for name in _FILES)]
    if os.path.lexists(f"{folder}/plugin.json"):  # of Agent Plugins, where each folder that has a skill is a place
        paths += [f"{folder}/skills/{name}" for name in _list(f"{folder}/skills")]
    return paths


def _load(cache_dir: str) -> Places | None:
    try:
        data = read_optional(_file(cache_dir), MAX_BYTES)
        return msgspec.msgpack.decode(data, type=Places) if data is not None else None
    except (Unreadable, msgspec.DecodeError):
        return None


def _store(cache_dir: str, places: Places) -> None:
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
