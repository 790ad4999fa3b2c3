"""PDF: its scripts, actions and addresses, and the text of its streams, within bounds."""

import re
import zlib
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.intake.parts import Mark, Member, Part, Passage, Room, Unread

__all__ = ["open_pdf"]

MAX_STREAMS = 400
MAX_STREAM = 512 << 10
MAX_TEXT = 200 << 10
MAX_SEARCHED = 4 << 20
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_STREAM = re.compile(rb"stream\r?\n")
_ACTION = re.compile(rb"/(JavaScript|JS|OpenAction|AA|Launch|SubmitForm|GoToR|EmbeddedFile|RichMedia|XFA)\b")
_SHOWN = re.compile(rb"\(((?:[^()\\]|\\.){1,2000})\)|<([0-9A-Fa-f\s]{4,4000})>")
_JS = re.compile(rb"/JS\s*\(((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))*)\)", re.DOTALL)
_URI = re.compile(rb"/(?:URI|F|UF)\s*\(((?:[^()\\]|\\.){4,500})\)")


def open_pdf(data: bytes, room: Room) -> Iterator[Part]:
    """The texts of a PDF as prose, its scripts as scripts, and what follows its end."""
    actions: set[str] = set()
    texts: list[str] = []
    size = left_out = 0
    for index, body in enumerate(_list_bodies(data, room)):
        if index > MAX_STREAMS or room.left <= 0:
            left_out += 1
            continue
        head = body[:MAX_SEARCHED]
        actions.update(one.decode() for one in _ACTION.findall(head))
        yield from (Passage(_unescape(one), "javascript", "pdf-script") for one in _JS.findall(head))
        if size < MAX_TEXT:
            texts += [_unescape(one) for one in _URI.findall(head)]
            texts.append(_read_body(body) if index else "")
            size += len(texts[-1])
    if actions & {"JavaScript", "JS", "Launch", "SubmitForm"}:
        yield Mark(Kind.HIDDEN, "pdf-action", f"the PDF acts when opened: {', '.join(sorted(actions))}")
    text = _CONTROLS.sub("", "\n".join(one for one in texts if one.strip())[:MAX_TEXT])
    if text:
        yield Passage(text, "markdown", "pdf-text")
    if left_out or size >= MAX_TEXT:
        yield Unread("Not all of the PDF was read")
    yield from _read_end(data)


def _list_bodies(data: bytes, room: Room) -> Iterator[bytes]:
    """The file itself, then its streams unpacked, one at a time."""
    yield data
    for match in _STREAM.finditer(data):
        if body := _unpack(data, match.end(), room):
            yield body


def _read_body(body: bytes) -> str:
    """The text of a stream: what a page shows, or the stream as it stands."""
    if b"BT" in body or b"Tj" in body or b"TJ" in body:
        return _read_shown(body)
    readable = body[:300].isascii() and sum(byte > 31 for byte in body[:300]) > 0.8 * len(body[:300])
    return body[:MAX_TEXT].decode("latin-1") if readable else ""


def _unpack(data: bytes, start: int, room: Room) -> bytes:
    head = data[max(0, start - 400) : start]
    head = head[head.rfind(b"obj") :]
    end = data.find(b"endstream", start, start + (8 << 20))
    raw = data[start : end if end > 0 else start + MAX_STREAM]
    if b"/Image" in head or b"/FontFile" in head or b"DCTDecode" in head:
        return b""
    if b"FlateDecode" not in head and b"/Fl" not in head:
        raw = raw[:MAX_STREAM] if b"/Filter" not in head else b""
        room.spend(len(raw))
        return raw
    try:
        body = zlib.decompressobj().decompress(raw, max(1, min(MAX_STREAM, room.left)))
    except zlib.error:
        return b""
    room.spend(len(body))
    return body


def _read_shown(body: bytes) -> str:
    """The strings that a page shows, joined as they stand."""
    pieces: list[str] = []
    for text, digits in _SHOWN.findall(body):
        if text:
            pieces.append(_unescape(text))
        else:
            even = re.sub(rb"\s", b"", digits)
            packed = bytes.fromhex(even[: len(even) & ~1].decode())
            pieces.append(packed.decode("utf-16-be" if packed[:1] == b"\0" else "latin-1", "ignore"))
    return "".join(pieces)


def _unescape(text: bytes) -> str:
    if text.startswith(b"\xfe\xff"):
        return text[2:].decode("utf-16-be", "replace")
    return re.sub(rb"\\([()\\])", rb"\1", text).replace(b"\\n", b"\n").replace(b"\\r", b"\n").decode("latin-1")


def _read_end(data: bytes) -> Iterator[Part]:
    end = data.rfind(b"%%EOF")
    rest = data[end + 5 :] if end >= 0 else b""
    if len(rest.strip(b"\0 \r\n\t")) >= 8:
        yield Mark(Kind.HIDDEN, "trailing-data", f"{len(rest)} bytes follow the end of the PDF")
        yield Member("appended", rest.lstrip(b"\r\n"), "trailing-data")
    elif b"PK\x05\x06" in data[-70_000:] and (start := data.find(b"PK\x03\x04")) > 0:
        yield Mark(Kind.HIDDEN, "trailing-data", "an archive inside the PDF")
        yield Member("appended", data[start:], "trailing-data")
