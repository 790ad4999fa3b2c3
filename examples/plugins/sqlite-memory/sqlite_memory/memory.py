"""The memory itself. Every change is one transaction, so any number of processes may share the file."""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from clawft.contracts import MemoryResult, PluginError

from .search import find_ranked

__all__ = ["SqliteMemory"]

MAX_VALUE_BYTES = 64 * 1024


class SqliteMemory:
    """A `contracts.MemoryBackend`. Calls may come from several threads; they take turns."""

    name = "sqlite"

    def __init__(self, database: sqlite3.Connection, max_facts: int) -> None:
        self._database = database
        self._max_facts = max_facts
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def is_sound(self) -> bool:
        """Whether the file can be read."""
        try:
            with self._reading() as database:
                return database.execute("SELECT count(*) FROM fact WHERE id < 2").fetchone() is not None
        except PluginError:
            return False

    def store(self, key: str, value: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Keep a value; one that was there is replaced, and stays where it stands."""
        encoded = json.dumps(dict(metadata), ensure_ascii=False) if metadata else None
        with self._writing() as database:
            self._check_room(database, key)
            database.execute(
                "INSERT INTO fact(key, value, metadata) VALUES (?, ?, ?) ON CONFLICT(key) DO UPDATE SET"
                " value = excluded.value, metadata = excluded.metadata, changed = excluded.changed",
                (key, value, encoded),
            )

    def append(self, key: str, value: str) -> None:
        """Add a paragraph to a value, or begin one."""
        with self._writing() as database:
            self._check_room(database, key)
            row = database.execute("SELECT value FROM fact WHERE key = ?", (key,)).fetchone()
            joined = f"{row[0]}\n\n{value}" if row else value
            if len(joined.encode()) > MAX_VALUE_BYTES:
                hint = "Keep what matters, or spread it over several keys"
                raise PluginError(f"'{key}' would have more than {MAX_VALUE_BYTES} bytes", hint=hint)
            database.execute(
                "INSERT INTO fact(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET"
                " value = excluded.value, changed = excluded.changed",
                (key, joined),
            )

    def retrieve(self, key: str) -> str | None:
        """The value of exactly this key."""
        with self._reading() as database:
            row = database.execute("SELECT value FROM fact WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def search(self, query: str, limit: int) -> list[MemoryResult]:
        """What fits a query, best first."""
        with self._reading() as database:
            return [_load(database, identity, score) for identity, score in find_ranked(database, query, limit)]

    def delete(self, key: str) -> bool:
        """Forget a key; whether there was one."""
        with self._writing() as database:
            return database.execute("DELETE FROM fact WHERE key = ?", (key,)).rowcount > 0

    def list_keys(self, prefix: str = "") -> list[str]:
        """Every key that begins with `prefix`, the oldest first."""
        with self._reading() as database:
            rows = database.execute(
                "SELECT key FROM fact WHERE substr(key, 1, ?) = ? ORDER BY id", (len(prefix), prefix)
            )
            return [key for (key,) in rows]

    def _check_room(self, database: sqlite3.Connection, key: str) -> None:
        """Raises: PluginError for a new fact in a full memory."""
        if database.execute("SELECT 1 FROM fact WHERE key = ?", (key,)).fetchone():
            return
        held = database.execute("SELECT count(*) FROM fact").fetchone()[0]
        if held >= self._max_facts:
            raise PluginError(f"The memory is full: it holds {held} facts", hint="Forget some, or raise max_facts")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Raises: PluginError."""
        with self._lock:
            try:
                yield self._database
            except (sqlite3.Error, UnicodeError) as error:
                raise PluginError(f"The memory cannot be used: {error}") from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One change, whole or not at all; another process that writes is waited for. Raises: PluginError."""
        with self._reading() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:  # SQLite itself ends some that fail
                    database.execute("ROLLBACK")
                raise


def _load(database: sqlite3.Connection, identity: int, score: float) -> MemoryResult:
    key, value, metadata = database.execute(
        "SELECT key, value, metadata FROM fact WHERE id = ?", (identity,)
    ).fetchone()
    return MemoryResult(key, value, score, json.loads(metadata) if metadata else None)
