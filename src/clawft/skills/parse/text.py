"""Bytes to text: byte order marks, line ends and broken encodings, each said and none fatal but NUL."""

from msgspec import Struct

from clawft.errors import Diagnostic, Edit, Unreadable

__all__ = ["REENCODE", "Decoded", "decode_text", "encode_text"]

REENCODE = (Edit(0, 0, ""),)  # the fix for an encoding: write the same text again, as UTF-8

_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_NUL, _CR = 0, 13  # as numbers: Python looks for a byte twice as fast as for bytes
_MARKS = (*_UTF16, b"\xef\xbb\xbf")


class Decoded(Struct, frozen=True, gc=False):
    """A text with `\\n` line ends, and how it was written."""

    text: str
    crlf: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


def decode_text(data: bytes, path: str) -> Decoded:
    """Decode a file that should be UTF-8. Raises: Unreadable when it holds NUL bytes, so is not text."""
    if _NUL not in data and _CR not in data and not data.startswith(_MARKS):
        try:
            return Decoded(data.decode())
        except UnicodeDecodeError:
            pass
    return _decode_odd(data, path)


def encode_text(text: str, *, crlf: bool) -> bytes:
    """The bytes to write back: UTF-8 without a mark, with the line ends the file had."""
    return (text.replace("\n", "\r\n") if crlf else text).encode("utf-8", errors="replace")


def _decode_odd(data: bytes, path: str) -> Decoded:
    found: list[Diagnostic] = []
    encoding = _UTF16.get(data[:2])
    if encoding:
        found.append(
            Diagnostic(
                "utf-16",
                "warning",
                "The file is UTF-16; other clients expect UTF-8",
                path,
                1,
                "Save it as UTF-8",
                REENCODE,
            )
        )
        data = data[2:].decode(encoding, errors="replace").encode("utf-8", errors="replace")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise Unreadable(
            "not-text",
            "The file holds a NUL byte: it is not text",
            path=path,
            line=line,
            hint="Save it as plain UTF-8 text",
        )
    crlf = b"\r" in data
    if crlf:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        found.append(Diagnostic("crlf", "note", "Lines end in CR LF", path, 1))
    return Decoded(_decode_utf8(data, path, found), crlf, tuple(found))


def _decode_utf8(data: bytes, path: str, found: list[Diagnostic]) -> str:
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        found.append(
            Diagnostic(
                "bom",
                "note",
                "The file starts with a byte order mark",
                path,
                1,
                "Save it as UTF-8 without BOM",
                REENCODE,
            )
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found.append(
            Diagnostic(
                "invalid-utf8",
                "warning",
                "The file is not valid UTF-8; unreadable bytes became \ufffd",
                path,
                line,
                "Save it as UTF-8",
            )
        )
        return data.decode("utf-8", errors="replace")
