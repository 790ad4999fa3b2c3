"""Tar archives, plain or gzipped, read as a stream and strictly: files and folders, no links, no holes, no devices."""

import zlib
from typing import Protocol

from msgspec import Struct

from clawft.errors import Refused
from clawft.install.archive.target import UnpackTarget, refuse

_BLOCK = 512
_CHUNK = 1 << 18
_MAX_EXTENDED = 1 << 16  # bytes of a long name, or of a list of attributes
_MAX_HEADERS = 4 << 20
_FILES, _LINKS, _DEVICES, _SPARSE = b"0\x007", b"12", b"346", b"S"


class ByteStream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class GzipContent:
    """The unpacked content of an open gzip file: a single stream with nothing after it, checked against archive
    bombs."""

    def __init__(self, file: ByteStream, target: UnpackTarget) -> None:
        self._file = file
        self._target = target
        self._inflater = zlib.decompressobj(31)
        self._in = self._out = 0

    def read(self, size: int, /) -> bytes:
        """Raises: Refused, OSError."""
        while not self._inflater.eof:
            packed = self._inflater.unconsumed_tail
            if not packed:
                packed = self._file.read(_CHUNK)
                self._in += len(packed)
            if not packed:
                raise _broken("It is cut off", self._target)
            try:
                piece = self._inflater.decompress(packed, size)
            except zlib.error as error:
                raise _broken("It cannot be unpacked: it is damaged or was changed", self._target) from error
            self._out += len(piece)
            used = self._in - len(self._inflater.unconsumed_tail)
            if self._target.limits.is_bomb(self._out, used):
                raise refuse("archive-bomb", f"{used} bytes become more than {self._out}", self._target.source)
            if piece:
                return piece
        rest = self._inflater.unused_data
        while rest:
            if rest.strip(b"\0"):
                raise _broken("Something follows it: a second archive is hidden there", self._target)
            rest = self._file.read(_CHUNK)
        return b""


class _Header(Struct, frozen=True):
    name: str
    size: int
    mode: int
    kind: bytes


def unpack_tar(stream: ByteStream, target: UnpackTarget) -> None:
    """Put the files of a tar into a folder. Raises: Refused, OSError."""
    reader = _Reader(stream, target)
    for _ in range(4 * target.limits.max_entries):
        header = reader.next()
        if header is None:
            return
        _place(header, reader, target)
    raise refuse("archive-too-many", f"It has more than {target.limits.max_files} files", target.source)


def _place(header: _Header, reader: "_Reader", target: UnpackTarget) -> None:
    if header.kind in _LINKS:
        raise refuse("archive-link", f"'{header.name[:80]}' is a link", target.source)
    if header.kind in _DEVICES:
        raise refuse("archive-device", f"'{header.name[:80]}' is no file", target.source)
    if header.kind in _SPARSE:
        raise refuse("archive-bomb", f"'{header.name[:80]}' has holes", target.source)
    is_folder = header.kind == b"5" or (header.kind in _FILES and header.name.endswith("/"))
    if not is_folder and header.kind not in _FILES:
        raise _broken(f"'{header.name[:80]}' is of a kind that nobody knows", target)
    if is_folder and header.size:
        raise _broken(f"'{header.name[:80]}' is a file and a folder", target)
    path = target.claim(header.name, folder=is_folder)
    target.reserve(header.name, header.size)
    content = reader.take(header.size)
    if path and not is_folder:
        target.write(path, content, executable=bool(header.mode & 0o111))


