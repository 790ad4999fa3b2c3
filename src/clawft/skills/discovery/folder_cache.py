"""What was found before, keyed by path, time and size. An accelerator only: without it nothing changes but speed.

One file for each location. Files changed within the last moments are left out, since a second edit could leave
time and size the same. A skill stays encoded until somebody asks for it; the checksum tells beforehand that it can be.
"""

import os
import time
from binascii import crc32
from contextlib import suppress

import msgspec
from msgspec import Struct

from clawft import __version__
from clawft.discovery.listing import Listing, Place
from clawft.errors import Unreadable
from clawft.files import read_regular

__all__ = ["load_cache", "store_cache"]

MAX_FILES = 512  # every plugin has one or two
MAX_BYTES = 256 << 20
SETTLE_NS = 1_000_000_000
_CHECKSUM_BYTES = 4


class _File(Struct, frozen=True):
    version: str
    root: str
    max_prompt_bytes: int
    listings: dict[str, Listing]


_decoder = msgspec.msgpack.Decoder(_File)


def load_cache(folder: str, root: str, max_prompt_bytes: int) -> dict[str, Listing]:
    """What is known of the folders below `root`, by their path; nothing if anything is amiss."""
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


def store_cache(folder: str, root: str, max_prompt_bytes: int, listings: dict[str, Listing]) -> None:
    """Remember what is known; a folder that cannot be written to is left alone."""
    before = time.time_ns() - SETTLE_NS
    settled = {path: _settle(listing, before) for path, listing in listings.items()}
    path = _path(folder, root)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        content = msgspec.msgpack.encode(_File(__version__, root, max_prompt_bytes, settled))
        for one in (os.path.dirname(folder), folder):  # a mode counts for the last folder alone
            os.makedirs(one, mode=0o700, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(crc32(content).to_bytes(_CHECKSUM_BYTES) + content)
        os.replace(temporary, path)
        _prune(folder)
    except (OSError, OverflowError, UnicodeEncodeError):  # the last where the name of a folder is not text
        with suppress(OSError):
            os.unlink(temporary)


def _settle(listing: Listing, before: int) -> Listing:
    """The listing without what was changed so recently that another change might not be noticed."""
    places = [
        place if place.mtime_ns < before and place.ctime_ns < before else Place(place.folder)
        for place in listing.places
    ]
    if listing.mtime_ns < before and listing.ctime_ns < before:
        return Listing(places, listing.mtime_ns, listing.ctime_ns, listing.links)
    return Listing(places)


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
