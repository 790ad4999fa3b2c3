"""Unpack a folder or an archive within limits; zip archives are read strictly."""

import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO

from msgspec import Struct

from clawft.errors import ClawftError, Refused
from clawft.install.archive.target import MAX_DEPTH, SKILL, ArchiveLimits, UnpackTarget, refuse
from clawft.install.archive.untar import GzipContent, unpack_tar
from clawft.skills.parse.model import LEFT_OUT

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


def unpack_zip(file: IO[bytes], total: int, target: UnpackTarget) -> None:
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


def _read_list(file: IO[bytes], total: int, target: UnpackTarget) -> tuple[list[_Entry], int]:
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


def _find_end(tail: bytes, target: UnpackTarget) -> int:
    """Find the offset of the zip's end record: exactly one must end with the archive, with no second one in its
    comment."""
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size or at + _END.size + _END.unpack_from(tail, at)[7] != len(tail):
        raise _broken("It does not end as a zip does: it is cut off, or something follows it", target)
    earlier = tail.find(b"PK\x05\x06")
    while earlier != at:
        if earlier + _END.size + _END.unpack_from(tail, earlier)[7] == len(tail):
            raise _broken("It ends twice: a second archive is hidden in it", target)
        earlier = tail.find(b"PK\x05\x06", earlier + 1)
    return at


def _read_listed(listed: bytes, at: int, target: UnpackTarget) -> tuple[_Entry, int]:
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


def _check_extra(raw: bytes, extra: bytes, target: UnpackTarget) -> None:
    """A second name, which some readers prefer, must be the same. Raises: Refused."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == _UNICODE_PATH and extra[at + 9 : at + 4 + size] != raw:
            raise _broken("A file has two names", target)
        at += 4 + size


def _plan(entry: _Entry, target: UnpackTarget) -> str:
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


def _check_order(planned: list[tuple[int, _Entry, str]], ends: list[int], target: UnpackTarget) -> None:
    """One file after the other from the first byte on. Raises: Refused."""
    if not planned:
        raise _broken("Its list has no files", target)
    if planned[0][0] != 0:
        raise _broken("Something stands before its first file", target)
    for (offset, entry, _), end in zip(planned, ends, strict=True):
        if offset + _LOCAL.size + len(entry.raw) + entry.packed > end:
            raise refuse("archive-bomb", "Its files share bytes", target.source)


def _read_entry(file: IO[bytes], entry: _Entry, end: int, target: UnpackTarget) -> bytes:
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
    """Return the data descriptor in all four forms that may follow a file whose size was not known when its header was
    written."""
    forms = [struct.pack(form, entry.crc, entry.packed, entry.size) for form in ("<3L", "<L2Q")]
    return [start + form for start in (b"PK\x07\x08", b"") for form in forms]


def _inflate(packed: bytes, entry: _Entry, target: UnpackTarget) -> bytes:
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


def _broken(message: str, target: UnpackTarget) -> Refused:
    return refuse("archive-broken", message, target.source)


MAX_BYTES = SKILL.max_bytes
_HEADERS = 16 << 20  # bytes that an archive may have beside its files
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_HINT = "Give a folder, a .skill, a .zip or a .tar.gz"


class UnpackedFiles(Struct, frozen=True):
    """The result of unpacking an archive, and the files that were skipped: no digest covers those, and weft never reads
    them."""

    files: int
    bytes: int
    left_out: tuple[str, ...] = ()


def unpack(source: str, folder: str, limits: ArchiveLimits = SKILL) -> UnpackedFiles:
    """Put all files of a folder or an archive into a folder. Of what is refused nothing stays there.

    Raises: ClawftError where there is none; Refused `archive-…` for one that is unsafe or damaged; OSError.
    """
    try:
        return _fill(UnpackTarget(folder, source, limits), _copy if os.path.isdir(source) else _open)
    except FileNotFoundError as error:
        raise ClawftError("archive-missing", "There is no such folder or archive", path=source, hint=_HINT) from error


def unpack_open(file: IO[bytes], source: str, folder: str) -> UnpackedFiles:
    """Unpack an archive that is open; `source` is where it comes from. Raises: as `unpack` does."""
    return _fill(UnpackTarget(folder, source, SKILL), partial(_read, file))


def _fill(target: UnpackTarget, put: Callable[[UnpackTarget], None]) -> UnpackedFiles:
    try:
        put(target)
    except BaseException:
        target.clear()
        raise
    return UnpackedFiles(target.files, target.bytes, tuple(target.left_out))


def _open(target: UnpackTarget) -> None:
    """Raises: ClawftError, OSError."""
    with open(os.open(target.source, _READ), "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise _unknown(target)
        _read(file, target)


def _read(file: IO[bytes], target: UnpackTarget) -> None:
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
        unpack_tar(GzipContent(file, target), target)
    elif start[257:262] == b"ustar":
        unpack_tar(file, target)
    else:
        raise _unknown(target)


def _unknown(target: UnpackTarget) -> ClawftError:
    return ClawftError("archive-unknown", "This is no folder and no archive", path=target.source, hint=_HINT)


def _copy(target: UnpackTarget) -> None:
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
