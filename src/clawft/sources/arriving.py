"""What was downloaded becomes a folder: the archive is what its source said, and so is every file in it."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import IO

import anyio.to_thread
from msgspec import structs

from clawft.discovery.listing import LEFT_OUT
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.packing.place import remove_tree
from clawft.packing.unpack import unpack_open
from clawft.sources.fetching import Fetching
from clawft.sources.model import Published, Resolved

__all__ = ["arrive", "check_files", "clear_folder", "has_document", "hash_files", "lift_top", "source_changed"]

_SMALL = 256 << 10  # bytes: what is unpacked sooner than a thread is woken
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


async def arrive(fetching: Fetching, resolved: Resolved, folder: str) -> Resolved:
    """Download the archive of a version and unpack it into an empty folder. Raises: ClawftError; Refused."""
    with SpooledTemporaryFile(_SMALL, dir=folder) as archive:  # what is small never is a file
        came = await fetching.download_to(resolved.url, archive)
        if resolved.archive and came.sha256 != resolved.archive:
            raise source_changed(resolved.name, "The archive is not the one whose digest the source gave")
        try:
            if came.size <= _SMALL:
                left_out = _unpack(archive, came.url, folder)
            else:
                left_out = await anyio.to_thread.run_sync(_unpack, archive, came.url, folder)
        except ClawftError as error:
            said = error.diagnostic
            raise type(error)(said.code, f"{resolved.name}: {said.message}", path=came.url, hint=said.hint) from error
    return structs.replace(resolved, archive=came.sha256, notes=(*resolved.notes, *_tell(left_out, resolved)))


def _unpack(archive: IO[bytes], url: str, folder: str) -> tuple[str, ...]:
    """What was not taken along. Raises: ClawftError, OSError."""
    unpacked = unpack_open(archive, url, folder)
    lift_top(folder)
    return unpacked.left_out


def _tell(left_out: tuple[str, ...], resolved: Resolved) -> Iterator[Diagnostic]:
    if left_out:
        shown = ", ".join(left_out[:3]) + (", …" if len(left_out) > 3 else "")
        yield Diagnostic("archive-left-out", "note", f"{resolved.name}: no part of a skill, so left out: {shown}")


def has_document(folder: str) -> bool:
    """Whether a skill's file stands right in a folder."""
    return any(name.lower() == "skill.md" for name in os.listdir(folder))


def lift_top(folder: str) -> None:
    """Where all lies in one folder that is a skill, as in a `.skill`, it is moved up. Raises: OSError."""
    entries = os.listdir(folder)
    only = os.path.join(folder, entries[0]) if len(entries) == 1 else ""
    if not os.path.isdir(only) or not has_document(only):
        return
    top = os.path.join(folder, f".top-{os.urandom(8).hex()}")
    os.rename(only, top)
    for name in os.listdir(top):
        os.rename(os.path.join(top, name), os.path.join(folder, name))
    os.rmdir(top)


def hash_files(folder: str) -> dict[str, Published]:
    """Every file below a folder, by its path. Raises: OSError."""
    return {one.path: one for one in _hash_below(folder, "")}


def _hash_below(folder: str, prefix: str) -> Iterator[Published]:
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda one: one.name)
    for entry in listed:
        path = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _hash_below(entry.path, f"{path}/")
        else:
            with open(os.open(entry.path, _READ), "rb") as file:
                content = hashlib.file_digest(file, "sha256")
                yield Published(path, file.tell(), content.hexdigest())


def check_files(name: str, came: dict[str, Published], said: Iterable[Published]) -> None:
    """Raises: Refused for a file that the source did not list, one that is missing, and one that is another."""
    listed = {one.path: one for one in said if not _is_left_out(one.path)}
    for path in sorted(came.keys() | listed.keys()):
        if path not in listed:
            raise source_changed(name, f"'{path[:80]}' came, and the source does not list it")
        if path not in came:
            raise source_changed(name, f"'{path[:80]}' is listed by the source, and did not come")
        if came[path] != listed[path]:
            raise source_changed(name, f"'{path[:80]}' is not what the source says it is")


def _is_left_out(path: str) -> bool:
    """Whether `unpack` leaves it out."""
    parts = path.lower().split("/")
    return parts[0] == "__macosx" or not LEFT_OUT.isdisjoint(parts)


def clear_folder(folder: str) -> None:
    """Leave nothing of what must not be used. Raises: OSError."""
    for name in os.listdir(folder):
        place = os.path.join(folder, name)
        if os.path.isdir(place) and not os.path.islink(place):
            remove_tree(place)
        else:
            os.unlink(place)


def source_changed(name: str, why: str) -> Refused:
    """What came is not what was resolved."""
    return Refused("source-changed", f"{name}: {why}", hint="Try again; if it stays so, do not trust this source")
