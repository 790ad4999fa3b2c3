"""Disguises for case files: how a text is encoded inside another text, and packed into a file of some format."""

import base64
import bz2
import codecs
import gzip
import importlib.util
import io
import json
import lzma
import marshal
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

KEY = 0x2A
FILLER = "The quick brown fox jumps over the lazy dog and writes one more line of notes about it.\n"
_LOOKALIKE = str.maketrans("aceiopxysjdhAEOPCTXHKMB", "асеіорхуѕјԁһАЕОРСТХНКМВ")  # noqa: RUF001
_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU"
_PNG_END = b"\x00\x00\x00\x00IEND\xaeB`\x82"


def _letters(offset_lower: int, offset_upper: int, offset_digit: int = 0) -> Callable[[bytes], bytes]:
    """Letters of another block of Unicode that look or read the same."""

    def change(letter: str) -> str:
        if "a" <= letter <= "z":
            return chr(ord(letter) - 97 + offset_lower)
        if "A" <= letter <= "Z":
            return chr(ord(letter) - 65 + offset_upper)
        return chr(ord(letter) - 48 + offset_digit) if letter.isdigit() and offset_digit else letter

    return lambda data: "".join(map(change, data.decode())).encode()


def _joined(between: str, each: Callable[[int], str]) -> Callable[[bytes], bytes]:
    return lambda data: between.join(map(each, data)).encode()


def _between(mark: str) -> Callable[[bytes], bytes]:
    return lambda data: mark.join(data.decode()).encode()


def _selectors(data: bytes) -> bytes:
    """A byte as a variation selector: 16 in one block, 240 in another."""
    return "".join(chr(0xFE00 + byte if byte < 16 else 0xE0100 + byte - 16) for byte in data).encode()


def _bits(data: bytes) -> bytes:
    """A bit as one of two characters without width."""
    return "".join("\u200b\u200c"[int(bit)] for byte in data for bit in f"{byte:08b}").encode()


def _pieces(data: bytes, size: int = 5) -> bytes:
    text = data.decode()
    return ", ".join(json.dumps(text[at : at + size]) for at in range(0, len(text), size)).encode()


TEXT: dict[str, Callable[[bytes], bytes]] = {
    "b64": base64.b64encode,
    "b64url": base64.urlsafe_b64encode,
    "b32": base64.b32encode,
    "b85": base64.b85encode,
    "a85": base64.a85encode,
    "hex": lambda data: data.hex().encode(),
    "hexspace": lambda data: data.hex(" ").encode(),
    "hexesc": _joined("", lambda byte: f"\\x{byte:02x}"),
    "uniesc": _joined("", lambda byte: f"\\u{byte:04x}"),
    "octesc": _joined("", lambda byte: f"\\{byte:03o}"),
    "percent": _joined("", lambda byte: f"%{byte:02x}"),
    "entity": _joined("", lambda byte: f"&#{byte};"),
    "codes": _joined(", ", str),
    "chr": _joined("&", lambda byte: f"Chr({byte})"),
    "psc": _joined("+", lambda byte: f"[char]{byte}"),
    "binary": _joined(" ", lambda byte: f"{byte:08b}"),
    "minus3": lambda data: ", ".join(str(byte - 3) for byte in data).encode(),
    "xor": lambda data: bytes(byte ^ KEY for byte in data),
    "rot13": lambda data: codecs.encode(data.decode(), "rot13").encode(),
    "rev": lambda data: data[::-1],
    "gz": lambda data: gzip.compress(data, mtime=0),
    "zlib": zlib.compress,
    "deflate": lambda data: zlib.compress(data)[2:-4],
    "utf16": lambda data: data.decode().encode("utf-16-le"),
    "pieces": _pieces,
    "quotes": _between("''"),
    "slashes": _between("\\"),
    "spaced": _between(" "),
    "dotted": _between("."),
    "zwsp": _between("\u200b"),
    "shy": _between("\u00ad"),
    "zwbits": _bits,
    "tags": lambda data: "".join(chr(0xE0000 + byte) for byte in data).encode(),
    "selectors": _selectors,
    "homo": lambda data: data.decode().translate(_LOOKALIKE).encode(),
    "full": lambda data: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in data.decode()).encode(),
    "bold": _letters(0x1D41A, 0x1D400, 0x1D7CE),
    "script": _letters(0x1D4EA, 0x1D4D0),
    "circled": _letters(0x24D0, 0x24B6),
    "rlo": lambda data: f"\u202e{data.decode()[::-1]}\u202c".encode(),
}


