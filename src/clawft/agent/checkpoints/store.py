"""The checkpoints of one project: a database with its objects, the folders as last seen, and the changes of turns.

Objects are named by their digest and never changed, so every file content is kept once. A writer holds the write
lock of the database from the first look at the project to the end: two sessions take their turns.
"""

import hashlib
import os
import stat
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import msgspec
from msgspec import Struct

from clawft.config.sqlite import DatabaseConnection, DatabaseFile, open_sqlite, restore_hint, write_transaction
from clawft.errors import ClawftError
from clawft.files import check_version, real_path

FORMAT = 1
FOLDER, SUFFIX = "checkpoints", ".sqlite"
MAX_BYTES = 2 << 30  # of one project's database; above it the oldest changes go
MAX_CHANGES = 400
MAX_AGE_S = 30 * 86_400
_THINNED = 0.75  # of a bound that was reached, what is left
_WAIT_S = 30.0
_LOST = "what /undo could take back"
_PACKED_FROM = 256  # bytes of content that are worth compressing
_TABLES = """
CREATE TABLE objects (id INTEGER PRIMARY KEY, digest BLOB UNIQUE NOT NULL, packed INTEGER NOT NULL, content BLOB NOT NULL);
CREATE TABLE folders (path BLOB PRIMARY KEY, listing BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, session TEXT NOT NULL,
    turn INTEGER NOT NULL, owner TEXT NOT NULL, pid INTEGER NOT NULL, began REAL NOT NULL, ended REAL,
    broken INTEGER NOT NULL DEFAULT 0, before BLOB NOT NULL, after BLOB, gaps BLOB NOT NULL, paths BLOB);
CREATE INDEX changes_by_session ON changes (session, turn);
"""  # noqa: E501
_COLUMNS = "id, kind, session, turn, owner, pid, began, ended, broken, before, after, gaps, paths"


class TreeEntry(Struct, frozen=True, array_like=True, gc=False):
    """A name in a recorded folder: a file with its content, a link with its target, a folder with its tree.

    Without a digest nothing but the name, mode and size were recorded.
    """

    name: bytes
    mode: int
    size: int
    digest: bytes

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


# Name, mode, size, mtime and ctime in nanoseconds, inode: a file for which all are as before was not changed.
Signature = tuple[bytes, int, int, int, int, int]


class SeenFolder(Struct, frozen=True, array_like=True):
    """A folder as it was last seen: for each signature the digest of its object, and the tree of all."""

    signatures: list[Signature]
    digests: list[bytes]
    tree: bytes


class UncoveredPath(Struct, frozen=True, omit_defaults=True):
    """A path that is not recorded, and why."""

    path: str
    why: str
    size: int = 0


class Snapshot(Struct, frozen=True):
    """The tree of a whole project, and what is not in it."""

    tree: bytes
    gaps: tuple[UncoveredPath, ...] = ()


class Change(Struct, frozen=True):
    """A span in which one turn, or one rewind, changed the project: the trees before and after.

    While it lasts `ended` and `after` are None. One that was `broken` off ended at the next look that weft had at the
    project. A rewind changed no more than its `paths`.
    """

    id: int
    kind: str
    session: str
    turn: int
    owner: str
    pid: int
    began: float
    ended: float | None
    broken: bool
    before: bytes
    after: bytes | None
    gaps: tuple[UncoveredPath, ...] = ()
    paths: frozenset[bytes] | None = None


_LISTING = msgspec.msgpack.Decoder(SeenFolder)
_TREE = msgspec.msgpack.Decoder(tuple[TreeEntry, ...])
_GAPS = msgspec.msgpack.Decoder(tuple[UncoveredPath, ...])
_PATHS = msgspec.msgpack.Decoder(frozenset[bytes])
_encode = msgspec.msgpack.Encoder().encode


def store_path(user_dir: str, project: str) -> str:
    """Return where the checkpoints of a project are kept."""
    name = hashlib.sha256(os.fsencode(real_path(project))).hexdigest()[:24]
    return os.path.join(user_dir, FOLDER, name + SUFFIX)


def has_store(user_dir: str, project: str) -> bool:
    """Return whether anything was ever recorded of a project."""
    return os.path.exists(store_path(user_dir, project))


def open_store(user_dir: str, project: str) -> AbstractContextManager["CheckpointStore"]:
    """Open the checkpoints of a project and hold its write lock; what the block did is kept, or nothing of it.

    Raises: ClawftError.
    """
    return _open(store_path(user_dir, project))


