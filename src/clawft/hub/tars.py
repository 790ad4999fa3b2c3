"""The tar.gz of a version, as the older contract has it: made while it is sent, so that nobody has to hold it."""

import hashlib
import struct
import tarfile
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from clawft.hub.model import HubVersion
from clawft.hub.store import HubStore

__all__ = ["TarDigests", "make_tar"]

_KEPT = 1_000
_BLOCK = 512
_STORED = 0xFFFF  # bytes that one block of a gzip holds as they are
_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # a gzip without name, time and system


class TarDigests:
    """The sha256 of such files. A version never changes, so each is found out once; threads may ask."""

    def __init__(self, store: HubStore) -> None:
        self._store = store
        self._alone = threading.Lock()
        self._kept: OrderedDict[str, str] = OrderedDict()

    def get(self, version: HubVersion) -> str:
        """Raises: ClawftError."""
        with self._alone:  # also while it is made: who asks for the same meanwhile would only do it again
            if found := self._kept.get(version.archive):
                self._kept.move_to_end(version.archive)
                return found
            digest = hashlib.sha256()
            for piece in make_tar(self._store, version):
                digest.update(piece)
            self._kept[version.archive] = found = digest.hexdigest()
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
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
