"""The files of a folder or an archive, copied to a folder of ours: plain files, inside it, within bounds, or none."""

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO

from msgspec import Struct

from clawft.discovery.listing import LEFT_OUT
from clawft.errors import ClawftError
from clawft.packing.limits import PLUGIN, SKILL, Limits, refuse
from clawft.packing.target import MAX_DEPTH, Target
from clawft.packing.untar import Packed, unpack_tar
from clawft.packing.unzip import unpack_zip

__all__ = ["MAX_BYTES", "PLUGIN", "SKILL", "Limits", "Unpacked", "unpack", "unpack_open"]

MAX_BYTES = SKILL.max_bytes
_HEADERS = 16 << 20  # bytes that an archive may have beside its files
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_HINT = "Give a folder, a .skill, a .zip or a .tar.gz"


class Unpacked(Struct, frozen=True):
    """What came out, and the files that were not taken along: no digest covers them, and nothing is read there."""

    files: int
    bytes: int
    left_out: tuple[str, ...] = ()


def unpack(source: str, folder: str, limits: Limits = SKILL) -> Unpacked:
    """Put all files of a folder or an archive into a folder. Of what is refused nothing stays there.

    Raises: ClawftError where there is none; Refused `archive-…` for one that is unsafe or damaged; OSError.
    """
    try:
        return _fill(Target(folder, source, limits), _copy if os.path.isdir(source) else _open)
    except FileNotFoundError as error:
        raise ClawftError("archive-missing", "There is no such folder or archive", path=source, hint=_HINT) from error


def unpack_open(file: IO[bytes], source: str, folder: str, limits: Limits = SKILL) -> Unpacked:
    """The same of an archive that is open; `source` is where it comes from. Raises: as `unpack` does."""
    return _fill(Target(folder, source, limits), partial(_read, file))


def _fill(target: Target, put: Callable[[Target], None]) -> Unpacked:
    try:
        put(target)
    except BaseException:
        target.clear()
        raise
    return Unpacked(target.files, target.bytes, tuple(target.left_out))


def _open(target: Target) -> None:
    """Raises: ClawftError, OSError."""
    with open(os.open(target.source, _READ), "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise _unknown(target)
        _read(file, target)


def _read(file: IO[bytes], target: Target) -> None:
    """By content, whatever the name is. Raises: ClawftError, OSError."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(512)
    file.seek(0)
    if size > target.limits.max_bytes + _HEADERS:
        raise refuse("archive-too-large", f"It has more than {target.limits.max_bytes >> 20} MB", target.source)
    if start.startswith(b"PK\x03\x04"):
        unpack_zip(file, size, target)
    elif start.startswith(b"\x1f\x8b"):
        unpack_tar(Packed(file, target), target)
    elif start[257:262] == b"ustar":
        unpack_tar(file, target)
    else:
        raise _unknown(target)


def _unknown(target: Target) -> ClawftError:
    return ClawftError("archive-unknown", "This is no folder and no archive", path=target.source, hint=_HINT)


def _copy(target: Target) -> None:
    source = target.source
    for path, name, status in _walk(source, ""):
        if stat.S_ISLNK(status.st_mode):
            raise refuse("archive-link", f"'{name[:80]}' is a link", source)
        if not stat.S_ISREG(status.st_mode):
            raise refuse("archive-device", f"'{name[:80]}' is no file", source)
        place = target.claim(name)
        target.reserve(name, status.st_size)
        with open(os.open(path, _READ | os.O_NOFOLLOW), "rb") as file:
            content = file.read(status.st_size + 1)
        if len(content) != status.st_size:
            raise refuse("archive-broken", f"'{name[:80]}' changes while it is read", source)
        if place:
            target.write(place, content, executable=bool(status.st_mode & 0o111))


def _walk(folder: str, prefix: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """Everything below a folder but folders, links among it. Raises: Refused, OSError."""
    if prefix.count("/") > MAX_DEPTH:
        raise refuse("archive-path", f"Folders lie in it more than {MAX_DEPTH} levels deep", folder)
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda one: one.name)
    for entry in listed:
        name = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in LEFT_OUT:
                yield from _walk(entry.path, f"{name}/")
        else:
            yield entry.path, name, entry.stat(follow_symlinks=False)
