"""The files of a folder or an archive, copied to a folder of ours: plain files, inside it, within bounds."""

import gzip
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import IO, Protocol

from clawft.discovery.listing import LEFT_OUT
from clawft.errors import ClawftError, Refused

__all__ = ["MAX_BYTES", "MAX_FILES", "unpack"]

MAX_FILES = 5_000
MAX_BYTES = 128 << 20
_MAX_NAME = 400
_MAX_HEADERS = 16 << 20  # of an archive, beside the files
_ZIP_END = 22 + (1 << 16)  # bytes: what ends a zip, and a comment
_CHUNK = 1 << 16
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Target:
    """The folder that files are put into, each once, as long as there is room."""

    def __init__(self, folder: str, source: str) -> None:
        self._folder = folder
        self._source = source
        self._files = 0
        self._bytes = 0

    def put(self, name: str, content: _Readable, *, executable: bool) -> None:
        """Write one file. Raises: ClawftError, OSError."""
        parts = self._split(name)
        if not LEFT_OUT.isdisjoint(parts):
            return  # no digest covers what is there
        self._files += 1
        if self._files > MAX_FILES:
            raise _refuse(self._source, f"It has more than {MAX_FILES} files")
        place = os.path.join(self._folder, *parts)
        try:
            os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
            descriptor = os.open(place, _NEW, 0o700 if executable else 0o600)
        except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
            raise _refuse(self._source, f"It has '{name}' twice") from error
        with open(descriptor, "wb") as file:
            while piece := content.read(_CHUNK):
                self._bytes += len(piece)
                if self._bytes > MAX_BYTES:
                    raise _refuse(self._source, f"It unpacks to more than {MAX_BYTES >> 20} MB")
                file.write(piece)

    def _split(self, name: str) -> list[str]:
        """The parts of a name that leads nowhere else. Raises: Refused."""
        plain = name.replace("\\", "/")
        parts = [part for part in plain.split("/") if part not in ("", ".")]
        outside = plain.startswith("/") or ".." in parts or plain[1:2] == ":" or "\0" in name
        if outside or not parts or len(name) > _MAX_NAME:
            raise _refuse(self._source, f"'{name[:80]}' would be unpacked outside the folder")
        return parts


def unpack(source: str, folder: str) -> None:
    """Put all files of a folder or an archive into an empty folder. Links and devices are refused.

    Raises: ClawftError, OSError.
    """
    target = _Target(folder, source)
    try:
        if os.path.isdir(source):
            _copy(source, target)
        else:
            with open(os.open(source, _READ), "rb") as file:
                _unpack(file, source, target)
    except FileNotFoundError as error:
        raise ClawftError("plugin-source", "There is no such folder or archive", path=source, hint=_HINT) from error
    except _BROKEN as error:
        raise ClawftError("plugin-source", f"The archive cannot be read: {error!s:.100}", path=source) from error


_HINT = "Give a folder, a .zip or a .tar.gz"
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, RuntimeError)


def _unpack(file: IO[bytes], source: str, target: _Target) -> None:
    """By content, whatever the name is. Raises: ClawftError, OSError, and all of _BROKEN."""
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_size > MAX_BYTES:
        raise _refuse(source, f"It has more than {MAX_BYTES >> 20} MB")
    start = file.read(512) if stat.S_ISREG(status.st_mode) else b""
    file.seek(0)
    if start.startswith(b"PK\x03\x04"):
        _unpack_zip(file, source, target)
    elif start.startswith(b"\x1f\x8b"):
        with gzip.open(file) as inner:
            _unpack_tar(inner, source, target)
    elif start[257:262] == b"ustar":
        _unpack_tar(file, source, target)
    else:
        raise ClawftError("plugin-source", "This is no folder and no archive of a plugin", path=source, hint=_HINT)


class _Bounded:
    """A stream that ends with an error where it goes on for ever: headers of a tar are read whole, however long."""

    def __init__(self, inner: _Readable, source: str) -> None:
        self._inner = inner
        self._source = source
        self._left = MAX_BYTES + _MAX_HEADERS

    def read(self, size: int, /) -> bytes:
        piece = self._inner.read(size)
        self._left -= len(piece)
        if self._left < 0:
            raise _refuse(self._source, f"It unpacks to more than {MAX_BYTES >> 20} MB")
        return piece


def _copy(source: str, target: _Target) -> None:
    for path, name, status in _walk(source, ""):
        if not stat.S_ISREG(status.st_mode):
            raise _refuse(source, f"'{name}' is a link or no file")
        with open(os.open(path, _READ), "rb") as file:
            target.put(name, file, executable=bool(status.st_mode & 0o111))


def _walk(folder: str, prefix: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """Everything below a folder but folders, links among it. Raises: OSError."""
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda one: one.name)
    for entry in listed:
        name = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in LEFT_OUT:
                yield from _walk(entry.path, f"{name}/")
        else:
            yield entry.path, name, entry.stat(follow_symlinks=False)


def _check_directory(file: IO[bytes], source: str) -> None:
    """A zip lists its files at its end, and the list is read whole, however long. Raises: Refused."""
    file.seek(max(0, os.fstat(file.fileno()).st_size - _ZIP_END))
    end = file.read()
    marks = [at for at in range(len(end)) if end.startswith(b"PK\x05\x06", at)]  # any may be taken for the last
    sizes = [int.from_bytes(end[at + 12 : at + 16], "little") for at in marks]
    if b"PK\x06\x07" in end or max(sizes, default=0) > _MAX_HEADERS:  # the one is for lists of more than 4 GB
        raise _refuse(source, f"It has more than {MAX_FILES} files")


def _unpack_zip(file: IO[bytes], source: str, target: _Target) -> None:
    _check_directory(file, source)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > 2 * MAX_FILES:
            raise _refuse(source, f"It has more than {MAX_FILES} files")
        for one in members:
            mode = one.external_attr >> 16
            if one.is_dir():
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise _refuse(source, f"'{one.filename[:80]}' is a link or no file")
            with archive.open(one) as content:
                target.put(one.filename, content, executable=bool(mode & 0o111))


def _unpack_tar(file: _Readable, source: str, target: _Target) -> None:
    bounded: IO[bytes] = _Bounded(file, source)  # type: ignore[assignment]  # a stream is only read
    with closing(tarfile.open(fileobj=bounded, mode="r|")) as archive:
        for number, one in enumerate(archive):
            if number > 2 * MAX_FILES:
                raise _refuse(source, f"It has more than {MAX_FILES} files")
            if one.isdir():
                continue
            content = archive.extractfile(one) if one.isreg() else None
            if content is None:
                raise _refuse(source, f"'{one.name[:80]}' is a link or no file")
            target.put(one.name, content, executable=bool(one.mode & 0o111))


def _refuse(source: str, message: str) -> Refused:
    return Refused("plugin-unsafe", message, path=source, hint="Nothing was installed")
