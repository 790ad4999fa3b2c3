"""Documents derived from the store and cached: the indexes of well-known discovery, and tar.gz archives."""

import hashlib
import re
import struct
import tarfile
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from clawft.server.hub.model import HubListing, HubSkill, HubVersion
from clawft.server.hub.store import HubStore

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
MAX_DESCRIPTION = 1024
MAX_NAME = 64  # what clients take; a slug may be longer
_PAGE = 200
_MAX_INDEXES = 64
_INDEX_AGE_S = 5.0  # two changes can fall into one moment, and then only the first is seen
_UNSAFE = re.compile(r"\.\.|[\x00-\x1f\\?#%]")  # in a path: the older form has it in an address as it is


class IndexCache:
    """Makes them from a store. Threads may use it: to make one reads every skill it holds."""

    def __init__(self, store: HubStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._alone = threading.Lock()
        self._making = threading.Lock()
        self._cache: OrderedDict[tuple[str, ...], tuple[object, float, bytes]] = OrderedDict()

    def newer(self, owner: str = "", slug: str = "") -> bytes:
        """Version 0.2.0, with the sha256 of each zip; empty where there is no such owner or skill."""
        return self._keep(("newer", owner, slug), lambda: self._make_newer(owner, slug))

    def older(self, owner: str = "", slug: str = "") -> bytes:
        """The form before that: names and files. A client takes all of it or nothing."""
        return self._keep(("older", owner, slug), lambda: self._make_older(owner, slug))

    def find(self, name: str, owner: str, slug: str) -> HubSkill | None:
        """The skill that an index means by a name."""
        listed, _ = self._choose(owner, slug or name)
        return next((listing.skill for listing in listed if listing.skill.slug == name), None)

    def _keep(self, key: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
        if key[-1]:  # of one skill: it is as soon made as found, and there are many
            return make()
        if found := self._find_index(key):
            return found
        with self._making:  # by one for all who ask at once
            if found := self._find_index(key):
                return found
            state, now = self._read_state(), self._clock()
            if made := make():
                with self._alone:
                    self._cache[key] = (state, now, made)
                    if len(self._cache) > _MAX_INDEXES:
                        self._cache.popitem(last=False)
            return made

    def _find_index(self, key: tuple[str, ...]) -> bytes:
        """Empty where there is none that says what is there now."""
        state = self._read_state()
        with self._alone:
            known = self._cache.get(key)
            if known is None or known[0] != state or self._clock() - known[1] >= _INDEX_AGE_S:
                return b""
            self._cache.move_to_end(key)
            return known[2]

    def _read_state(self) -> object:
        return self._store.database.read("SELECT count(*), max(updated) FROM hub_skill")[0]

    def _make_newer(self, owner: str, slug: str) -> bytes:
        listed, omitted = self._choose(owner, slug)
        skills = [
            {
                "name": listing.skill.slug,
                "type": "archive",
                "description": summarize_skill(listing.skill),
                "url": f"./@{listing.skill.owner}/{listing.skill.slug}/{quote(listing.release.version)}.zip",
                "digest": f"sha256:{listing.release.archive}",
                "version": listing.release.version,
            }
            for listing in listed
            if listing.release is not None
        ]
        return _encode({"$schema": SCHEMA}, skills, omitted, named=bool(owner))

    def _make_older(self, owner: str, slug: str) -> bytes:
        listed, omitted = self._choose(owner, slug)
        skills = []
        for listing in listed:
            version = self._store.find_version(listing.skill.id)
            paths = [file.path for file in version.files] if version else []
            if "SKILL.md" in paths and not any(_UNSAFE.search(path) for path in paths):
                skills.append(
                    {"name": listing.skill.slug, "description": summarize_skill(listing.skill), "files": paths}
                )
            else:
                omitted.append(f"@{listing.skill.owner}/{listing.skill.slug}")
        return _encode({}, skills, omitted, named=bool(owner))

    def _choose(self, owner: str, slug: str) -> tuple[list[HubListing], list[str]]:
        """The skills that an index holds, and those it cannot hold: a name that two owners have is no name."""
        seen: dict[str, list[HubListing]] = {}
        for listing in self._all(owner, slug):
            if slug not in ("", listing.skill.slug):  # those of that name come first
                break
            seen.setdefault(listing.skill.slug, []).append(listing)
        chosen = [found[0] for found in seen.values() if len(found) == 1 and _is_held(found[0])]
        chosen_ids = {listing.skill.id for listing in chosen}
        others = [listing.skill for found in seen.values() for listing in found if listing.skill.id not in chosen_ids]
        return chosen, [f"@{other.owner}/{other.slug}" for other in others]

    def _all(self, owner: str, prefix: str) -> Iterator[HubListing]:
        cursor = ""
        while True:
            page = self._store.list_skills("name", _PAGE, cursor, prefix=prefix, owner=owner)
            yield from page.items
            cursor = page.cursor
            if not cursor:
                return


def summarize_skill(skill: HubSkill) -> str:
    """Return the description of a skill in an index: never empty, on one line."""
    return (" ".join(skill.summary.split()) or skill.display_name or skill.slug)[:MAX_DESCRIPTION]


def _is_held(one: HubListing) -> bool:
    return len(one.skill.slug) <= MAX_NAME and one.release is not None and one.release.verdict != "malicious"


def _encode(head: dict[str, Any], skills: list[dict[str, Any]], omitted: list[str], *, named: bool) -> bytes:
    """Nothing is left out in silence: what an index cannot hold is to be had under its owner's address."""
    if named and not skills and not omitted:
        return b""
    return msgspec.json.encode({**head, "skills": skills, **({"omitted": omitted} if omitted else {})})


_MAX_DIGESTS = 1_000
_BLOCK = 512
_STORED = 0xFFFF  # bytes that one block of a gzip holds as they are
_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # a gzip without name, time and system


class TarDigests:
    """The sha256 of such files. A version never changes, so each is found out once; threads may ask."""

    def __init__(self, store: HubStore) -> None:
        self._store = store
        self._alone = threading.Lock()
        self._cache: OrderedDict[str, str] = OrderedDict()

    def get(self, version: HubVersion) -> str:
        """Raises: ClawftError."""
        with self._alone:  # also while it is made: who asks for the same meanwhile would only do it again
            if found := self._cache.get(version.archive):
                self._cache.move_to_end(version.archive)
                return found
            digest = hashlib.sha256()
            for piece in make_tar(self._store, version):
                digest.update(piece)
            self._cache[version.archive] = found = digest.hexdigest()
            if len(self._cache) > _MAX_DIGESTS:
                self._cache.popitem(last=False)
            return found


def make_tar(store: HubStore, version: HubVersion) -> Iterator[bytes]:
    """A tar.gz with the files at its root, piece by piece; always the same bytes. Raises: ClawftError.

    Nothing is compressed: what is made of the same bytes differs between versions of zlib.
    """
    return _wrap(_make_plain(store, version))


def _make_plain(store: HubStore, version: HubVersion) -> Iterator[bytes]:
    for file in sorted(version.files, key=lambda one: one.path.encode()):
        entry = tarfile.TarInfo(file.path)
        entry.size, entry.mode = file.size, 0o755 if file.executable else 0o644
        yield entry.tobuf(tarfile.PAX_FORMAT)
        yield from store.blobs.pieces(file.sha256)
        yield bytes(-file.size % _BLOCK)
    yield bytes(2 * _BLOCK)


def _wrap(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A gzip of blocks that are stored as they are."""
    yield _HEAD
    checksum = size = 0
    waiting = bytearray()
    for piece in pieces:
        checksum, size = zlib.crc32(piece, checksum), size + len(piece)
        waiting += piece
        if len(waiting) >= 4 * _STORED:  # small files are sent together
            whole = len(waiting) // _STORED * _STORED
            yield b"".join(_store(waiting[start : start + _STORED]) for start in range(0, whole, _STORED))
            del waiting[:whole]
    blocks = [_store(waiting[start : start + _STORED]) for start in range(0, len(waiting), _STORED)]
    end = struct.pack("<BHHII", 1, 0, _STORED, checksum, size & 0xFFFFFFFF)  # an empty block is the last one
    yield b"".join([*blocks, end])


def _store(content: bytes | bytearray) -> bytes:
    return struct.pack("<BHH", 0, len(content), len(content) ^ _STORED) + content
