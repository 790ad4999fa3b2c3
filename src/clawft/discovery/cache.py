"""What was parsed before, keyed by path, time and size. An accelerator only: without it nothing changes but speed.

One file for each location. Files changed within the last moments are left out, since a second edit could leave
time and size the same.
"""

import os
import time
from hashlib import blake2b

import msgspec
from msgspec import Struct

from clawft import __version__
from clawft.format.model import Skill

__all__ = ["Cached", "load_cache", "store_cache"]

MAX_FILES = 64
SETTLE_NS = 1_000_000_000


class Cached(Struct, frozen=True, array_like=True):
    """A skill as it was parsed, and the file status it was parsed under."""

    mtime_ns: int
    ctime_ns: int
    size: int
    skill: Skill


class _File(Struct, frozen=True):
    version: str
    root: str
    max_prompt_bytes: int
    skills: dict[str, Cached]


_decoder: msgspec.msgpack.Decoder[_File] | None = None


def load_cache(folder: str, root: str, max_prompt_bytes: int) -> dict[str, Cached]:
    """What is known of the skills below `root`, by path of their SKILL.md; empty if anything is amiss."""
    try:
        with open(_path(folder, root), "rb") as file:
            stored = msgspec.msgpack.decode(file.read(), type=_File)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return {}
    if (stored.version, stored.root, stored.max_prompt_bytes) != (__version__, root, max_prompt_bytes):
        return {}
    return stored.skills


def store_cache(folder: str, root: str, max_prompt_bytes: int, skills: dict[str, Cached]) -> None:
    """Remember skills; a folder that cannot be written to is left alone."""
    settled = time.time_ns() - SETTLE_NS
    kept = {path: cached for path, cached in skills.items() if cached.mtime_ns < settled and cached.ctime_ns < settled}
    path = _path(folder, root)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(msgspec.msgpack.encode(_File(__version__, root, max_prompt_bytes, kept)))
        os.replace(temporary, path)
        _prune(folder)
    except OSError:
        return


def _path(folder: str, root: str) -> str:
    return os.path.join(folder, blake2b(root.encode("utf-8", errors="surrogateescape"), digest_size=12).hexdigest() + ".skills")


def _prune(folder: str) -> None:
    """Keep the newest files; places that were searched once do not pile up."""
    with os.scandir(folder) as entries:
        files = [(entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.name.endswith((".skills", ".tmp"))]
    for _, path in sorted(files)[:-MAX_FILES]:
        os.unlink(path)
