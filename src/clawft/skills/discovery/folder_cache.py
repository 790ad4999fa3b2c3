"""The contents of folders that may hold skills, and a disk cache of them keyed by path, time and size."""

import os
import time
from binascii import crc32
from collections.abc import Mapping
from contextlib import suppress
from operator import attrgetter

import msgspec
from msgspec import Struct

from clawft import __version__
from clawft.errors import Unreadable
from clawft.files import read_regular

DOCUMENTS = frozenset({"README", "CHANGELOG", "LICENSE", "CONTRIBUTING", "AGENTS", "CLAUDE"})  # about what stands there
SKIPPED = frozenset({"node_modules", "__pycache__"})
_LEGACY = "skill.json"
_name = attrgetter("name")


class SkillFolder(Struct, frozen=True, array_like=True, gc=False):
    """A folder that may hold a skill: the skill that its SKILL.md was, encoded, and the status of the file then."""

    folder: str
    mtime_ns: int = 0
    ctime_ns: int = 0
    size: int = 0
    skill: bytes = b""


class SkillFolderListing(Struct, frozen=True, array_like=True, gc=False):
    """The places in a folder, in sorted order, and the status of the folder then; `links` 0: look again anyway."""

    places: list[SkillFolder]
    mtime_ns: int = 0
    ctime_ns: int = 0
    links: int = 0


class SkillFolderEntries(Struct, frozen=True):
    """The relevant entries of a folder without SKILL.md: a skill file of another name, and where to look further.

    Some of the places may be links to anywhere. `loose` are Markdown files that may have been meant as skills.
    """

    file: str
    listing: SkillFolderListing
    links: frozenset[str] = frozenset()
    loose: tuple[str, ...] = ()


def list_folder(folder: str, known: SkillFolderListing | None, places: Mapping[str, SkillFolder]) -> SkillFolderEntries:
    """List the entries of a folder, without hidden folders. Known places are taken over. Raises: OSError."""
    status = os.stat(folder)  # before the entries are read: a change meanwhile makes the listing old, not wrong
    stamp = status.st_mtime_ns, status.st_ctime_ns, status.st_nlink
    if known is not None and stamp == (known.mtime_ns, known.ctime_ns, known.links):
        return SkillFolderEntries("", known)
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=_name)
    visible = [entry for entry in entries if entry.name[0] != "." and entry.name not in SKIPPED]
    links = frozenset([entry.path for entry in visible if entry.is_symlink()])
    folders = [entry.path for entry in visible if entry.is_symlink() or entry.is_dir()]
    listed = [places.get(path) or SkillFolder(path) for path in folders]
    file = _find_file([entry.name for entry in entries])
    loose = tuple([entry.path for entry in visible if entry.name.endswith(".md") and _is_loose(entry)])
    inner = sum([entry.is_dir(follow_symlinks=False) for entry in entries])
    reliable = not file and not links and not loose and status.st_nlink == inner + 2
    return SkillFolderEntries(
        file, SkillFolderListing(listed, *stamp) if reliable else SkillFolderListing(listed), links, loose
    )


def _is_loose(entry: os.DirEntry[str]) -> bool:
    return entry.name[:-3].upper() not in DOCUMENTS and entry.is_file(follow_symlinks=False)


def _find_file(names: list[str]) -> str:
    """The skill file among the sorted names in a folder, or nothing."""
    if "skill." not in "/".join(names).lower():  # a thousand folders, and none of them is a file: the usual case
        return ""
    spelled = [name for name in names if name.lower() == "skill.md"]
    return spelled[0] if spelled else _LEGACY if _LEGACY in names else ""


MAX_FILES = 512  # every plugin has one or two
MAX_BYTES = 256 << 20
SETTLE_NS = 1_000_000_000
_CHECKSUM_BYTES = 4


class _File(Struct, frozen=True):
    version: str
    root: str
    max_prompt_bytes: int
    listings: dict[str, SkillFolderListing]


_decoder = msgspec.msgpack.Decoder(_File)


def load_cache(folder: str, root: str, max_prompt_bytes: int) -> dict[str, SkillFolderListing]:
    """Load what is cached about the folders below `root`, by their path; empty if anything is wrong with the cache."""
    try:
        content = memoryview(read_regular(_path(folder, root), MAX_BYTES)[0])
        if crc32(content[_CHECKSUM_BYTES:]) != int.from_bytes(content[:_CHECKSUM_BYTES]):
            return {}
        stored = _decoder.decode(content[_CHECKSUM_BYTES:])
    except (OSError, Unreadable, ValueError, msgspec.MsgspecError, RecursionError):
        return {}
    if (stored.version, stored.root, stored.max_prompt_bytes) != (__version__, root, max_prompt_bytes):
        return {}
    return stored.listings


def store_cache(folder: str, root: str, max_prompt_bytes: int, listings: dict[str, SkillFolderListing]) -> None:
    """Remember what is known; a folder that cannot be written to is left alone."""
    before = time.time_ns() - SETTLE_NS
    settled = {path: _settle(listing, before) for path, listing in listings.items()}
    path = _path(folder, root)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        content = msgspec.msgpack.encode(_File(__version__, root, max_prompt_bytes, settled))
        for directory in (os.path.dirname(folder), folder):  # a mode counts for the last folder alone
            os.makedirs(directory, mode=0o700, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(crc32(content).to_bytes(_CHECKSUM_BYTES) + content)
        os.replace(temporary, path)
        _prune(folder)
    except (OSError, OverflowError, UnicodeEncodeError):  # the last where the name of a folder is not text
        with suppress(OSError):
            os.unlink(temporary)


def _settle(listing: SkillFolderListing, before: int) -> SkillFolderListing:
    """The listing without what was changed so recently that another change might not be noticed."""
    places = [
        place if place.mtime_ns < before and place.ctime_ns < before else SkillFolder(place.folder)
        for place in listing.places
    ]
    if listing.mtime_ns < before and listing.ctime_ns < before:
        return SkillFolderListing(places, listing.mtime_ns, listing.ctime_ns, listing.links)
    return SkillFolderListing(places)


def _path(folder: str, root: str) -> str:
    """The file for a location. Two that share one take turns: each holds the path it is for."""
    data = os.fsencode(root)
    return os.path.join(folder, f"{crc32(data):08x}{crc32(data[::-1]):08x}.skills")


def _prune(folder: str) -> None:
    """Keep the newest files; places that were searched once do not pile up."""
    with os.scandir(folder) as entries:
        files = [
            (entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.name.endswith((".skills", ".tmp"))
        ]
    for _, path in sorted(files)[:-MAX_FILES]:
        os.unlink(path)
