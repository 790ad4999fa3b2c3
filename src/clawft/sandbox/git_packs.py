"""Objects in a pack that a confined program wrote, one by one: what they are called is found out by hashing them."""

import struct
import zlib
from collections.abc import Iterator

MAX_PACK_BYTES = 256 << 20
MAX_CONTENT = 512 << 20  # of all objects of a pack
_MAX_OBJECTS = 50_000
_HEAD = struct.Struct(">4sII")
_KINDS = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}
_BY_OFFSET, _BY_NAME = 6, 7
_ID_BYTES = 20
_CHUNK = 64 << 10
_LITERAL = 0x80


class BadPack(Exception):
    """A pack is damaged, too large, or of a form that git does not keep."""


def unpack(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The kind and content of each object of a pack. Raises: BadPack."""
    try:
        yield from _unpack(data)
    except (IndexError, struct.error, zlib.error) as error:
        raise BadPack from error


def _unpack(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    sign, version, count = _HEAD.unpack_from(data)
    if sign != b"PACK" or version != 2 or count > _MAX_OBJECTS:
        raise BadPack
    found: dict[int, tuple[bytes, bytes]] = {}
    at, total = _HEAD.size, 0
    for _ in range(count):
        start = at
        number, size, at = _read_head(data, at)
        base = 0
        if number == _BY_OFFSET:
            back, at = _read_offset(data, at)
            base = start - back
        content, at = _inflate(data, at, size)
        if number in _KINDS:
            found[start] = _KINDS[number], content
        elif number == _BY_OFFSET and base in found:
            kind, old = found[base]
            found[start] = kind, _apply(old, content)
        else:  # git names the base otherwise only in packs that it sends
            raise BadPack
        total += len(found[start][1])
        if total > MAX_CONTENT:
            raise BadPack
        yield found[start]


def _read_head(data: bytes, at: int) -> tuple[int, int, int]:
    """The kind of an object, its size, and where the rest begins."""
    byte, shift = data[at], 4
    number, size = (byte >> 4) & 7, byte & 15
    while byte & 0x80:
        at += 1
        byte = data[at]
        size |= (byte & 0x7F) << shift
        shift += 7
    if size > MAX_CONTENT:
        raise BadPack
    return number, size, at + 1


def _read_offset(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 127
    while data[at] & 128:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 127)
    return value, at + 1


def _inflate(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    unpacker = zlib.decompressobj()
    pieces, seen = [], 0
    while not unpacker.eof:
        chunk = unpacker.unconsumed_tail or data[at : at + _CHUNK]
        if not chunk:
            raise BadPack
        at += 0 if unpacker.unconsumed_tail else len(chunk)
        pieces.append(unpacker.decompress(chunk, size - seen + 1))
        seen += len(pieces[-1])
        if seen > size:
            raise BadPack
    if seen != size:
        raise BadPack
    return b"".join(pieces), at - len(unpacker.unused_data)


def _apply(base: bytes, delta: bytes) -> bytes:
    """The object that a delta makes of another one."""
    old_size, at = _read_size(delta, 0)
    new_size, at = _read_size(delta, at)
    if old_size != len(base) or new_size > MAX_CONTENT:
        raise BadPack
    pieces, made = [], 0
    while at < len(delta):
        code = delta[at]
        at += 1
        if code & _LITERAL:
            values = []
            for bit in range(7):
                present = code & (1 << bit)
                values.append(delta[at] if present else 0)
                at += bool(present)
            start = int.from_bytes(bytes(values[:4]), "little")
            length = int.from_bytes(bytes(values[4:]), "little") or 0x10000
            piece = base[start : start + length]
        else:
            length = code
            piece = delta[at : at + code]
            at += code
        if not length or len(piece) != length or (made := made + length) > new_size:
            raise BadPack
        pieces.append(piece)
    if made != new_size:
        raise BadPack
    return b"".join(pieces)


def _read_size(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = delta[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
