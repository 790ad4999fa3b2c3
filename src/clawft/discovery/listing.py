"""What stands in one folder, known without looking while the folder has not changed.

A folder changes its times when an entry is added, removed or renamed, but there are file systems that do not keep them.
So a listing is relied upon only where the link count is that of the folders inside, as on the common ones: there it
changes, too, with every folder that comes or goes.
"""

import os
from collections.abc import Mapping
from operator import attrgetter

from msgspec import Struct

from clawft.format.names import LEFT_OUT

__all__ = ["DOCUMENTS", "LEFT_OUT", "SKIPPED", "Entries", "Listing", "Place", "list_folder"]

DOCUMENTS = frozenset({"README", "CHANGELOG", "LICENSE", "CONTRIBUTING", "AGENTS", "CLAUDE"})  # about what stands there
SKIPPED = frozenset({"node_modules", "__pycache__"})
_LEGACY = "skill.json"
_name = attrgetter("name")


class Place(Struct, frozen=True, array_like=True, gc=False):
    """A folder that may hold a skill: the skill that its SKILL.md was, encoded, and the status of the file then."""

    folder: str
    mtime_ns: int = 0
    ctime_ns: int = 0
    size: int = 0
    skill: bytes = b""


class Listing(Struct, frozen=True, array_like=True, gc=False):
    """The places in a folder, in sorted order, and the status of the folder then; `links` 0: look again anyway."""

    places: list[Place]
    mtime_ns: int = 0
    ctime_ns: int = 0
    links: int = 0


class Entries(Struct, frozen=True):
    """What matters of a folder without SKILL.md: a skill file of another name, and where to look further.

    Some of the places may be links, to whatever. `loose` are Markdown files that somebody may have meant as skills.
    """

    file: str
    listing: Listing
    links: frozenset[str] = frozenset()
    loose: tuple[str, ...] = ()


def list_folder(folder: str, known: Listing | None, places: Mapping[str, Place]) -> Entries:
    """What is in a folder; hidden folders are left out. Places that are known are taken over. Raises: OSError."""
    status = os.stat(folder)  # before the entries are read: a change meanwhile makes the listing old, not wrong
    stamp = status.st_mtime_ns, status.st_ctime_ns, status.st_nlink
    if known is not None and stamp == (known.mtime_ns, known.ctime_ns, known.links):
        return Entries("", known)
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=_name)
    visible = [entry for entry in entries if entry.name[0] != "." and entry.name not in SKIPPED]
    links = frozenset([entry.path for entry in visible if entry.is_symlink()])
    folders = [entry.path for entry in visible if entry.is_symlink() or entry.is_dir()]
    listed = [places.get(path) or Place(path) for path in folders]
    file = _find_file([entry.name for entry in entries])
    loose = tuple([entry.path for entry in visible if entry.name.endswith(".md") and _is_loose(entry)])
    inner = sum([entry.is_dir(follow_symlinks=False) for entry in entries])
    reliable = not file and not links and not loose and status.st_nlink == inner + 2
    return Entries(file, Listing(listed, *stamp) if reliable else Listing(listed), links, loose)


def _is_loose(entry: os.DirEntry[str]) -> bool:
    return entry.name[:-3].upper() not in DOCUMENTS and entry.is_file(follow_symlinks=False)


def _find_file(names: list[str]) -> str:
    """The skill file among the sorted names in a folder, or nothing."""
    if "skill." not in "/".join(names).lower():  # a thousand folders, and none of them is a file: the usual case
        return ""
    spelled = [name for name in names if name.lower() == "skill.md"]
    return spelled[0] if spelled else _LEGACY if _LEGACY in names else ""