class _Reader:
    """The headers of a tar one after the other, each with what extended headers before it say."""

    def __init__(self, stream: ByteStream, target: UnpackTarget) -> None:
        self._stream = stream
        self._target = target
        self._buffer = b""
        self._headers = 0

    def take(self, size: int) -> bytes:
        """Read that many bytes, and the padding of their last block. Raises: Refused."""
        content = self._read(size)
        if self._read(-size % _BLOCK).strip(b"\0"):
            raise _broken("Something is hidden behind a file", self._target)
        return content

    def next(self) -> _Header | None:
        """The next file, folder or whatever it is; None at the end. Raises: Refused."""
        extended: dict[str, str] = {}
        while True:
            block = self._read(_BLOCK)
            if not block.strip(b"\0"):
                self._finish()
                return None
            header = self._parse(block)
            if header.kind in b"xgLK":
                extended |= self._extend(header)
                continue
            if any(key.startswith(("GNU.sparse", "SCHILY.realsize")) for key in extended):
                raise refuse("archive-bomb", f"'{header.name[:80]}' has holes", self._target.source)
            size = extended.get("size", str(header.size))
            if not size.isascii() or not size.isdigit() or len(size) > 12:
                raise _broken("A size is no number", self._target)
            return _Header(extended.get("path", header.name), int(size), header.mode, header.kind)

    def _extend(self, header: _Header) -> dict[str, str]:
        """Read the fields that an extended header sets for the next one."""
        self._headers += header.size + _BLOCK
        if header.size > _MAX_EXTENDED or self._headers > _MAX_HEADERS:
            raise refuse("archive-bomb", "Its headers are larger than any name", self._target.source)
        content = self.take(header.size)
        if header.kind == b"K":
            return {}  # where a link leads; links are refused
        if header.kind == b"L":
            return {"path": self._decode(content.rstrip(b"\0"))}
        records = self._parse_records(content)
        if header.kind == b"g" and records.keys() & {"path", "linkpath", "size"}:
            raise _broken("It has one name or one size for all files", self._target)
        return records if header.kind == b"x" else {}

    def _parse_records(self, content: bytes) -> dict[str, str]:
        records: dict[str, str] = {}
        while content:
            digits, space, _ = content.partition(b" ")
            size = int(digits) if digits.isdigit() and len(digits) <= 5 else 0
            key, equals, value = content[len(digits) + 1 : size].partition(b"=")
            if not space or not equals or size > len(content) or not value.endswith(b"\n"):
                raise _broken("An extended header cannot be read", self._target)
            records[key.decode("utf-8", "replace")] = (
                self._decode(value[:-1]) if key == b"path" else value[:-1].decode("utf-8", "replace")
            )
            content = content[size:]
        return records

    def _parse(self, block: bytes) -> _Header:
        stated = self._number(block[148:156])
        if stated != sum(block) - sum(block[148:156]) + 8 * 0x20:
            raise _broken("A header cannot be read: it is damaged or was changed", self._target)
        kind = block[156:157]
        name = block[:100].partition(b"\0")[0]
        prefix = block[345:500].partition(b"\0")[0] if block[257:265] == b"ustar\00000" else b""
        whole = b"/".join([part for part in (prefix, name) if part])
        return _Header(self._decode(whole), self._number(block[124:136]), self._number(block[100:108]), kind)

    def _number(self, field: bytes) -> int:
        if field[0] & 0x80:
            value = (
                int.from_bytes(field, "big", signed=True)
                if field[0] == 0xFF
                else int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
            )
        else:
            digits = field.strip(b" \0").decode("ascii", "replace")
            value = int(digits, 8) if digits and set(digits) <= set("01234567") else 0 if not digits else -1
        if value < 0:
            raise _broken("A header has no number where one should be", self._target)
        return value

    def _decode(self, name: bytes) -> str:
        try:
            return name.decode()
        except UnicodeDecodeError as error:
            raise refuse("archive-path", f"{name[:80]!r} is no text", self._target.source) from error

    def _finish(self) -> None:
        """Nothing but zeros may follow the end, and not for ever. Raises: Refused."""
        left = _MAX_HEADERS
        while rest := self._buffer or self._stream.read(_CHUNK):
            self._buffer = b""
            left -= len(rest)
            if rest.strip(b"\0") or left < 0:
                raise _broken("Something follows its end", self._target)

    def _read(self, size: int) -> bytes:
        pieces = [self._buffer[:size]]
        self._buffer = self._buffer[size:]
        missing = size - len(pieces[0])
        while missing > 0:
            piece = self._stream.read(max(missing, _CHUNK))
            if not piece:
                raise _broken("It is cut off", self._target)
            pieces.append(piece[:missing])
            self._buffer = piece[missing:]
            missing -= len(pieces[-1])
        return b"".join(pieces)


def _broken(message: str, target: UnpackTarget) -> Refused:
    return refuse("archive-broken", message, target.source)
