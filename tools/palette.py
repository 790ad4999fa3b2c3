"""Pictures of screens as small PNG files: with the colours that they mostly have, and no dependency."""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MOST = 128  # colours; the rest are shades at the edges of letters
Colour = tuple[int, int, int]


def shrink(picture: bytes) -> bytes:
    """A PNG of 8-bit RGB as one with a palette."""
    chunks = dict(_chunks(picture))
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, kind) == (8, 2), "it has no 8-bit RGB"
    rows = [_colours(row) for row in _unfilter(zlib.decompress(chunks[b"IDAT"]), width * 3, height)]
    counted = Counter(colour for row in rows for colour in row)
    palette = _choose(counted)
    index = {colour: _nearest(colour, palette) for colour in counted}
    lines = b"".join(b"\0" + bytes(index[colour] for colour in row) for row in rows)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", bytes(value for colour in palette for value in colour)),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    return _SIGNATURE + b"".join(_chunk(name, content) for name, content in parts)


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each chunk; all the data as one."""
    at, data = len(_SIGNATURE), b""
    while at < len(picture):
        length, name = struct.unpack(">I4s", picture[at : at + 8])
        content = picture[at + 8 : at + 8 + length]
        at += 12 + length
        data += content if name == b"IDAT" else b""
        yield name, content
    yield b"IDAT", data


def _unfilter(data: bytes, length: int, height: int) -> Iterator[bytearray]:
    before = bytearray(length)
    for number in range(height):
        start = number * (length + 1)
        kind, row = data[start], bytearray(data[start + 1 : start + 1 + length])
        for at in range(length) if kind else ():
            left = row[at - 3] if at >= 3 else 0
            corner = before[at - 3] if at >= 3 else 0
            row[at] = (row[at] + _guess(kind, left, before[at], corner)) & 255
        yield row
        before = row


def _guess(kind: int, left: int, above: int, corner: int) -> int:
    """What a filter of PNG adds to a byte."""
    if kind == 1:
        return left
    if kind == 2:
        return above
    if kind == 3:
        return (left + above) // 2
    base = left + above - corner
    return min((left, above, corner), key=lambda one: abs(base - one))


def _colours(row: bytearray) -> list[Colour]:
    return list(zip(row[::3], row[1::3], row[2::3], strict=True))


def _choose(counted: Counter[Colour]) -> list[Colour]:
    """The most frequent colour, then each time the one that would be missed most."""
    palette = [counted.most_common(1)[0][0]]
    missed = {colour: _distance(colour, palette[0]) for colour in counted}
    while len(palette) < min(_MOST, len(counted)):
        palette.append(max(counted, key=lambda one: missed[one] * counted[one]))
        for colour, before in missed.items():
            missed[colour] = min(before, _distance(colour, palette[-1]))
    return palette


def _distance(one: Colour, other: Colour) -> int:
    return (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2 + (one[2] - other[2]) ** 2


def _nearest(colour: Colour, palette: list[Colour]) -> int:
    return min(range(len(palette)), key=lambda at: _distance(colour, palette[at]))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
