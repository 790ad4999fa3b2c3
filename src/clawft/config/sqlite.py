"""SQLite databases: make and open a file safely, write in transactions, and tell failures with what to do about them.

All that uses SQLite by itself uses it through this module.
"""

import errno
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from urllib.parse import quote

from clawft.errors import ClawftError
from clawft.files import create_file, get_hint

DatabaseConnection = sqlite3.Connection
DatabaseError = sqlite3.Error
FAILURES = (sqlite3.Error, OverflowError, OSError)
LIBRARY_VERSION = sqlite3.sqlite_version
IN_MEMORY = ":memory:"
# What SQLite says: its tables are not ours, the file is damaged or no database; or it is in use; or the system's error.
_DAMAGED = frozenset((sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_IN_USE = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))
_PASSING = _IN_USE | {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
# What another process, the disk or permissions cause: making the file anew would not help.
_OUTSIDE = _PASSING | {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM}
_SYSTEM = {
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
}


def open_sqlite(path: str, *pragmas: str, wait_s: float = 5.0, read_only: bool = False) -> DatabaseConnection:
    """Open an existing database, or one `IN_MEMORY`. It waits up to `wait_s` for others that write.

    Threads may use the connection, one at a time. It begins no transaction by itself. Raises: DatabaseError.
    """
    place = f"file:{quote(path)}?mode=ro" if read_only else path
    connection = sqlite3.connect(place, uri=read_only, timeout=wait_s, isolation_level=None, check_same_thread=False)
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def write_transaction(connection: DatabaseConnection) -> Iterator[None]:
    """Run the block as one write transaction: all of it or nothing. Raises: DatabaseError."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise


class DatabaseFile:
    """One database file, with the code and the words of its errors.

    `busy` makes the error for what may pass, as a lock or a full disk; `restore` is what to do about a damaged file.
    """

    def __init__(
        self,
        path: str,
        subject: str,
        code: str,
        lost: str,
        *,
        busy: Callable[[Exception], ClawftError] | None = None,
        restore: str = "",
    ) -> None:
        self.path = path
        self._subject = subject
        self._code = code
        self._lost = lost
        self._busy = busy
        self._restore = restore or restore_hint(lost)

    def make(self) -> None:
        """Make the file if it is not there. Raises: ClawftError, also for one that was cut off."""
        if _is_blank(self.path):
            message = f"{self._subject} is damaged: it is empty"
            raise ClawftError(self._code, message, path=self.path, hint=self._restore)
        with self.translated():
            _create(self.path)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise failures of the database in the block as errors for a person."""
        try:
            yield
        except FAILURES as error:
            raise self.explain(error) from error

    def explain(self, error: Exception) -> ClawftError:
        """Make the error for a person of one of the `FAILURES` of the database."""
        if isinstance(error, OSError):
            path = error.filename or self.path
            message = f"{self._subject} cannot be used: {error.strerror or error}"
            return ClawftError(self._code, message, path=path, hint=get_hint(error, path))
        if self._busy is not None and _code_of(error) in _PASSING:
            return self._busy(error)
        hint = self._restore if _code_of(error) in _DAMAGED else get_database_hint(error, self.path, self._lost)
        return ClawftError(self._code, f"{self._subject} cannot be used: {error}", path=self.path, hint=hint)


def restore_hint(lost: str) -> str:
    """Return what to do about a damaged database; `lost` is what is lost with it."""
    return f"Restore it from a backup; or move it away, with its -wal and -shm, and begin anew without {lost}"


def get_database_hint(error: BaseException, path: str, lost: str) -> str:
    """Return what the user can do about an SQLite error with a file; `lost` is what is lost with it."""
    code = _code_of(error)
    if code in _DAMAGED:
        return restore_hint(lost)
    if code in _IN_USE:
        return "Another program is using it: try again when it is done"
    if code == sqlite3.SQLITE_IOERR:  # what it says of most that the system refuses, a full disk too
        room = get_hint(OSError(errno.ENOSPC, ""), path)
        return f"{room}. If there is room, the disk fails: look at the system's log (dmesg)"
    known = _SYSTEM.get(code) or (errno.EISDIR if os.path.isdir(path) else errno.EACCES)
    return get_hint(OSError(known, os.strerror(known)), path)


def is_from_outside(error: DatabaseError) -> bool:
    """Return whether another process, the disk or permissions cause an error, rather than what the file holds."""
    return _code_of(error) in _OUTSIDE


def _code_of(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _is_blank(path: str) -> bool:
    """Return whether there is a file without a single byte, which is what is left of one that was cut off."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and not status.st_size


def _create(path: str) -> None:
    """Make an empty database that nobody else can read; never of 0 bytes: those are what is left of one that was cut
    off, even where another process just makes its own. Raises: OSError.

    An existing file is not even opened: closing a file gives up every lock that the process has on it, and SQLite,
    which keeps databases whole by such locks, does not notice.
    """
    if os.path.lexists(path):
        return
    with closing(open_sqlite(IN_MEMORY, "user_version=1", "user_version=0")) as memory:  # which writes the first page
        create_file(path, memory.serialize())