@contextmanager
def _open(path: str) -> Iterator["CheckpointStore"]:
    file = DatabaseFile(path, "The store of checkpoints", "checkpoints-unusable", _LOST)
    with file.translated():
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    file.make()
    with file.translated():
        connection = open_sqlite(path, "journal_mode=WAL", "synchronous=NORMAL", wait_s=_WAIT_S)
        try:
            _prepare(connection, path)
            store = CheckpointStore(connection, path)
            with write_transaction(connection):
                yield store
            store.release_room()
        except (msgspec.MsgspecError, zlib.error) as error:
            raise _make_damaged_error(path, str(error)) from error
        finally:
            connection.close()


def _make_damaged_error(path: str, why: str) -> ClawftError:
    message = f"The store of checkpoints is damaged: {why}"
    return ClawftError("checkpoints-unusable", message, path=path, hint=restore_hint(_LOST))


def list_stores(user_dir: str) -> list[str]:
    """List the stores of all projects."""
    with suppress(FileNotFoundError, NotADirectoryError):
        folder = os.path.join(user_dir, FOLDER)
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(SUFFIX)]
    return []


def forget_session(user_dir: str, session: str) -> None:
    """Forget what a session changed, in all projects. Raises: ClawftError."""
    for path in list_stores(user_dir):
        with _open(path) as store:
            store.forget(session)


def remove_old_stores(user_dir: str) -> None:
    """Remove the stores of projects in which nothing was changed for long."""
    for path in list_stores(user_dir):
        with suppress(OSError):  # another process was faster
            if time.time() - os.stat(path).st_mtime > 2 * MAX_AGE_S:
                for suffix in ("", "-wal", "-shm"):
                    with suppress(FileNotFoundError):
                        os.unlink(path + suffix)


def _prepare(connection: DatabaseConnection, path: str) -> None:
    """Make the tables where there are none. Raises: ClawftError for the format of a newer weft."""
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    check_version(found, FORMAT, path)
    if found:
        return
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    connection.execute("VACUUM")
    with write_transaction(connection):
        if connection.execute("PRAGMA user_version").fetchone() == (0,):  # else another process was faster
            for statement in _TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={FORMAT}")


