"""The records of costs, counts and paces: tables in a SQLite file of this machine or in a shared database,
and the use of each skill that the ranking of the catalog reads.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import datetime
from itertools import chain, repeat
from threading import RLock
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from clawft.config.sqlite import (
    FAILURES,
    DatabaseConnection,
    DatabaseFile,
    get_database_hint,
    open_sqlite,
    write_transaction,
)
from clawft.errors import ClawftError
from clawft.files import check_version, is_there

R = TypeVar("R")
Row = tuple[Any, ...]

_SUBJECT = "The record of costs and use"
_LOST = "the costs and counts so far"
VERSION = 1  # of the tables of a file; 0 is what the first weft wrote, and the same
_WAIT_S = 10  # for another process that is writing
_PAUSES_S = (0.1, 0.25, 0.5, 1.0, 2.0)


class RecordsUnavailable(ClawftError):
    """The record cannot be used just now: a server that is away, a full disk, a lock. To try again later may help."""


class UsageRecords(Protocol):
    """The tables that many processes share. Values replace `?1`, `?2` and so on; every method raises ClawftError."""

    @property
    def prefix(self) -> str:
        """The prefix of the table names."""

    @property
    def patient(self) -> bool:
        """Return whether who uses it would rather wait than fail, as a run in the background does."""

    def prepare(self, *statements: str) -> None:
        """Create the tables that are missing, even while other processes do the same."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def transaction(self) -> AbstractContextManager[None]:
        """All of it or nothing. Nobody else has a row meanwhile that was written to here, even with what it held."""

    def now(self) -> datetime:
        """The day and the hour that hold for all who share these tables."""

    def clock(self) -> float:
        """Seconds since 1970, likewise; as exact as can be, and at any moment."""

    def close(self) -> None: ...


async def work_on(records: UsageRecords, work: Callable[[], R], tell: Callable[[ClawftError], None]) -> R:
    """Do something with records. With patience it is done aside, and again while they cannot be used; `tell` hears why.

    Work that was done just when a connection broke may be done twice.
    """
    if not records.patient:
        return work()
    from anyio import sleep, to_thread  # counts are read without it

    for pause_s in chain(_PAUSES_S, repeat(_PAUSES_S[-1])):
        try:
            return await to_thread.run_sync(work)
        except RecordsUnavailable as error:
            tell(error)
        await sleep(pause_s)
    raise AssertionError  # that has no end


class UsageDatabase:
    """The file of this machine, on one connection that one thread uses at a time."""

    prefix = ""

    def __init__(self, path: str, *, patient: bool = False) -> None:
        self.patient = patient
        self._file = DatabaseFile(path, _SUBJECT, "usage-file", _LOST, busy=self._explain_busy)
        self._lock = RLock()
        self._file.make()
        try:
            self._connection = open_sqlite(path, wait_s=_WAIT_S)
        except FAILURES as error:
            raise self._file.explain(error) from error
        try:
            ((version,),) = self.execute("PRAGMA user_version")
            check_version(version, VERSION, path)
            self.prepare("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL")
            if not version:
                self.execute(f"PRAGMA user_version={VERSION}")
        except ClawftError:
            self.close()
            raise

    def prepare(self, *statements: str) -> None:
        for statement in statements:
            self.execute(statement)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._alone() as connection:
            return connection.execute(statement, values).fetchall()

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._alone() as connection:
            connection.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._alone() as connection, write_transaction(connection):
            yield

    @contextmanager
    def _alone(self) -> Iterator[DatabaseConnection]:
        """The connection, for one thread at a time; its failures are raised as errors for a person."""
        with self._lock:
            try:
                yield self._connection
            except FAILURES as error:
                raise self._file.explain(error) from error

    def now(self) -> datetime:
        return datetime.now()

    def clock(self) -> float:
        return time.time()

    def close(self) -> None:
        self._connection.close()

    def _explain_busy(self, error: Exception) -> RecordsUnavailable:
        path = self._file.path
        hint = get_database_hint(error, path, _LOST)
        return RecordsUnavailable("usage-file", f"{_SUBJECT} cannot be used: {error}", path=path, hint=hint)


_TABLE = """CREATE TABLE IF NOT EXISTS skill(
    name TEXT PRIMARY KEY, offered INTEGER NOT NULL DEFAULT 0, loaded INTEGER NOT NULL DEFAULT 0,
    score REAL NOT NULL DEFAULT 0, last_loaded TEXT NOT NULL DEFAULT '')"""
_OFFERED = "INSERT INTO skill(name, offered) VALUES (?, 1) ON CONFLICT(name) DO UPDATE SET offered = offered + 1"
_LOADED = """INSERT INTO skill(name, loaded, score, last_loaded) VALUES (?1, 1, ?2, ?3) ON CONFLICT(name)
    DO UPDATE SET loaded = loaded + 1, score = score + ?2, last_loaded = ?3"""


class SkillUse(Struct, frozen=True):
    """One skill's record. `score` is the mean, 0 to 1, over the turns it was loaded in."""

    name: str
    offered: int = 0
    loaded: int = 0
    score: float = 0.0
    last_loaded: str = ""


class SkillStats:
    """Counts in one SQLite file."""

    def __init__(self, database: UsageDatabase, now: Callable[[], datetime]) -> None:
        self.now = now
        self.database = database
        database.prepare(_TABLE)

    def record(self, offered: Iterable[str], loaded: Iterable[str], score: float) -> None:
        """Count one turn."""
        at = self.now().isoformat(timespec="seconds")
        with self.database.transaction():
            self.database.execute_many(_OFFERED, [(name,) for name in offered])
            self.database.execute_many(_LOADED, [(name, score, at) for name in loaded])

    def load(self) -> Mapping[str, SkillUse]:
        """Every skill that was ever offered or loaded."""
        rows = self.database.execute("SELECT name, offered, loaded, score, last_loaded FROM skill")
        return {
            name: SkillUse(name, offered, loaded, round(score / loaded, 3) if loaded else 0.0, last)
            for name, offered, loaded, score, last in rows
        }


def load_uses(path: str) -> dict[str, SkillUse]:
    """Load how often skills were used, by name; empty before the first turn."""
    if not is_there(path):
        return {}
    with closing(UsageDatabase(path)) as database:
        return dict(SkillStats(database, datetime.now).load())
