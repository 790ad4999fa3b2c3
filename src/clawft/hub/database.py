"""Where a hub keeps its rows: a SQLite file here; several instances share a PostgreSQL (`hub/postgres.py`).

Rows are read without a lock. There is one writer at a time, whatever the database: what it reads stays so until it is
done, and that makes a version immutable and a quota exact.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Literal, Protocol

from clawft.errors import ClawftError
from clawft.files import create_database, get_database_hint, get_hint, is_blank, restore_hint

__all__ = ["Database", "Execute", "HubAway", "Row", "SqliteDatabase"]

Row = tuple[Any, ...]
Execute = Callable[[str, Sequence[Any]], list[Row]]

_LOST = "the skills so far"
_RESTORE = restore_hint(_LOST).replace("backup;", "backup: weft hub restore FILE --force;")
_WAIT_S = 10.0  # for another process that is writing
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_SETUP = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON")


class HubAway(ClawftError):
    """The store cannot be used just now: a lock, a full disk, a server that is away. To try again later may help."""


class Database(Protocol):
    """Tables that threads use side by side. Values stand for `?`; every method raises ClawftError."""

    @property
    def dialect(self) -> Literal["sqlite", "postgres"]: ...

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def write(self) -> AbstractContextManager[Execute]:
        """All of it or nothing, and nobody else writes meanwhile."""

    def snapshot(self) -> AbstractContextManager[Execute]:
        """To read everything as it is at one moment, while others go on."""

    def close(self) -> None: ...


class SqliteDatabase:
    """A file. Who reads takes a connection and gives it back; all share the one that writes."""

    dialect: Literal["sqlite"] = "sqlite"

    def __init__(self, path: str) -> None:
        """Raises: ClawftError."""
        self._path = path
        self._alone = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        if is_blank(path):
            raise ClawftError("hub-database", "The hub's database is damaged: it is empty", path=path, hint=_RESTORE)
        with self._translated():
            create_database(path)
            self._writer = self._connect()

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        try:
            connection = self._idle.pop()  # threads come and go, so none has one of its own
        except IndexError:
            with self._translated():
                connection = self._connect()
        try:
            return connection.execute(statement, values).fetchall()
        except (sqlite3.Error, OverflowError) as error:
            raise _translate(error, self._path) from error
        finally:
            self._idle.append(connection)

    @contextmanager
    def write(self) -> Iterator[Execute]:
        with self._alone, self._translated():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._execute
                self._writer.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has ended it already
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[Execute]:
        with self._translated():
            connection = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None)
            try:
                connection.execute("BEGIN")
                yield lambda statement, values: connection.execute(statement, values).fetchall()
            finally:
                connection.close()

    def close(self) -> None:
        self._writer.close()
        while self._idle:
            self._idle.pop().close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        try:
            for statement in _SETUP:
                connection.execute(statement)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._writer.execute(statement, values).fetchall()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OverflowError) as error:
            raise _translate(error, self._path) from error
        except OSError as error:
            message = f"The hub's database cannot be opened: {error.strerror or error}"
            path = error.filename or self._path
            raise ClawftError("hub-database", message, path=path, hint=get_hint(error, path)) from error


def _translate(error: Exception, path: str) -> ClawftError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _PASSING:
        return HubAway("hub-busy", f"The hub's database cannot be used just now: {error}", path=path, hint="Try again")
    hint = _RESTORE if code in (11, 26) else get_database_hint(error, path, _LOST)
    return ClawftError("hub-database", f"The hub's database cannot be used: {error}", path=path, hint=hint)
