"""A hub out of a backup: checked whole before anything is replaced, and then put into place at once."""

import fcntl
import hashlib
import os
import re
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import msgspec

from clawft.errors import ClawftError, Refused
from clawft.hub.backup import BLOBS, FORMAT, MANIFEST, TABLES, Kept, Manifest
from clawft.hub.database import Execute
from clawft.hub.rows import find_needed, parse_row
from clawft.hub.store import DATABASE, LOCK, HubStore
from clawft.hub.tables import COLUMNS, SCHEMA, empty_tables, set_counters
from clawft.hub.writing import describe_skill
from clawft.packing.place import NEW, exchange, remove_folder

__all__ = ["check_backup", "restore_folder", "restore_shared"]

MAX_MEMBER = 512 << 20
_FRESH = re.compile(re.escape(NEW) + "[0-9a-f]{16}")  # a folder that a backup is put into first
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def check_backup(path: str) -> Manifest:
    """What a backup holds, every byte of which was looked at. Raises: Refused where anything is not as it was."""
    with _open(path) as archive:
        found: dict[str, Kept] = {}
        manifest: Manifest | None = None
        needed = set[str]()
        for name, content in _members(archive):
            if manifest is not None or name in found:
                raise _damaged(path, f"it goes on with '{name[:80]}'")
            if name == MANIFEST:
                manifest = _read_manifest(content, path)
                continue
            found[name] = Kept(hashlib.sha256(content).hexdigest(), len(content))
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
                exchange(fresh, folder)
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
        if any(execute(f"SELECT 1 FROM {table} LIMIT 1", ()) for table in COLUMNS):
            if not force:
                raise _not_empty("The database has a hub already")
            empty_tables(execute)
        _fill(path, store, execute)
        set_counters(execute)
    return manifest


def _fill(path: str, store: HubStore, execute: Execute) -> None:
    """Every row and every byte of a backup that was checked. Raises: ClawftError."""
    with _open(path) as archive:
        for name, content in _members(archive):
            if name.startswith(BLOBS):
                if store.blobs.put_within(content, execute) != name.removeprefix(BLOBS):
                    raise _damaged(path, "it changed meanwhile")
            elif table := _table_of(name):
                columns = COLUMNS[table]
                statement = f"INSERT INTO {table}({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
                for line in content.splitlines():
                    execute(statement, parse_row(table, line))
    for (skill,) in execute("SELECT id FROM hub_skill", ()):
        describe_skill(execute, store.database.dialect, skill)


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
    return table if f"{folder}/" == TABLES and table in COLUMNS else ""


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
    """While nobody has the store open. Raises: Refused where somebody has."""
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
        left = [one.path for one in entries if _FRESH.fullmatch(one.name) and one.is_dir(follow_symlinks=False)]
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
