"""A backup of a hub: one tar with every row and every byte, as they were at one moment, while the hub goes on.

It is the same for both databases, so that it also moves a hub from one to the other. The rows are lines of JSON. The
last member, the manifest, has the sha256 of each: without it, or with another, nothing is restored.
"""

import hashlib
import io
import os
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from clawft import __version__
from clawft.errors import ClawftError, Refused
from clawft.files import sync_folder
from clawft.hub.database import Execute, Row
from clawft.hub.store import HubStore
from clawft.hub.tables import COLUMNS, KEYS, SCHEMA

__all__ = ["BLOBS", "FORMAT", "MANIFEST", "TABLES", "Kept", "Manifest", "write_backup"]

FORMAT = "clawft.hub.backup.v1"
MANIFEST = "manifest.json"
BLOBS = "blobs/"
TABLES = "tables/"
_PAGE = 200  # rows that are read at once
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Tell = Callable[[int, int], None]  # how many blobs are done, of how many


class Kept(Struct, frozen=True):
    """One member of the tar."""

    sha256: str
    size: int


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """What a backup holds."""

    format: str
    schema: int
    weft: str
    created: int
    skills: int
    versions: int
    files: dict[str, Kept]


def write_backup(store: HubStore, path: str, *, force: bool = False, tell: Tell | None = None) -> Manifest:
    """Write all that a store holds into a new file. It is there whole, or not at all. Raises: ClawftError."""
    store.flush()
    if os.path.lexists(path) and not force:
        raise Refused("hub-backup-exists", "There is such a file already", path=path, hint="Name another, or --force")
    folder, name = os.path.split(os.path.abspath(path))
    partial = os.path.join(folder, f".{name}.{os.urandom(6).hex()}.new")
    try:
        descriptor = os.open(partial, _NEW, 0o600)
        try:
            with open(descriptor, "wb") as file:
                manifest = _Writer(file).write(store, tell)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(partial)
            raise
        sync_folder(folder)
    except OSError as error:
        raise ClawftError(
            "hub-backup", f"The backup cannot be written: {error.strerror or error}", path=path
        ) from error
    return manifest


class _Writer:
    """The tar that is being written."""

    def __init__(self, file: io.BufferedWriter) -> None:
        self._tar = tarfile.TarFile(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT)
        self._files: dict[str, Kept] = {}

    def write(self, store: HubStore, tell: Tell | None) -> Manifest:
        counts: dict[str, int] = {}
        with store.database.snapshot() as execute:
            for table in COLUMNS:
                counts[table] = 0
                for part, rows in enumerate(_read_rows(execute, table)):
                    counts[table] += len(rows)
                    lines = [msgspec.json.encode(row) + b"\n" for row in rows]
                    self._add(f"{TABLES}{table}/{part:06}.jsonl", b"".join(lines))
            used = execute("SELECT DISTINCT sha256 FROM hub_use ORDER BY sha256", ())
        # What a version uses is never taken away, so these are there however long this takes.
        for number, (sha256,) in enumerate(used, 1):
            self._add(f"{BLOBS}{sha256}", _read_blob(store, sha256))
            if tell is not None:
                tell(number, len(used))
        manifest = Manifest(
            format=FORMAT,
            schema=SCHEMA,
            weft=__version__,
            created=time.time_ns() // 1_000_000,
            skills=counts["hub_skill"],
            versions=counts["hub_version"],
            files=self._files,
        )
        self._put(MANIFEST, msgspec.json.encode(manifest))
        self._tar.close()
        return manifest

    def _add(self, name: str, content: bytes) -> None:
        self._files[name] = Kept(hashlib.sha256(content).hexdigest(), len(content))
        self._put(name, content)

    def _put(self, name: str, content: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(content), 0o600
        self._tar.addfile(member, io.BytesIO(content))


def _read_rows(execute: Execute, table: str) -> Iterator[list[Row]]:
    """Every row of a table, in the order of its key, some at a time."""
    columns, keys = ", ".join(COLUMNS[table]), KEYS[table]
    marks = ", ".join("?" * len(keys))
    places = [COLUMNS[table].index(key) for key in keys]
    order = ", ".join(keys)
    last: tuple[Any, ...] = ()
    while True:
        after = f"WHERE ({order}) > ({marks})" if last else ""
        rows = execute(f"SELECT {columns} FROM {table} {after} ORDER BY {order} LIMIT {_PAGE}", last)
        yield rows
        if len(rows) < _PAGE:
            return
        last = tuple(rows[-1][place] for place in places)


def _read_blob(store: HubStore, sha256: str) -> bytes:
    """Bytes that are what they were: a backup of damaged ones would only be found out when it is needed."""
    content = store.get_blob(sha256)
    if hashlib.sha256(content).hexdigest() != sha256:
        hint = "Restore an earlier backup, or publish it again"
        raise ClawftError("hub-damaged", "Bytes of the hub are not what was published", path=sha256, hint=hint)
    return content
