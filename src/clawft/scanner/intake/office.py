"""Office files and PDF: their text, macros, scripts, actions and external references."""

import re
import zlib
from collections.abc import Iterator
from html import unescape

from clawft.scanner.facts import Kind
from clawft.scanner.intake.formats import ContentMark, EmbeddedFile, EmbeddedText, Part, UnpackBudget, UnreadPart
from clawft.scanner.intake.programs import find_strings

MAX_OFFICE_TEXT = 400 << 10
_READ = re.compile(r"(?:word|ppt|xl|docProps|visio)/.*\.xml$|(?:content|styles|meta)\.xml$")
_BREAK = re.compile(r"</(?:w:p|a:p|si|row|text:p|text:h|c)>|<w:(?:br|tab)/>")
_COMMENT = re.compile(r"<!--(.{3,4000}?)-->", re.DOTALL)
_TAG = re.compile(r"<[^<>]{0,4000}>")
_EXTERNAL = re.compile(r"<Relationship\b[^>]{0,2000}TargetMode=\"External\"[^>]{0,2000}>", re.IGNORECASE)
_FIELD = re.compile(
    r"\b(?:DDEAUTO|DDE)\b[^<]{0,500}|=?\s*(?:cmd|powershell|mshta|rundll32)\|[^<]{0,300}", re.IGNORECASE
)


def open_part(name: str, content: bytes) -> Iterator[Part]:
    """One part of an office file: what a reader sees of it, and what works without being seen."""
    if name.endswith(".rels"):
        yield from _find_external(name, content[:MAX_OFFICE_TEXT].decode("utf-8", "replace"))
    elif _READ.search(name):
        xml = content[: 4 * MAX_OFFICE_TEXT].decode("utf-8", "replace")
        yield from (EmbeddedText(comment.strip(), "", "html-comment", name) for comment in _COMMENT.findall(xml)[:50])
        if field := _FIELD.search(xml):
            yield ContentMark(Kind.EXEC, unescape(field[0]), "a field that starts a program", name)
        text = unescape(_TAG.sub("", _BREAK.sub("\n", xml)))[:MAX_OFFICE_TEXT].strip()
        if text:
            yield EmbeddedText(text, "markdown", "office-text", name)
        if "w:vanish" in xml:
            yield ContentMark(Kind.HIDDEN, "hidden-run", "text that the document does not show", name)
        if len(content) > 4 * MAX_OFFICE_TEXT:
            yield UnreadPart("Only the beginning of this part was read", name)
    else:
        yield EmbeddedFile(name, content)


def _find_external(name: str, xml: str) -> Iterator[Part]:
    for relation in _EXTERNAL.findall(xml)[:200]:
        kind = re.search(r'Type="[^"]*/(\w+)"', relation)
        target = re.search(r'Target="([^"]{1,500})"', relation)
        if kind and target and kind[1] in ("attachedTemplate", "oleObject", "frame", "subDocument", "externalLink"):
            yield ContentMark(Kind.FETCH, unescape(target[1]), f"a remote {kind[1]}", name)


def open_ole(data: bytes, _room: UnpackBudget) -> Iterator[Part]:
    """An old office file or the macros of a new one: macros are named, and the readable strings kept."""
    if b"VBA" in data or b"V\0B\0A\0" in data or b"Macros" in data or b"M\0a\0c\0r\0o\0s\0" in data:
        yield ContentMark(Kind.BINARY, "Office macros", "macros that run inside an office program")
        automatic = re.search(rb"Auto_?Open|Document_Open|Workbook_Open|AutoExec", data)
        if automatic:
            yield ContentMark(Kind.HOOK, f"office:{automatic[0].decode()}", "a macro that runs when the file is opened")
    yield UnreadPart("An office file of the old, binary form: only its strings were read")
    if strings := find_strings(data):
        yield EmbeddedText(strings, "", "strings")


def open_rtf(data: bytes, _room: UnpackBudget) -> Iterator[Part]:
    """Rich text: the words without the commands between them."""
    if re.search(rb"\\objdata|\\objupdate|\\object\b", data):
        yield ContentMark(Kind.BINARY, "RTF object", "an object embedded in rich text")
        yield UnreadPart("An object embedded in rich text was not read")
    text = re.sub(r"\\'[0-9a-f]{2}|\\[a-z]{1,32}-?\d{0,10} ?|[{}]", "", data[:MAX_OFFICE_TEXT].decode("latin-1"))
    if text.strip():
        yield EmbeddedText(text, "", "office-text")


MAX_STREAMS = 400
MAX_STREAM = 512 << 10
MAX_PDF_TEXT = 200 << 10
MAX_SEARCHED = 4 << 20
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_STREAM = re.compile(rb"stream\r?\n")
_ACTION = re.compile(rb"/(JavaScript|JS|OpenAction|AA|Launch|SubmitForm|GoToR|EmbeddedFile|RichMedia|XFA)\b")
_SHOWN = re.compile(rb"\(((?:[^()\\]|\\.){1,2000})\)|<([0-9A-Fa-f\s]{4,4000})>")
_JS = re.compile(rb"/JS\s*\(((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))*)\)", re.DOTALL)
_URI = re.compile(rb"/(?:URI|F|UF)\s*\(((?:[^()\\]|\\.){4,500})\)")


def open_pdf(data: bytes, room: UnpackBudget) -> Iterator[Part]:
    """The texts of a PDF as prose, its scripts as scripts, and what follows its end."""
    actions: set[str] = set()
    texts: list[str] = []
    size = left_out = 0
    for index, body in enumerate(_list_bodies(data, room)):
        if index > MAX_STREAMS or room.left <= 0:
            left_out += 1
            continue
        head = body[:MAX_SEARCHED]
        actions.update(name.decode() for name in _ACTION.findall(head))
        yield from (EmbeddedText(_unescape(name), "javascript", "pdf-script") for name in _JS.findall(head))
        if size < MAX_PDF_TEXT:
            texts += [_unescape(name) for name in _URI.findall(head)]
            texts.append(_read_body(body) if index else "")
            size += len(texts[-1])
    if actions & {"JavaScript", "JS", "Launch", "SubmitForm"}:
        yield ContentMark(Kind.HIDDEN, "pdf-action", f"the PDF acts when opened: {', '.join(sorted(actions))}")
    text = _CONTROLS.sub("", "\n".join(text for text in texts if text.strip())[:MAX_PDF_TEXT])
    if text:
        yield EmbeddedText(text, "markdown", "pdf-text")
    if left_out or size >= MAX_PDF_TEXT:
        yield UnreadPart("Not all of the PDF was read")
    yield from _read_end(data)


def _list_bodies(data: bytes, room: UnpackBudget) -> Iterator[bytes]:
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
    return body[:MAX_PDF_TEXT].decode("latin-1") if readable else ""


def _unpack(data: bytes, start: int, room: UnpackBudget) -> bytes:
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
        yield ContentMark(Kind.HIDDEN, "trailing-data", f"{len(rest)} bytes follow the end of the PDF")
        yield EmbeddedFile("appended", rest.lstrip(b"\r\n"), "trailing-data")
    elif b"PK\x05\x06" in data[-70_000:] and (start := data.find(b"PK\x03\x04")) > 0:
        yield ContentMark(Kind.HIDDEN, "trailing-data", "an archive inside the PDF")
        yield EmbeddedFile("appended", data[start:], "trailing-data")
