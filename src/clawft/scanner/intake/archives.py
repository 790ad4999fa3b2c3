"""Archives and compressed files, opened in memory within bounds; nothing is written to disk."""

import bz2
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

from clawft.scanner.facts import Kind
from clawft.scanner.intake.formats import ContentMark, EmbeddedFile, Part, UnpackBudget, UnreadPart
from clawft.scanner.intake.office import open_part

MAX_MEMBER = 12 << 20
MAX_RATIO = 250  # text packs 3 to 10 times, repetitive logs 50; a bomb a thousand times
_BOMB_FROM = 1 << 20
_CHUNK = 1 << 16
_MAX_STREAMS = 64  # one after the other in a compressed file
_MAX_LISTED = 20_000
_ENCRYPTED = 0x1


def open_zip(data: bytes, room: UnpackBudget) -> Iterator[Part]:
    """The members of a zip: by its directory, or one after the other where that is broken."""
    try:
        if data.count(b"PK\x01\x02") > _MAX_LISTED:
            raise zipfile.BadZipFile
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error, RecursionError):
        yield UnreadPart(
            "The archive is broken or has too many members: they are read one after the other, as far as they go"
        )
        yield from _scan_zip(data, room)
        return
    with archive:
        members = archive.infolist()
        if _bombs(sum(member.file_size for member in members), len(data)):
            yield _bomb(f"{len(data)} bytes would unpack to {sum(member.file_size for member in members)}")
        locked = [member.filename for member in members if member.flag_bits & _ENCRYPTED]
        if locked:
            yield ContentMark(Kind.LOCKED, "zip", f"{_show(locked[0])} needs a password")
            yield UnreadPart(f"{len(locked)} members need a password")
        listed: set[str] = set()
        for member in members:
            if member.filename.endswith("/") or member.flag_bits & _ENCRYPTED:
                continue
            if not room.admit():
                yield UnreadPart("It holds too much to unpack")
                return
            yield from _check_name(member.filename, member.filename in listed)
            listed.add(member.filename)
            yield from _read_member(archive, member, room)
        yield from _find_unlisted(data, archive, room)


def _read_member(archive: zipfile.ZipFile, one: zipfile.ZipInfo, room: UnpackBudget) -> Iterator[Part]:
    try:
        with archive.open(one) as stream:
            content, whole = _read(stream, room)
    except Exception as error:  # zipfile raises a dozen kinds for a broken member
        yield UnreadPart(f"It cannot be unpacked: {error!s:.80}", _show(one.filename))
        return
    if not whole:
        yield UnreadPart("It is too large to unpack whole", _show(one.filename))
        if _bombs(one.file_size, one.compress_size):
            yield _bomb(f"{_show(one.filename)} would unpack to {one.file_size} bytes")
    if (one.external_attr >> 28) == 0xA:  # a symbolic link: its content is where it leads
        yield from _check_link(_show(one.filename), content.decode("utf-8", "replace")[:300])
        return
    if "[Content_Types].xml" in archive.NameToInfo and one.filename.endswith((".xml", ".rels")):
        yield from open_part(_show(one.filename), content)
    else:
        yield EmbeddedFile(_show(one.filename), content)


def _find_unlisted(data: bytes, archive: zipfile.ZipFile, room: UnpackBudget) -> Iterator[Part]:
    """Members that the directory of the zip leaves out: some tools unpack them all the same."""
    if data.count(b"PK\x03\x04") <= len(archive.infolist()):
        return
    known = {member.header_offset for member in archive.infolist()}
    end = archive.start_dir
    at = data.find(b"PK\x03\x04")
    while 0 <= at < end and room.admit():
        covered = at in known or any(
            member.header_offset < at < member.header_offset + 30 + member.compress_size + len(member.filename) + 64
            for member in archive.infolist()[:500]
        )
        if not covered and (member := _read_local(data, at, room)):
            yield ContentMark(Kind.HIDDEN, "unlisted-member", f"{member.name} is not in the directory of the archive")
            yield member
        at = data.find(b"PK\x03\x04", at + 4)


def _scan_zip(data: bytes, room: UnpackBudget) -> Iterator[Part]:
    at = data.find(b"PK\x03\x04")
    while at >= 0 and room.admit():
        if member := _read_local(data, at, room):
            yield member
        at = data.find(b"PK\x03\x04", at + 4)


def _read_local(data: bytes, at: int, room: UnpackBudget) -> EmbeddedFile | None:
    """The member whose own header stands at an offset."""
    if len(data) < at + 30:
        return None
    flags, method, size, name_size, extra = struct.unpack_from("<2xHH8xI4xHH", data, at + 4)
    start = at + 30 + name_size + extra
    name = _show(data[at + 30 : at + 30 + name_size].decode("utf-8", "replace"))
    if flags & _ENCRYPTED or name.endswith("/"):
        return None
    limit = min(MAX_MEMBER, room.left)
    if method == 0:
        content = data[start : start + min(size, limit)]
    elif method == 8:
        try:
            content = zlib.decompressobj(-15).decompress(data[start:], max(1, limit))
        except zlib.error:
            return None
    else:
        return None
    room.spend(len(content))
    return EmbeddedFile(name, content) if content else None


