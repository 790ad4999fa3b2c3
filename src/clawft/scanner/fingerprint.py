"""The fingerprint of a folder by status and by content: every entry, whatever its name; no link is followed.

The digest of a skill leaves out what is no part of it. A scanner looks there too, so this covers everything.
"""

import os
import stat
import time
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType

from msgspec import Struct

from clawft.scanner.cache import Stamp

MAX_ENTRIES = 150_000
MAX_HASHED = 512 << 20
SETTLE_NS = 2_000_000_000
_CHUNK = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Fingerprint(Struct, frozen=True):
    """The status of every entry, the folder first, and a hash over all content."""

    stamps: tuple[Stamp, ...]
    content: str  # "" when there is too much to hash
    settled: bool  # nothing changed so recently that another change might leave the same status


def compute_fingerprint(path: str, linked: Mapping[str, bytes] = MappingProxyType({})) -> Fingerprint:
    """The fingerprint of a folder or a single file, and of what is read through links in it (which never settles).

    Raises: OSError for what cannot be read; ValueError for a folder with too many entries.
    """
    began_ns = time.time_ns()
    stamps = _list_stamps(path)
    total = sum(size for _, _, _, size, _, mode in stamps if stat.S_ISREG(mode))
    settled = not linked and all(_is_settled(stamp, began_ns) for stamp in stamps)
    if total > MAX_HASHED:
        return Fingerprint(stamps, "", settled)
    whole = sha256()
    start = len(os.fsencode(path if len(stamps) > 1 else os.path.dirname(path)))  # what a file is, its name says too
    for stamp in stamps:
        whole.update(b"%s\0%o\0%s" % (stamp[0][start:], stamp[5], _hash_entry(stamp[0], stamp[5])))
    for name, content in linked.items():
        whole.update(b"\0%s\0%s" % (os.fsencode(name), sha256(content).digest()))
    return Fingerprint(stamps, whole.hexdigest(), settled)


def _is_settled(stamp: Stamp, now_ns: int) -> bool:
    _, mtime_ns, ctime_ns, _, _, _ = stamp
    before = now_ns - SETTLE_NS
    return ctime_ns < before and not before <= mtime_ns <= now_ns  # a time in the future was set by hand


def _list_stamps(path: str) -> tuple[Stamp, ...]:
    """The status of every entry, each folder before its entries, in the order of their names."""
    root = os.fsencode(path)
    status = os.stat(root)
    if not stat.S_ISDIR(status.st_mode):
        return (_stamp(root, os.lstat(root)),)
    stamps = [_stamp(root + b"/.", status)]  # the folder, also where its name is a link to it
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as scanned:
                found = sorted([_stamp(entry.path, entry.stat(follow_symlinks=False)) for entry in scanned])
        except PermissionError:
            continue
        stamps += found
        pending += [stamp[0] for stamp in found if stat.S_ISDIR(stamp[5])]
        if len(stamps) > MAX_ENTRIES:
            raise ValueError(f"It has more than {MAX_ENTRIES} files")
    return tuple(stamps)


def _stamp(path: bytes, status: os.stat_result) -> Stamp:
    return (path, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode)


def _hash_entry(path: bytes, mode: int) -> bytes:
    """Hash an entry to a fixed number of bytes, so that no content can be taken for another entry.

    That is the bytes of a file, and where a link leads. Anything else is its mode alone.
    """
    if stat.S_ISLNK(mode):
        return sha256(b"link\0" + os.readlink(path)).digest()
    if not stat.S_ISREG(mode):
        return bytes(sha256().digest_size)
    try:
        descriptor = os.open(path, _FLAGS)
    except PermissionError:  # to be let in changes its status
        return bytes(sha256().digest_size)
    try:
        whole, size = sha256(), 0
        while chunk := os.read(descriptor, _CHUNK):
            size += len(chunk)
            if size > MAX_HASHED:
                raise ValueError("A file grows while it is read")
            whole.update(chunk)
    finally:
        os.close(descriptor)
    return whole.digest()
