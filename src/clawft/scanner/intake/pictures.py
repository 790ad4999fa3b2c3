"""Pictures, fonts, sound: the texts they carry, and what was appended after their end."""

import struct
import zlib
from collections.abc import Iterator

from clawft.scanner.facts import Kind
from clawft.scanner.intake.formats import ContentMark, EmbeddedFile, EmbeddedText, Part, UnpackBudget, UnreadPart
from clawft.scanner.intake.programs import find_appended, find_strings

MAX_TEXT = 256 << 10
MAX_CHUNKS = 4_000


def open_png(data: bytes, room: UnpackBudget) -> Iterator[Part]:
    """The text chunks of a PNG, and what follows its end."""
    at = 8
    for _ in range(MAX_CHUNKS):
        if at + 8 > len(data):
            return
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + min(size, MAX_TEXT)]
        if kind in (b"tEXt", b"zTXt", b"iTXt") and (text := _png_text(kind, body, room)):
            yield from _passage(text)
        at += 12 + size
        if kind == b"IEND":
            yield from _strings(data[:at])
            yield from _trailing(data, at)
            return
    yield UnreadPart("The picture has too many parts")


def _png_text(kind: bytes, body: bytes, room: UnpackBudget) -> str:
    _, _, rest = body.partition(b"\0")
    if kind == b"tEXt":
        return rest.decode("utf-8", "replace")
    packed = kind == b"zTXt"
    if kind == b"iTXt":
        packed = rest[:1] == b"\1"
        rest = rest[2:].split(b"\0", 2)[-1]
    else:
        rest = rest[1:]
    if packed:
        try:
            rest = zlib.decompressobj().decompress(rest, max(1, min(MAX_TEXT, room.left)))
        except zlib.error:
            return ""
        room.spend(len(rest))
    return rest.decode("utf-8", "replace")


def open_jpeg(data: bytes, _room: UnpackBudget) -> Iterator[Part]:
    """The comments, EXIF and XMP of a JPEG, and what follows its end."""
    at = 2
    for _ in range(MAX_CHUNKS):
        if at + 4 > len(data) or data[at] != 0xFF:
            break
        kind = data[at + 1]
        if kind in (0xDA, 0xD9):
            break
        size = int.from_bytes(data[at + 2 : at + 4])
        body = data[at + 4 : at + 2 + size]
        if kind == 0xFE:
            yield from _passage(body.decode("utf-8", "replace"))
        at += 2 + size
    yield from _strings(data)
    end = data.rfind(b"\xff\xd9")
    first = data.find(b"\xff\xd9", at)
    if end < 0:
        return
    # A thumbnail or a second picture may follow the first end: only what comes after the last is foreign,
    # unless another form begins right after an end.
    if 0 <= first < end and data[first + 2 : first + 4] in (b"PK", b"#!", b"\x1f\x8b", b"%P", b"<?", b"Ra", b"7z"):
        end = first
    yield from _trailing(data, end + 2)


def open_gif(data: bytes, _room: UnpackBudget) -> Iterator[Part]:
    """The comments of a GIF, and what follows its end."""
    at = data.find(b"!\xfe")
    for _ in range(16):
        if at < 0:
            break
        size = data[at + 2] if at + 2 < len(data) else 0
        text = data[at + 3 : at + 3 + size]
        if size and text.isascii():
            yield from _passage(text.decode())
        at = data.find(b"!\xfe", at + 2)
    end = _gif_end(data)
    yield from _strings(data[:end] if end else data)
    if end:
        yield from _trailing(data, end)


def _gif_end(data: bytes) -> int:
    """Find the end of a GIF by its own structure; 0 if that cannot be read."""
    if len(data) < 13:
        return 0
    at = 13 + (3 << ((data[10] & 7) + 1) if data[10] & 0x80 else 0)
    for _ in range(100_000):
        if at >= len(data):
            return 0
        block = data[at]
        if block == 0x3B:
            return at + 1
        if block == 0x2C and at + 10 < len(data):
            flags = data[at + 9]
            at += 11 + (3 << ((flags & 7) + 1) if flags & 0x80 else 0)
        elif block == 0x21:
            at += 2
        else:
            return at  # no block of a picture: whatever it is, it is foreign
        while at < len(data) and data[at]:
            at += data[at] + 1
        at += 1
    return 0


def open_riff(data: bytes, _room: UnpackBudget) -> Iterator[Part]:
    """Yield the texts in a WebP and what follows its end."""
    yield from _strings(data)
    yield from _trailing(data, 8 + int.from_bytes(data[4:8], "little"))


def open_media(data: bytes, _room: UnpackBudget) -> Iterator[Part]:
    """Fonts, sound, video: telling strings, and an archive appended to them."""
    yield from _strings(data)
    yield from find_appended(data)


def _passage(text: str) -> Iterator[Part]:
    if sum(c.isalpha() for c in text[:2000]) >= 12:
        yield EmbeddedText(text.replace("\r", "\n"), "", "metadata")


def _strings(body: bytes) -> Iterator[Part]:
    if text := find_strings(body):
        yield EmbeddedText(text, "", "metadata")


def _trailing(data: bytes, at: int) -> Iterator[Part]:
    """Yield what follows the end of a picture, unless it is fill."""
    rest = data[at:] if at < len(data) else b""
    if len(rest.strip(b"\0 \r\n\t\xff")) < 8:
        return
    yield ContentMark(Kind.HIDDEN, "trailing-data", f"{len(rest)} bytes follow the end of the picture")
    yield EmbeddedFile("appended", rest, "trailing-data")