def open_tar(data: bytes, room: UnpackBudget) -> Iterator[Part]:
    """The members of a tar that is not compressed."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                name = _show(member.name)
                if not room.admit():
                    yield UnreadPart("It holds too much to unpack")
                    return
                yield from _check_name(member.name, seen=False)
                if member.issym() or member.islnk():
                    yield from _check_link(name, member.linkname)
                elif member.isfile() and (stream := archive.extractfile(member)):
                    content, whole = _read(stream, room)
                    if not whole:
                        yield UnreadPart("It is too large to unpack whole", name)
                    yield EmbeddedFile(name, content)
                elif not member.isdir():
                    yield ContentMark(Kind.HIDDEN, "special-file", f"{name} is a pipe or a device", name)
                    yield UnreadPart("It is a pipe or a device, not a file", name)
    except Exception as error:  # tarfile raises whatever a broken header makes of its numbers
        yield UnreadPart(f"The archive is broken: {error!s:.80}")


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /, max_length: int = ...) -> bytes: ...


def _open_stream(make: Callable[[], _Decompressor]) -> Callable[[bytes, UnpackBudget], Iterator[Part]]:
    def open_stream(data: bytes, room: UnpackBudget) -> Iterator[Part]:
        content, whole, rest = _inflate(make, data, min(MAX_MEMBER, room.left))
        room.spend(len(content))
        if not whole:
            yield UnreadPart("It is broken, or too large to unpack whole")
            if _bombs(len(content), len(data)):
                yield _bomb(f"{len(data)} bytes unpack to more than {len(content)}")
        if content:
            yield EmbeddedFile("", content, "compressed")
        if rest.strip(b"\0"):
            yield EmbeddedFile("rest", rest, "trailing-data")

    return open_stream


def _inflate(make: Callable[[], _Decompressor], data: bytes, limit: int) -> tuple[bytes, bool, bytes]:
    """Unpack compressed bytes up to a limit; also return whether that is all, and the bytes that follow."""
    pieces: list[bytes] = []
    size = 0
    rest = data
    for _ in range(_MAX_STREAMS):
        if not rest or size >= limit:
            break
        inner = make()
        feed = rest
        try:
            while not inner.eof and size < limit:
                piece = inner.decompress(feed, min(_CHUNK * 16, limit - size))
                feed = getattr(inner, "unconsumed_tail", b"")
                if not piece and not feed:
                    break
                pieces.append(piece)
                size += len(piece)
        except (zlib.error, OSError, lzma.LZMAError, EOFError, ValueError, MemoryError):
            return b"".join(pieces), False, b"" if pieces else rest if rest is not data else b""
        if not inner.eof:
            return b"".join(pieces), False, b""
        after = inner.unused_data
        if after[:2] != data[:2]:  # what follows is not one more stream of the same kind
            return b"".join(pieces), True, after
        rest = after
    return b"".join(pieces), not rest and size < limit, b""


def open_ar(data: bytes, room: UnpackBudget) -> Iterator[Part]:
    """The members of an `ar` archive: a Debian package, a static library."""
    at = 8
    while at + 60 <= len(data) and room.admit():
        name = _show(data[at : at + 16].decode("latin-1").strip().rstrip("/")) or "member"
        try:
            size = int(data[at + 48 : at + 58].decode("ascii").strip())
        except ValueError:
            yield UnreadPart("The archive is broken")
            return
        content = data[at + 60 : at + 60 + min(size, MAX_MEMBER, room.left)]
        room.spend(len(content))
        yield EmbeddedFile(name, content)
        at += 60 + size + size % 2


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _read(stream: _Readable, room: UnpackBudget) -> tuple[bytes, bool]:
    """The content of a member as far as there is room, and whether that is all."""
    limit = min(MAX_MEMBER, room.left)
    pieces: list[bytes] = []
    size = 0
    while size <= limit and (piece := stream.read(_CHUNK)):
        pieces.append(piece)
        size += len(piece)
    room.spend(size)
    return b"".join(pieces), size <= limit


def _check_name(name: str, seen: bool) -> Iterator[Part]:
    """A member that would be unpacked outside, or over another one."""
    if name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/") or name[1:3] == ":\\":
        yield ContentMark(Kind.LINK, _show(name), f"{_show(name)} would be unpacked outside the folder")
    if seen:
        yield ContentMark(Kind.HIDDEN, "unlisted-member", f"{_show(name)} stands twice in the archive")


def _check_link(name: str, target: str) -> Iterator[Part]:
    depth = name.count("/")
    climbs = target.split("/").count("..")
    if target.startswith(("/", "~")) or climbs > depth:
        yield ContentMark(Kind.LINK, _show(target), f"{name} -> {_show(target)}")


def _bombs(unpacked: int, packed: int) -> bool:
    return unpacked > _BOMB_FROM and unpacked > MAX_RATIO * max(packed, 1)


def _bomb(via: str) -> ContentMark:
    return ContentMark(Kind.HIDDEN, "decompression-bomb", via)


def _show(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name[:200])


open_gzip = _open_stream(lambda: zlib.decompressobj(31))
open_bzip2 = _open_stream(bz2.BZ2Decompressor)
open_xz = _open_stream(lambda: lzma.LZMADecompressor(memlimit=64 << 20))


def open_zstd(data: bytes, room: UnpackBudget) -> Iterator[Part]:
    """Unpack a zstd file, if this Python can."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14
    except ImportError:
        yield ContentMark(Kind.LOCKED, "zstd", "a compressed file (zstd) that is not opened")
        yield UnreadPart("A file compressed with zstd cannot be opened here")
        return
    yield from _open_stream(zstd.ZstdDecompressor)(data, room)
