"""Are there plugins at all? Told without reading any: most users have none, and every list of skills asks.

Python packages name theirs as entry points. Their metadata is read once, and again where a package comes or goes.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from clawft.discovery.cache import SETTLE_NS
from clawft.errors import ClawftError, Unreadable
from clawft.files import read_optional, replace_file
from clawft.workspace import MARKER, Workspace

__all__ = ["GROUP", "find_entries", "has_plugins"]

GROUP = "clawft.plugins"  # of entry points
MAX_CACHE_BYTES = 1 << 20
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class _Base(Struct, frozen=True, array_like=True):
    """A folder of packages as it was, and the values of our entry points there."""

    path: str
    mtime_ns: int
    values: tuple[str, ...]


def has_plugins(workspace: Workspace, said: Callable[[], Mapping[str, Any]], cache_dir: str | None) -> bool:
    """Whether anything is where plugins are looked for; `said` is what the config has in `[plugins]`.

    Under a config that cannot be read there are none: it may turn them off.
    """
    try:
        load = said().get("load") or {}
    except ClawftError:
        return False
    folders = (f"{workspace.user_dir}/plugins", f"{workspace.project}/{MARKER}/plugins")
    if load.get("extra_dirs") or any(map(_holds_any, folders)):
        return True
    return load.get("entry_points") is not False and bool(find_entries(cache_dir))


def _holds_any(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(not one.name.startswith(".") for one in entries)
    except OSError:
        return False


def find_entries(cache_dir: str | None) -> list[tuple[str, str]]:
    """Our entry points in installed packages: the folder of packages, and `module:Class`."""
    paths = [one for one in dict.fromkeys(sys.path) if one.endswith(("site-packages", "dist-packages"))]
    file = os.path.join(cache_dir, "packages.json") if cache_dir else ""
    known = {one.path: one for one in _load_cache(file)} if file else {}
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
    settled = [one for one in bases if one.mtime_ns < before]
    if file and any(known.get(one.path) != one for one in settled):
        with suppress(OSError):  # without a cache it is slower, and no less true
            os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
            replace_file(
                file, msgspec.json.encode([*settled, *(one for path, one in known.items() if path not in paths)])
            )
    return [(one.path, value) for one in bases for value in one.values]


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
