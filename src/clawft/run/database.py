"""Where costs, counts and paces are kept: a SQLite file of this machine, or a database that several machines share.

The file is opened for many processes at once. Whatever fails is told as an error of ours. What several share is in
`run/durable/shared.py`.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from typing import Any, Protocol, TypeVar

from clawft.errors import ClawftError

__all__ = ["Database", "Records", "RecordsAway", "work_on"]

R = TypeVar("R")
Row = tuple[Any, ...]

_WAIT_S = 10  # for another process that is writing
_AWAY_S = 30.0  # for a server that is being started again
_PAUSE_S = 0.25


class RecordsAway(ClawftError):
    """The database cannot be reached just now. To try again later may help."""


class Records(Protocol):
    """Tables that many processes use. Values stand for `?1`, `?2` and so on; every method raises ClawftError."""

    @property
    def prefix(self) -> str:
        """What the names of our tables begin with."""

    @property
    def remote(self) -> bool:
        """Whether a statement may take long: what waits for one then must not hold up others."""

    def prepare(self, *statements: str) -> None:
        """Make tables that are missing, whoever else is about to."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def transaction(self) -> AbstractContextManager[None]:
        """All of it or nothing. Nobody else has a row meanwhile that was written to here, even with what it held."""

    def now(self) -> datetime:
        """The day and the hour that hold for all who share these tables."""

    def clock(self) -> float:
        """Seconds since 1970, likewise; as exact as can be, and at any moment."""

    def close(self) -> None: ...


async def work_on(records: Records, work: Callable[[], R]) -> R:
    """Do something with records. On a server it is done aside, to the end, and again while that cannot be reached.

    So work that was done just when the connection broke may be done twice.
    """
    if not records.remote:
        return work()
    from anyio import current_time, sleep, to_thread  # counts are read without it

    deadline = current_time() + _AWAY_S
    while True:
        try:
            return await to_thread.run_sync(work)
        except RecordsAway:
            if current_time() > deadline:
                raise
        await sleep(_PAUSE_S)


class Database:
    """The file of this machine, on one connection."""

    prefix = ""
    remote = False

    def __init__(self, path: str) -> None:
        self._path = path
        with self._translated():
            self._connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        try:
            self.prepare("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL")
        except ClawftError:
            self.close()
            raise

    def prepare(self, *statements: str) -> None:
        for statement in statements:
            self.execute(statement)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._translated():
            return self._connection.execute(statement, values).fetchall()

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._translated():
            self._connection.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk has ended it already
                self._connection.execute("ROLLBACK")
            raise

    def now(self) -> datetime:
        return datetime.now()

    def clock(self) -> float:
        return time.time()

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
