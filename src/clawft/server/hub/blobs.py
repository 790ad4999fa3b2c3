"""The bytes of a hub, kept under their sha256: files in a folder, or rows of the database that instances share."""

import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol

from clawft.errors import ClawftError, NotFound
from clawft.files import get_hint, replace_file, sync_folder
from clawft.server.hub.database import Execute, HubDatabase

_HASH = re.compile(r"[0-9a-f]{64}")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 256 * 1024
_ROW_PIECE = 1 << 20  # a server looks through all that comes before


class BlobStore(Protocol):
    """A store of bytes, each content once. Every method raises ClawftError."""

    def put(self, content: bytes) -> str:
        """Keep bytes; their sha256. They would survive a loss of power."""

    def put_within(self, content: bytes, execute: Execute) -> str:
        """Keep bytes as `put` does, within a transaction of the caller."""

    def get(self, sha256: str) -> bytes:
        """Raises: NotFound."""

    def pieces(self, sha256: str) -> Iterator[bytes]:
        """Yield the bytes in pieces, so that a slow reader does not hold it all in memory. Raises: NotFound."""

    def has(self, sha256: str, execute: Execute) -> bool:
        """Asked by the one who writes: while they do, nothing goes."""

    def path(self, sha256: str) -> str:
        """The file that holds them; '' where no file does."""

    def old(self, before: float) -> Iterator[str]:
        """Those that were put, for the last time, before a moment (seconds since 1970)."""

    def drop(self, sha256: str, before: float, execute: Execute) -> bool:
        """Take away one that nobody needs, unless it was put again; called by the one who writes."""


class FolderBlobs:
    """A file for each, in folders of 256. A file is complete as soon as it has its name."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def put(self, content: bytes) -> str:
        sha256 = hashlib.sha256(content).hexdigest()
        place = self._place(sha256)
        try:
            os.utime(place)  # the sweep leaves it
        except FileNotFoundError:
            self._write(place, content)
        except OSError as error:
            raise _failed(error, place) from error
        return sha256

    def put_within(self, content: bytes, execute: Execute) -> str:  # noqa: ARG002  (of the database)
        return self.put(content)

    def get(self, sha256: str) -> bytes:
        place = self._place(sha256)
        try:
            with open(os.open(place, _READ), "rb", buffering=0) as file:
                return file.read()
        except FileNotFoundError as error:
            raise _missing(sha256) from error
        except OSError as error:
            raise _failed(error, place) from error

    def pieces(self, sha256: str) -> Iterator[bytes]:
        place = self._place(sha256)
        try:
            with open(os.open(place, _READ), "rb", buffering=0) as file:
                while piece := file.read(_PIECE):
                    yield piece
        except FileNotFoundError as error:
            raise _missing(sha256) from error
        except OSError as error:
            raise _failed(error, place) from error

    def has(self, sha256: str, execute: Execute) -> bool:  # noqa: ARG002  (of the database)
        return os.path.isfile(self._place(sha256))

    def path(self, sha256: str) -> str:
        return self._place(sha256)

    def old(self, before: float) -> Iterator[str]:
        with suppress(FileNotFoundError), os.scandir(self._folder) as folders:
            for folder in sorted(folder.path for folder in folders if folder.is_dir(follow_symlinks=False)):
                with os.scandir(folder) as entries:
                    files = [entry for entry in entries if entry.stat(follow_symlinks=False).st_mtime < before]
                for file in files:
                    if file.name.startswith("."):  # of a process that was killed
                        with suppress(OSError):
                            os.unlink(file.path)
                    elif _HASH.fullmatch(file.name):
                        yield file.name

    def drop(self, sha256: str, before: float, execute: Execute) -> bool:  # noqa: ARG002  (of the database)
        place = self._place(sha256)
        with suppress(OSError):
            if os.stat(place).st_mtime < before:
                os.unlink(place)
                return True
        return False

    def _place(self, sha256: str) -> str:
        if not _HASH.fullmatch(sha256):
            raise _missing(sha256)
        return os.path.join(self._folder, sha256[:2], sha256)

    def _write(self, place: str, content: bytes) -> None:
        folder = os.path.dirname(place)
        try:
            if not os.path.isdir(folder):
                os.makedirs(self._folder, mode=0o700, exist_ok=True)
                os.makedirs(folder, mode=0o700, exist_ok=True)
                sync_folder(self._folder)
            replace_file(place, content)
        except OSError as error:
            raise _failed(error, place) from error


class DatabaseBlobs:
    """A row for each."""

    def __init__(self, database: HubDatabase) -> None:
        self._database = database

    def put(self, content: bytes) -> str:
        with self._database.write() as execute:
            return self.put_within(content, execute)

    def put_within(self, content: bytes, execute: Execute) -> str:
        sha256 = hashlib.sha256(content).hexdigest()
        now = int(time.time())
        if not execute("UPDATE hub_blob SET kept = ? WHERE sha256 = ? RETURNING 1", (now, sha256)):
            row = (sha256, len(content), now, content)
            execute("INSERT INTO hub_blob(sha256, size, kept, content) VALUES (?, ?, ?, ?)", row)
        return sha256

    def get(self, sha256: str) -> bytes:
        rows = self._database.read("SELECT content FROM hub_blob WHERE sha256 = ?", (sha256,))
        if not rows:
            raise _missing(sha256)
        return bytes(rows[0][0])

    def pieces(self, sha256: str) -> Iterator[bytes]:
        statement = "SELECT substr(content, ?, ?), size FROM hub_blob WHERE sha256 = ?"
        start, size = 0, 1
        while start < size:
            rows = self._database.read(statement, (start + 1, _ROW_PIECE, sha256))
            if not rows:
                raise _missing(sha256)
            piece, size = rows[0]
            yield bytes(piece)
            start += _ROW_PIECE

    def has(self, sha256: str, execute: Execute) -> bool:
        return bool(execute("SELECT 1 FROM hub_blob WHERE sha256 = ?", (sha256,)))

    def path(self, sha256: str) -> str:  # noqa: ARG002  (there are no files)
        return ""

    def old(self, before: float) -> Iterator[str]:
        for (sha256,) in self._database.read("SELECT sha256 FROM hub_blob WHERE kept < ?", (int(before),)):
            yield sha256

    def drop(self, sha256: str, before: float, execute: Execute) -> bool:
        values = (sha256, int(min(before, 1 << 62)))
        return bool(execute("DELETE FROM hub_blob WHERE sha256 = ? AND kept < ? RETURNING 1", values))


def _missing(sha256: str) -> NotFound:
    return NotFound("hub-not-found", f"The hub has no bytes with the sha256 '{sha256[:64]}'")


def _failed(error: OSError, place: str) -> ClawftError:
    message = f"The hub cannot keep or read bytes: {error.strerror or error}"
    return ClawftError("hub-blobs", message, path=place, hint=get_hint(error, place))
