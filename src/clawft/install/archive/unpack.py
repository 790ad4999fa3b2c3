"""Zip archives, read strictly: what two readers could take for different files is refused.

A zip says everything twice, before each file and in a list at its end, and readers differ in what they believe. Here
both must agree, and every byte of the archive must belong to exactly one of them.
"""

import stat
import struct
import zlib
from typing import IO

from msgspec import Struct

from clawft.errors import Refused
from clawft.packing.limits import refuse
from clawft.packing.target import Target

__all__ = ["unpack_zip"]

_END = struct.Struct("<4s4H2LH")
_LISTED = struct.Struct("<4s4B4HL2L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_MAX_COMMENT = (1 << 16) - 1
_MAX_LIST = 16 << 20
_ENCRYPTED = 1 | 1 << 6 | 1 << 13
_STREAMED, _UTF8 = 1 << 3, 1 << 11
_STORED, _DEFLATED, _AES = 0, 8, 99
_FULL = 0xFFFFFFFF  # the size is elsewhere, since it is above 4 GB
_UNICODE_PATH = 0x7075
_SLACK = 1 << 16  # a local header, and what compressing can add


class _Entry(Struct, frozen=True):
    raw: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    mode: int
    offset: int


def unpack_zip(file: IO[bytes], total: int, target: Target) -> None:
    """Put the files of an open zip of `total` bytes into a folder. Raises: Refused, OSError."""
    entries, start = _read_list(file, total, target)
    planned: list[tuple[int, _Entry, str]] = []
    for entry in entries:
        path = _plan(entry, target)
        planned.append((entry.offset, entry, path))
    planned.sort(key=lambda one: one[0])
    if target.limits.is_bomb(sum(entry.size for entry in entries), total):
        raise refuse("archive-bomb", f"{total} bytes would become {target.bytes}", target.source)
    ends = [offset for offset, _, _ in planned[1:]] + [start]
    _check_order(planned, ends, target)
    for (_, entry, path), end in zip(planned, ends, strict=True):
        content = _read_entry(file, entry, end, target)
        if path and not entry.raw.endswith(b"/"):
            target.write(path, content, executable=bool(entry.mode & 0o111))


def _read_list(file: IO[bytes], total: int, target: Target) -> tuple[list[_Entry], int]:
    """The entries that the list at the end has, and where it begins. Raises: Refused."""
    tail_at = max(0, total - _END.size - _MAX_COMMENT)
    tail = _read_at(file, total - tail_at, tail_at)
    at = _find_end(tail, target)
    _, disk, list_disk, here, count, size, start, _ = _END.unpack_from(tail, at)
    if count > target.limits.max_entries or size > _MAX_LIST:
        raise refuse("archive-too-many", f"It has more than {target.limits.max_files} files", target.source)
    if disk or list_disk or here != count or start + size != tail_at + at:
        raise _broken("Its list of files is not where it should be", target)
    listed = _read_at(file, size, start)
    entries: list[_Entry] = []
    position = 0
    while position < len(listed) and len(entries) <= count:
        entry, position = _read_listed(listed, position, target)
        entries.append(entry)
    if len(entries) != count or len(listed) != size:
        raise _broken("Its list of files is not as long as it says", target)
    return entries, start


def _read_at(file: IO[bytes], size: int, start: int) -> bytes:
    file.seek(start)
    return file.read(size)


def _find_end(tail: bytes, target: Target) -> int:
    """Where the last record begins: there is one that ends with the archive, and no second in its comment."""
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size or at + _END.size + _END.unpack_from(tail, at)[7] != len(tail):
        raise _broken("It does not end as a zip does: it is cut off, or something follows it", target)
    earlier = tail.find(b"PK\x05\x06")
    while earlier != at:
        if earlier + _END.size + _END.unpack_from(tail, earlier)[7] == len(tail):
            raise _broken("It ends twice: a second archive is hidden in it", target)
        earlier = tail.find(b"PK\x05\x06", earlier + 1)
    return at


def _read_listed(listed: bytes, at: int, target: Target) -> tuple[_Entry, int]:
    if len(listed) - at < _LISTED.size or not listed.startswith(b"PK\x01\x02", at):
        raise _broken("Its list of files cannot be read", target)
    fields = _LISTED.unpack_from(listed, at)
    flags, method, crc, packed, size = fields[5], fields[6], *fields[9:12]
    name_size, extra_size, comment_size, disk, _, attributes, offset = fields[12:19]
    name_at = at + _LISTED.size
    extra_at = name_at + name_size
    end = extra_at + extra_size + comment_size
    raw = listed[name_at:extra_at]
    if end > len(listed) or disk:
        raise _broken("Its list of files cannot be read", target)
    _check_extra(raw, listed[extra_at : extra_at + extra_size], target)
    if _FULL in (packed, size, offset):
        raise _broken("It is written as if it had more than 4 GB", target)
    return _Entry(raw, flags, method, crc, packed, size, attributes >> 16, offset), end


def _check_extra(raw: bytes, extra: bytes, target: Target) -> None:
    """A second name, which some readers prefer, must be the same. Raises: Refused."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == _UNICODE_PATH and extra[at + 9 : at + 4 + size] != raw:
            raise _broken("A file has two names", target)
        at += 4 + size


def _plan(entry: _Entry, target: Target) -> str:
    """The path that an entry goes to, empty for folders and for what is left out. Raises: Refused."""
    try:
        name = entry.raw.decode()
    except UnicodeDecodeError as error:
        if entry.flags & _UTF8:
            raise refuse("archive-path", f"{entry.raw[:80]!r} is no text", target.source) from error
        name = entry.raw.decode("cp437")
    if entry.flags & _ENCRYPTED or entry.method == _AES:
        raise refuse("archive-encrypted", f"'{name[:80]}' is encrypted", target.source)
    kind = stat.S_IFMT(entry.mode)
    if kind == stat.S_IFLNK:
        raise refuse("archive-link", f"'{name[:80]}' is a link", target.source)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise refuse("archive-device", f"'{name[:80]}' is no file", target.source)
    if entry.method not in (_STORED, _DEFLATED):
        raise _broken(f"'{name[:80]}' is compressed in a way that is not read here ({entry.method})", target)
    is_folder = name.endswith("/")
    if (kind == stat.S_IFDIR) > is_folder or (is_folder and entry.size):
        raise _broken(f"'{name[:80]}' is a file and a folder", target)
    path = target.claim(name, folder=is_folder)
    target.reserve(name, entry.size)
    if entry.packed > target.limits.max_file_bytes + _SLACK or target.limits.is_bomb(entry.size, entry.packed):
        raise refuse("archive-bomb", f"'{name[:80]}': {entry.packed} bytes would become {entry.size}", target.source)
    return path


def _check_order(planned: list[tuple[int, _Entry, str]], ends: list[int], target: Target) -> None:
    """One file after the other from the first byte on. Raises: Refused."""
    if not planned:
        raise _broken("Its list has no files", target)
    if planned[0][0] != 0:
        raise _broken("Something stands before its first file", target)
    for (offset, entry, _), end in zip(planned, ends, strict=True):
        if offset + _LOCAL.size + len(entry.raw) + entry.packed > end:
            raise refuse("archive-bomb", "Its files share bytes", target.source)


def _read_entry(file: IO[bytes], entry: _Entry, end: int, target: Target) -> bytes:
    """The content of one file, whose header says what the list says. Raises: Refused."""
    room = end - entry.offset
    if room > entry.packed + _SLACK + 2 * _MAX_COMMENT:
        raise _broken("Something stands between its files that belongs to none", target)
    data = _read_at(file, room, entry.offset)
    if len(data) != room or not data.startswith(b"PK\x03\x04"):
        raise _broken("A file is not where the list says", target)
    _, _, flags, method, _, _, crc, packed, size, name_size, extra_size = _LOCAL.unpack_from(data)
    begin = _LOCAL.size + name_size + extra_size
    streamed = bool(entry.flags & _STREAMED)
    stated = zip((crc, packed, size), (entry.crc, entry.packed, entry.size), strict=True)
    same = all(here == there or (streamed and not here) for here, there in stated) and method == entry.method
    same = same and (flags ^ entry.flags) & (_ENCRYPTED | _STREAMED | _UTF8) == 0
    if not same or data[_LOCAL.size : _LOCAL.size + name_size] != entry.raw:
        raise _broken(f"'{_name(entry)}' is another file in the list than in its place", target)
    _check_extra(entry.raw, data[_LOCAL.size + name_size : begin], target)
    after = data[begin + entry.packed :]
    if after not in (_describe(entry) if streamed else [b""]):
        raise _broken("Something stands between its files that belongs to none", target)
    return _inflate(data[begin : begin + entry.packed], entry, target)


def _describe(entry: _Entry) -> list[bytes]:
    """What may follow a file whose size was not known before, in all four forms."""
    forms = [struct.pack(form, entry.crc, entry.packed, entry.size) for form in ("<3L", "<L2Q")]
    return [start + form for start in (b"PK\x07\x08", b"") for form in forms]


def _inflate(packed: bytes, entry: _Entry, target: Target) -> bytes:
    content = packed
    if entry.method == _DEFLATED:
        inflater = zlib.decompressobj(-15)
        try:
            content = inflater.decompress(packed, entry.size + 1)
        except zlib.error as error:
            raise _broken(f"'{_name(entry)}' cannot be unpacked", target) from error
        if not inflater.eof and len(content) <= entry.size:
            raise _broken(f"'{_name(entry)}' is cut off", target)
        if inflater.unused_data:
            raise _broken(f"Something is hidden behind '{_name(entry)}'", target)
    if len(content) > entry.size:
        raise refuse("archive-bomb", f"'{_name(entry)}' is larger than it says", target.source)
    if len(content) != entry.size or zlib.crc32(content) != entry.crc:
        raise _broken(f"'{_name(entry)}' is not what was packed: it is damaged or was changed", target)
    return content


def _name(entry: _Entry) -> str:
    return entry.raw[:80].decode("utf-8", "replace")


def _broken(message: str, target: Target) -> Refused:
    return refuse("archive-broken", message, target.source)
