"""The SQLite file of costs and counts: opened for many processes at once, and its failures told as errors of ours."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from clawft.errors import ClawftError

__all__ = ["Database"]

_WAIT_S = 10  # for another process that is writing


class Database:
    """One connection. Every method raises a ClawftError where the file cannot be used."""

    def __init__(self, path: str, *tables: str) -> None:
        self._path = path
        with self._translated():
            self._connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
            try:
                for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", *tables):
                    self._connection.execute(statement)
            except sqlite3.Error:
                self._connection.close()
                raise

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        with self._translated():
            return self._connection.execute(statement, values)

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._translated():
            self._connection.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing; nobody else writes meanwhile."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk has ended it already
                self._connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OverflowError) as error:
            message = f"The record of costs and use cannot be used: {error}"
            hint = "Try again; if it stays so, move the file away, and counting starts anew"
            raise ClawftError("usage-file", message, path=self._path, hint=hint) from error