def make_text(forms: list[str], text: str) -> str:
    """A text under some encodings, the first one first."""
    data = text.encode()
    for form in forms:
        data = TEXT[form](data)
    return data.decode("utf-8")


def make_file(path: Path, text: str, forms: str) -> None:
    """Write a file: plain, or packed as the forms say ("zip:run.sh gz" is a zip that holds run.sh, then gzipped)."""
    data = text.encode()
    for form in forms.split():
        name, _, argument = form.partition(":")
        if name == "link":
            path.symlink_to(text.strip())
            return
        data = FILE[name](data, argument)
    path.write_bytes(data)
    if data.startswith(b"#!"):
        path.chmod(0o755)


def _zip(data: bytes, member: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(member), data)
    return stream.getvalue()


def _locked(data: bytes, member: str) -> bytes:
    """A zip whose entry says that it asks for a password."""
    packed = bytearray(_zip(zlib.compress(data)[::-1], member))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(mark) + at] |= 1
    return bytes(packed)


def _tar(data: bytes, member: str, mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]  # the mode is a plain text
        entry = tarfile.TarInfo(member)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def _office(data: bytes, member: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(member or "word/document.xml", data)
    return stream.getvalue()


def _pyc(data: bytes, source_name: str) -> bytes:
    code = compile(data, source_name or "tool.py", "exec")
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def _pickle(data: bytes, _: str) -> bytes:
    """A pickle that calls os.system on the text when it is loaded."""
    return b"cposix\nsystem\n(S" + repr(data.decode().strip()).encode() + b"\ntR."


def _notebook(data: bytes, _: str) -> bytes:
    cell: dict[str, object] = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": data.decode(),
    }
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}).encode()


def _pad(data: bytes, size: str) -> bytes:
    return (FILLER * (int(size) // len(FILLER))).encode() + data


FILE: dict[str, Callable[[bytes, str], bytes]] = {
    "zip": _zip,
    "locked": _locked,
    "tar": _tar,
    "office": _office,
    "pyc": _pyc,
    "pickle": _pickle,
    "notebook": _notebook,
    "pad": _pad,
    "comments": lambda data, size: b"# " + b"note " * (int(size) // 5) + b"\n" + data,
    "newlines": lambda data, size: b"\n" * int(size) + data,
    "spaces": lambda data, size: b" " * int(size) + data,
    "gz": lambda data, _: gzip.compress(data, mtime=0),
    "bz2": lambda data, _: bz2.compress(data),
    "xz": lambda data, _: lzma.compress(data),
    "png": lambda data, _: _PNG + _PNG_END + data,
    "jpeg": lambda data, _: b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + data + b"\xff\xd9",
    "utf16": lambda data, _: data.decode().encode("utf-16"),
    "bom": lambda data, _: b"\xef\xbb\xbf" + data,
    "crlf": lambda data, _: data.replace(b"\n", b"\r\n"),
    "cr": lambda data, _: data.replace(b"\n", b"\r"),
    "nul": lambda data, _: data.replace(b"\n", b"\n# \0\n", 1),
    "oneline": lambda data, _: data.replace(b"\n", b"; "),
    "elf": lambda data, _: b"\x7fELF\x02\x01\x01" + bytes(57) + data,
}