class CheckpointStore:
    """An open database in a write transaction. `open_store` makes it. Every method raises: DatabaseError."""

    def __init__(self, connection: DatabaseConnection, path: str) -> None:
        self.path = path
        self._connection = connection
        self._trees: dict[bytes, dict[bytes, TreeEntry]] = {}
        self._is_thinned = False

    def put(self, content: bytes) -> bytes:
        """Keep a content and return its digest."""
        digest = hashlib.sha256(content).digest()
        if self._connection.execute("SELECT 1 FROM objects WHERE digest = ?", (digest,)).fetchone() is None:
            packed = zlib.compress(content, 1) if len(content) >= _PACKED_FROM else content
            pays = len(packed) < 0.9 * len(content)
            row = (digest, pays, packed if pays else content)
            self._connection.execute("INSERT INTO objects (digest, packed, content) VALUES (?, ?, ?)", row)
        return digest

    def get(self, digest: bytes) -> bytes:
        """Return a content by its digest. Raises: ClawftError for one that is missing, or is not what was kept."""
        row = self._connection.execute("SELECT packed, content FROM objects WHERE digest = ?", (digest,)).fetchone()
        content: bytes = b"" if row is None else zlib.decompress(row[1]) if row[0] else row[1]
        if row is None or hashlib.sha256(content).digest() != digest:
            raise _make_damaged_error(self.path, "a content is missing, or another than was recorded")
        return content

    def put_tree(self, entries: Iterable[TreeEntry]) -> bytes:
        """Keep a folder and return its digest."""
        return self.put(_encode(tuple(entries)))

    def load_tree(self, digest: bytes) -> Mapping[bytes, TreeEntry]:
        """Load a folder: its entries by name. Raises: ClawftError."""
        known = self._trees.get(digest)
        if known is None:
            known = self._trees[digest] = {entry.name: entry for entry in _TREE.decode(self.get(digest))}
        return known

    def load_listings(self) -> dict[bytes, SeenFolder]:
        """Load all folders as they were last seen, by path."""
        rows = self._connection.execute("SELECT path, listing FROM folders")
        return {path: _LISTING.decode(listing) for path, listing in rows}

    def save_listings(self, changed: Mapping[bytes, SeenFolder], removed: Iterable[bytes]) -> None:
        """Note how folders were seen now."""
        rows = [(path, _encode(listing)) for path, listing in changed.items()]
        self._connection.executemany("INSERT OR REPLACE INTO folders VALUES (?, ?)", rows)
        self._connection.executemany("DELETE FROM folders WHERE path = ?", [(path,) for path in removed])

    def add_change(self, kind: str, session: str, turn: int, owner: str, seen: Snapshot) -> int:
        """Begin the span of a turn or a rewind, with the tree before it, and return its id."""
        row = (kind, session, turn, owner, os.getpid(), time.time(), seen.tree, _encode(seen.gaps))
        names = "kind, session, turn, owner, pid, began, before, gaps"
        cursor = self._connection.execute(f"INSERT INTO changes ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        return cursor.lastrowid or 0

    def take_over(self, change: int) -> None:
        """Note that this process is to end a change."""
        self._connection.execute("UPDATE changes SET pid = ? WHERE id = ?", (os.getpid(), change))

    def set_paths(self, change: int, paths: Iterable[bytes]) -> None:
        """Note what a rewind is about to change, at most."""
        row = (_encode(sorted(paths)), change)
        self._connection.execute("UPDATE changes SET paths = ? WHERE id = ?", row)

    def end_change(self, change: int, tree: bytes) -> None:
        """End a span, with the tree after it."""
        row = (time.time(), tree, change)
        self._connection.execute("UPDATE changes SET ended = ?, after = ?, broken = 0 WHERE id = ?", row)

    def close_broken(self, tree: bytes, owner: str, except_for: int = 0) -> None:
        """End each span that nobody will end: those of processes that are gone, and earlier ones of this owner."""
        for change in self.list_changes("ended IS NULL"):
            if (change.owner == owner or not _is_alive(change.pid)) and change.id != except_for:
                row = (time.time(), tree, change.id)
                self._connection.execute("UPDATE changes SET ended = ?, after = ?, broken = 1 WHERE id = ?", row)

    def remove_changes(self, changes: Iterable[int]) -> None:
        """Forget changes."""
        self._connection.executemany("DELETE FROM changes WHERE id = ?", [(change,) for change in changes])

    def forget(self, session: str) -> None:
        """Forget all changes of a session, and what only they needed."""
        if self._connection.execute("DELETE FROM changes WHERE session = ?", (session,)).rowcount:
            self._collect()

    def list_changes(self, condition: str, *values: object) -> list[Change]:
        """List changes, the oldest first."""
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM changes WHERE {condition} ORDER BY id", values)
        return [_make_change(*row) for row in rows]

    def thin(self) -> None:
        """Remove old changes where there are too many, too large or too old ones, and what only they needed."""
        (count,) = self._connection.execute("SELECT count(*) FROM changes").fetchone()
        too_old = (time.time() - MAX_AGE_S,)
        (surplus,) = self._connection.execute("SELECT count(*) FROM changes WHERE began < ?", too_old).fetchone()
        if count > MAX_CHANGES:
            surplus = max(surplus, count - int(_THINNED * MAX_CHANGES))
        while surplus or (count > 1 and self._used_bytes() > MAX_BYTES):
            surplus = surplus or max(1, count // 8)
            oldest = "SELECT id FROM changes ORDER BY id LIMIT ?"
            self._connection.execute(f"DELETE FROM changes WHERE id IN ({oldest})", (surplus,))
            self._collect()
            count, surplus = count - surplus, 0

    def _used_bytes(self) -> int:
        pages, free, size = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def _collect(self) -> None:
        """Remove the objects that no change and no listing needs any more."""
        rows = self._connection.execute("SELECT before FROM changes UNION SELECT after FROM changes")
        pending = [digest for (digest,) in rows if digest is not None]
        live = set(pending)
        for listing in self.load_listings().values():
            live.update(listing.digests)
            pending.append(listing.tree)
        while pending:
            tree = pending.pop()
            live.add(tree)
            for entry in self.load_tree(tree).values():
                if entry.digest and entry.is_folder and entry.digest not in live:
                    pending.append(entry.digest)
                live.add(entry.digest)
        self._connection.execute("CREATE TEMP TABLE live (digest BLOB PRIMARY KEY) WITHOUT ROWID")
        self._connection.executemany("INSERT INTO live VALUES (?)", [(digest,) for digest in live])
        self._connection.execute("DELETE FROM objects WHERE digest NOT IN (SELECT digest FROM live)")
        self._connection.execute("DROP TABLE live")
        self._is_thinned = True

    def release_room(self) -> None:
        """Give the room of removed objects back to the disk."""
        if self._is_thinned:
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _make_change(*row: Any) -> Change:
    facts: dict[str, Any] = dict(zip(_COLUMNS.split(", "), row, strict=True))
    paths = facts["paths"]
    facts |= {"gaps": _GAPS.decode(facts["gaps"]), "paths": None if paths is None else _PATHS.decode(paths)}
    return Change(**facts | {"broken": bool(facts["broken"])})


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
