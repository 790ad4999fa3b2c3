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
_STREAM = re.compile(rb"stream\r?\n")
_ACTION = re.compile(rb"/(JavaScript|JS|OpenAction|AA|Launch|SubmitForm|GoToR|EmbeddedFile|RichMedia|XFA)\b")
_SHOWN = re.compile(rb"\(((?:[^()\\]|\\.){1,2000})\)|<([0-9A-Fa-f\s]{4,4000})>")
_JS = re.compile(rb"/JS\s*\(((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))*)\)", re.DOTALL)
_URI = re.compile(rb"/(?:URI|F|UF)\s*\(((?:[^()\\]|\\.){4,500})\)")


def open_pdf(data: bytes, room: Room) -> Iterator[Part]:
    """The texts of a PDF as prose, its scripts as scripts, and what follows its end."""
    bodies = [data]
    left_out = 0
    for count, match in enumerate(_STREAM.finditer(data)):
        if count >= MAX_STREAMS or room.left <= 0:
            left_out += 1
            continue
        body = _unpack(data, match.end(), room)
        if body:
            bodies.append(body)
    actions: set[str] = set()
    texts: list[str] = []
    for index, body in enumerate(bodies):
        actions.update(one.decode() for one in _ACTION.findall(body[: 4 << 20]))
        yield from (Passage(_unescape(one), "javascript", "pdf-script") for one in _JS.findall(body[: 4 << 20]))
        texts += [_unescape(one) for one in _URI.findall(body[: 4 << 20])]
        if index and (b"BT" in body or b"Tj" in body or b"TJ" in body):
            texts.append(_read_shown(body))
        elif index and body[:300].isascii() and sum(byte > 31 for byte in body[:300]) > 250:
            texts.append(body[:MAX_STREAM].decode("latin-1"))
    if actions & {"JavaScript", "JS", "Launch", "SubmitForm"}:
        yield Mark(Kind.HIDDEN, "pdf-action", f"the PDF acts when opened: {', '.join(sorted(actions))}")
    text = "\n".join(one for one in texts if one.strip())[:MAX_TEXT]
    if text:
        yield Passage(text, "markdown", "pdf-text")
    if left_out:
        yield Unread(f"{left_out} streams of the PDF were not read")
    yield from _read_end(data)


def _unpack(data: bytes, start: int, room: Room) -> bytes:
    head = data[max(0, start - 400) : start]
    head = head[head.rfind(b"obj") :]
    end = data.find(b"endstream", start, start + (8 << 20))
    raw = data[start : end if end > 0 else start + MAX_STREAM]
    if b"/Image" in head or b"/FontFile" in head or b"DCTDecode" in head:
        return b""
    if b"FlateDecode" not in head and b"/Fl" not in head:
        return raw[:MAX_STREAM] if b"/Filter" not in head else b""
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
            packed = (
                bytes.fromhex(re.sub(r"\s", "", digits.decode())[: len(digits) & ~1 & ~1] or "00")
                if len(re.sub(rb"\s", b"", digits)) % 2 == 0
                else b""
            )
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
