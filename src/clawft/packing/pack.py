"""A skill as one file: a zip whose bytes depend on nothing but the names, contents and executable bits in it."""

import hashlib
import os
import struct
import zlib
from collections.abc import Callable, Iterable

from msgspec import Struct

from clawft.errors import Refused
from clawft.files import read_regular
from clawft.packing.ignore import SkillFile

__all__ = ["Packed", "Sink", "pack_files", "write_skill"]

Sink = Callable[[bytes], object]

_LOCAL = struct.Struct("<4s5H3L2H")
_LISTED = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_VERSION, _UNIX = 20, 3 << 8
_UTF8 = 1 << 11
_DAY_ONE = 1 << 5 | 1  # the first of January 1980, the earliest that a zip can say


class Packed(Struct, frozen=True):
    """What was written: how many bytes, and their hash."""

    size: int
    sha256: str
    contents: dict[str, str]  # the sha256 of each file, by its path


def pack_files(name: str, files: Iterable[SkillFile], write: Sink) -> Packed:
    """Write files, in their order, as an archive with one folder, stored as they are.

    Nothing is compressed: what a compressor makes of the same bytes differs between its versions. Raises: Refused for a
    file that changes meanwhile; OSError.
    """
    whole, at, count = hashlib.sha256(), 0, 0
    listed = b""
    contents: dict[str, str] = {}

    def put(*pieces: bytes) -> None:
        nonlocal at
        for piece in pieces:
            write(piece)
            whole.update(piece)
            at += len(piece)

    for file in files:
        data, status = read_regular(file.place, file.size + 1)
        if len(data) != file.size or bool(status.st_mode & 0o111) != file.executable:
            raise Refused("pack-changed", f"'{file.path}' changed while it was packed", path=file.place)
        raw = f"{name}/{file.path}".encode()
        flags = 0 if raw.isascii() else _UTF8
        start, crc, size = at, zlib.crc32(data), len(data)
        put(_LOCAL.pack(b"PK\x03\x04", _VERSION, flags, 0, 0, _DAY_ONE, crc, size, size, len(raw), 0), raw, data)
        mode = (0o100755 if file.executable else 0o100644) << 16
        entry = (b"PK\x01\x02", _UNIX | _VERSION, _VERSION, flags, 0, 0, _DAY_ONE, crc, size, size, len(raw))
        listed += _LISTED.pack(*entry, 0, 0, 0, 0, mode, start) + raw
        contents[file.path] = hashlib.sha256(data).hexdigest()
        count += 1
    put(listed, _END.pack(b"PK\x05\x06", 0, 0, count, count, len(listed), at, 0))
    return Packed(at, whole.hexdigest(), contents)


def write_skill(path: str, name: str, files: Iterable[SkillFile]) -> Packed:
    """Write a `.skill` at once: whoever looks sees the old one or the new one. Raises: Refused, OSError."""
    hidden = os.path.join(os.path.dirname(path), f".{os.path.basename(path)[:100]}-{os.urandom(6).hex()}")
    try:
        with open(hidden, "xb") as file:
            packed = pack_files(name, files, file.write)
        os.replace(hidden, path)
    except BaseException:
        if os.path.lexists(hidden):
            os.unlink(hidden)
        raise
    return packed
