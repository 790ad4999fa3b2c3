"""Backups of a hub: one consistent tar, checked row by row and restored in one step."""

import fcntl
import hashlib
import io
import os
import re
import tarfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from clawft import __version__
from clawft.errors import ClawftError, Refused
from clawft.files import NEW, exchange_folders, remove_folder, sync_folder
from clawft.messages import ReportProgress
from clawft.server.hub.database import SCHEMA, Execute, Row
from clawft.server.hub.model import HubFile
from clawft.server.hub.queries import update_search_words
from clawft.server.hub.store import DATABASE, LOCK, HubStore

FORMAT = "clawft.hub.backup.v1"
MANIFEST = "manifest.json"
BLOBS = "blobs/"
TABLES = "tables/"
_PAGE = 200  # rows that are read at once
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


_Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
_Moment = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]  # the last day that there is a name for
_Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_Name = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9._-]*$", max_length=96)]


class _Row(Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """The fields are the columns, in their order."""


class _Skill(_Row, frozen=True):
    id: _Number
    owner: _Name
    slug: _Name
    display_name: str
    summary: str
    created: _Moment
    updated: _Moment
    latest: str
    downloads: _Number
    deleted: Literal[0, 1]


class _Version(_Row, frozen=True):
    id: _Number
    skill: _Number
    version: str
    created: _Moment
    changelog: str
    publisher: str
    files: str
    bytes: _Number
    digest: str
    fingerprint: str
    archive: _Hash
    archive_size: _Number
    download: _Hash
    download_size: _Number
    verdict: Literal["clean", "suspicious", "malicious"]
    reasons: str
    engine: str
    yanked: str
    front: str
    dependencies: str
    candidate: _Number
    bundle: str


class _Tag(_Row, frozen=True):
    skill: _Number
    tag: str
    version: str


class _Use(_Row, frozen=True):
    version: _Number
    sha256: _Hash


class _Token(_Row, frozen=True):
    id: str
    hash: _Hash
    owner: _Name
    scopes: str
    label: str
    created: _Moment
    expires: _Number
    revoked: _Number
    used: _Number


# What is backed up, in the order that tables may be filled; what is searched is made of it.
_KINDS = {"hub_skill": _Skill, "hub_version": _Version, "hub_tag": _Tag, "hub_use": _Use, "hub_token": _Token}
_KEYS = {"hub_tag": ("skill", "tag"), "hub_use": ("version", "sha256")}  # all others have an id
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {name: msgspec.json.Decoder(kind) for name, kind in _KINDS.items()}
_FILES = msgspec.json.Decoder(tuple[HubFile, ...])
_NAMES = msgspec.json.Decoder(tuple[str, ...])
_FRONT = msgspec.json.Decoder(dict[str, Any])


class BackupMember(Struct, frozen=True):
    """One member of the tar."""

    sha256: str
    size: int


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a backup."""

    format: str
    schema: int
    weft: str
    created: int
    skills: int
    versions: int
    files: dict[str, BackupMember]


def write_backup(store: HubStore, path: str, *, force: bool = False, tell: ReportProgress | None = None) -> Manifest:
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
        self._files: dict[str, BackupMember] = {}

    def write(self, store: HubStore, tell: ReportProgress | None) -> Manifest:
        counts: dict[str, int] = {}
        with store.database.snapshot() as execute:
            for table in _KINDS:
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
        self._files[name] = BackupMember(hashlib.sha256(content).hexdigest(), len(content))
        self._put(name, content)

    def _put(self, name: str, content: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(content), 0o600
        self._tar.addfile(member, io.BytesIO(content))


def _read_rows(execute: Execute, table: str) -> Iterator[list[Row]]:
    """Every row of a table, in the order of its key, some at a time."""
    fields, keys = _KINDS[table].__struct_fields__, _KEYS.get(table, ("id",))
    columns = ", ".join(fields)
    marks = ", ".join("?" * len(keys))
    places = [fields.index(key) for key in keys]
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
    content = store.blobs.get(sha256)
    if hashlib.sha256(content).hexdigest() != sha256:
        hint = "Restore an earlier backup, or publish it again"
        raise ClawftError("hub-damaged", "Bytes of the hub are not what was published", path=sha256, hint=hint)
    return content


def find_needed(table: str, line: bytes) -> set[str]:
    """The hashes of bytes that a row needs. Raises: ValueError where it is none."""
    row = _DECODERS[table].decode(line)
    if isinstance(row, _Use):
        return {row.sha256}
    if not isinstance(row, _Version):
        return set()
    _NAMES.decode(row.reasons)
    _NAMES.decode(row.dependencies)
    _FRONT.decode(row.front)
    return {row.archive, row.download, *(file.sha256 for file in _FILES.decode(row.files))}


MAX_MEMBER = 512 << 20
_FRESH = re.compile(re.escape(NEW) + "[0-9a-f]{16}")  # a folder that a backup is put into first
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def check_backup(path: str) -> Manifest:
    """Check every byte of a backup, and return its manifest. Raises: Refused where anything was changed."""
    with _open(path) as archive:
        found: dict[str, BackupMember] = {}
        manifest: Manifest | None = None
        needed = set[str]()
        for name, content in _members(archive):
            if manifest is not None or name in found:
                raise _damaged(path, f"it goes on with '{name[:80]}'")
            if name == MANIFEST:
                manifest = _read_manifest(content, path)
                continue
            found[name] = BackupMember(hashlib.sha256(content).hexdigest(), len(content))
            if name.startswith(BLOBS) and name != BLOBS + found[name].sha256:
                raise _damaged(path, f"'{name[:80]}' is not what it says")
            if table := _table_of(name):
                needed.update(*(find_needed(table, line) for line in content.splitlines()))
    if manifest is None:
        raise _damaged(path, "it has no end")
    if manifest.files != found:
        raise _damaged(path, "it does not hold what its list says")
    if needed - {name.removeprefix(BLOBS) for name in found}:
        raise _damaged(path, "something that is needed is missing")
    return manifest


def restore_folder(path: str, folder: str, *, force: bool = False) -> Manifest:
    """Put a backup into a folder. What was there before is replaced at once, and only with `force`.

    Raises: ClawftError.
    """
    manifest = check_backup(path)
    folder = os.path.abspath(folder)
    parent = os.path.dirname(folder)
    fresh = os.path.join(parent, f"{NEW}{os.urandom(8).hex()}")
    with ExitStack() as stack:
        if os.path.lexists(folder):
            _check_replaceable(folder, force=force)
            stack.enter_context(_alone(folder))
        try:
            os.makedirs(parent, exist_ok=True)
            _sweep(parent)
            stack.callback(_clear, fresh)
            store = HubStore.open_folder(fresh)
            try:
                with store.database.write() as execute:
                    _fill(path, store, execute)
            finally:
                store.close()
            if os.path.lexists(folder):
                exchange_folders(fresh, folder)
            else:
                os.rename(fresh, folder)
        except OSError as error:
            message = f"The backup cannot be put there: {error.strerror or error}"
            hint = "Let hub.folder be a folder below a mounted one, not that itself" if os.path.ismount(folder) else ""
            raise ClawftError("hub-restore", message, path=folder, hint=hint) from error
    return manifest


def restore_shared(path: str, store: HubStore, *, force: bool = False) -> Manifest:
    """Put a backup into the database that instances share, in one transaction. Raises: ClawftError."""
    manifest = check_backup(path)
    with store.database.write() as execute:
        if any(execute(f"SELECT 1 FROM {table} LIMIT 1", ()) for table in _KINDS):
            if not force:
                raise _not_empty("The database has a hub already")
            for table in (*reversed(_KINDS), "hub_text", "hub_blob"):
                execute(f"DELETE FROM {table}", ())
        _fill(path, store, execute)
        for table in ("hub_skill", "hub_version"):  # it counts on from the rows that came with their numbers
            highest = f"(SELECT coalesce(max(id), 0) + 1 FROM {table})"
            execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {highest}, false)", ())
    return manifest


def _fill(path: str, store: HubStore, execute: Execute) -> None:
    """Every row and every byte of a backup that was checked. Raises: ClawftError."""
    with _open(path) as archive:
        for name, content in _members(archive):
            if name.startswith(BLOBS):
                if store.blobs.put_within(content, execute) != name.removeprefix(BLOBS):
                    raise _damaged(path, "it changed meanwhile")
            elif table := _table_of(name):
                columns = _KINDS[table].__struct_fields__
                statement = f"INSERT INTO {table}({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
                for line in content.splitlines():
                    execute(statement, msgspec.structs.astuple(_DECODERS[table].decode(line)))
    for (skill,) in execute("SELECT id FROM hub_skill", ()):
        update_search_words(execute, store.database.dialect, skill)


@contextmanager
def _open(path: str) -> Iterator[tarfile.TarFile]:
    try:
        with open(os.open(path, _READ), "rb") as file, tarfile.open(fileobj=file, mode="r:") as archive:
            yield archive
    except FileNotFoundError as error:
        raise ClawftError("hub-backup", "There is no such backup", path=path) from error
    except (tarfile.TarError, EOFError, ValueError, msgspec.MsgspecError) as error:
        raise _damaged(path, f"{error!s:.100}") from error
    except OSError as error:
        raise ClawftError("hub-backup", f"It cannot be read: {error.strerror or error}", path=path) from error


def _members(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    """Names and contents, in order. Raises: TarError, ValueError."""
    for member in archive:
        is_known = member.name == MANIFEST or member.name.startswith(BLOBS) or _table_of(member.name)
        content = archive.extractfile(member) if member.isreg() and is_known else None
        if content is None or member.size > MAX_MEMBER:
            raise ValueError(f"'{member.name[:80]}' is no part of a backup")
        read = content.read()
        if len(read) != member.size:
            raise ValueError("it ends too soon")
        yield member.name, read


def _read_manifest(content: bytes, path: str) -> Manifest:
    manifest = msgspec.json.decode(content, type=Manifest)
    if manifest.format != FORMAT or manifest.schema > SCHEMA:
        message = f"The backup is of another version of weft: {manifest.weft[:40]}"
        raise ClawftError("hub-newer", message, path=path, hint="Use that version, or a newer one")
    return manifest


def _table_of(name: str) -> str:
    """The table whose rows a member has; '' if it has none."""
    folder, _, table = os.path.dirname(name).rpartition("/")
    return table if f"{folder}/" == TABLES and table in _KINDS else ""


def _check_replaceable(folder: str, *, force: bool) -> None:
    """Raises: Refused."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        raise Refused("hub-restore", "This is no folder that could be replaced", path=folder)
    listed = os.listdir(folder)
    if listed and not force:
        raise _not_empty("There is something in the hub's folder already", folder)
    if listed and DATABASE not in listed:
        raise Refused("hub-restore", "There is something in this folder, and it is no hub", path=folder)


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Hold the store's lock, so that no other process has it open. Raises: Refused where one has."""
    descriptor = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Refused("hub-running", "The hub is in use", path=folder, hint="Stop weft hub serve first") from error
        yield
    finally:
        os.close(descriptor)


def _sweep(parent: str) -> None:
    """Take away what restores left that were killed. Raises: OSError."""
    with os.scandir(parent) as entries:
        left = [entry.path for entry in entries if _FRESH.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
    for folder in left:
        with suppress(Refused, FileNotFoundError), _alone(folder):  # another one may be at it
            _clear(folder)


def _clear(folder: str) -> None:
    with suppress(OSError):
        remove_folder(folder)


def _not_empty(message: str, path: str = "") -> Refused:
    return Refused("hub-not-empty", message, path=path, hint="Make a backup of it, then pass --force to replace it")


def _damaged(path: str, reason: str) -> Refused:
    return Refused("hub-backup-damaged", f"The backup is damaged: {reason}", path=path, hint="Nothing was changed")
