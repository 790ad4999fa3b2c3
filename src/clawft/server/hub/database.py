"""The hub's database interface, its SQLite implementation, and the tables with their migrations."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any, Literal, Protocol

from clawft.config.sqlite import DatabaseConnection, DatabaseFile, open_sqlite, restore_hint, write_transaction
from clawft.errors import ClawftError
from clawft.files import check_version

Row = tuple[Any, ...]
Execute = Callable[[str, Sequence[Any]], list[Row]]

_LOST = "the skills so far"
_RESTORE = restore_hint(_LOST).replace("backup;", "backup: weft hub restore FILE --force;")
_WAIT_S = 10.0  # for another process that is writing
_SETUP = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


class HubUnavailable(ClawftError):
    """The store cannot be used just now: a lock, a full disk, a server that is away. To try again later may help."""


class HubDatabase(Protocol):
    """Tables that threads use concurrently. Values replace each `?`; every method raises ClawftError."""

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
        self._file = DatabaseFile(
            path,
            "The hub's database",
            "hub-database",
            _LOST,
            busy=lambda error: HubUnavailable(
                "hub-busy", f"The hub's database cannot be used just now: {error}", path=path, hint="Try again"
            ),
            restore=_RESTORE,
        )
        self._alone = threading.Lock()
        self._idle: list[DatabaseConnection] = []
        self._file.make()
        with self._file.translated():
            self._writer = self._connect()

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._file.translated():
            try:
                connection = self._idle.pop()  # threads come and go, so none has one of its own
            except IndexError:
                connection = self._connect()
            try:
                return connection.execute(statement, values).fetchall()
            finally:
                self._idle.append(connection)

    @contextmanager
    def write(self) -> Iterator[Execute]:
        with self._alone, self._file.translated(), write_transaction(self._writer):
            yield lambda statement, values: self._writer.execute(statement, values).fetchall()

    @contextmanager
    def snapshot(self) -> Iterator[Execute]:
        with self._file.translated(), closing(open_sqlite(self._file.path, wait_s=_WAIT_S)) as connection:
            connection.execute("BEGIN")
            yield lambda statement, values: connection.execute(statement, values).fetchall()

    def close(self) -> None:
        self._writer.close()
        while self._idle:
            self._idle.pop().close()

    def _connect(self) -> DatabaseConnection:
        return open_sqlite(self._file.path, *_SETUP, wait_s=_WAIT_S)


SCHEMA = 1  # the newest; a change adds a step to _STEPS
_FIRST = (
    """CREATE TABLE hub_skill(id {serial}, owner TEXT NOT NULL, slug TEXT {bytes} NOT NULL, display_name TEXT NOT NULL,
    summary TEXT NOT NULL, created BIGINT NOT NULL, updated BIGINT NOT NULL, latest TEXT NOT NULL DEFAULT '',
    downloads BIGINT NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0, UNIQUE(slug, owner))""",
    "CREATE INDEX hub_skill_owner ON hub_skill(owner)",
    "CREATE INDEX hub_skill_name ON hub_skill(deleted, slug, id)",
    "CREATE INDEX hub_skill_updated ON hub_skill(deleted, updated, id)",
    "CREATE INDEX hub_skill_created ON hub_skill(deleted, created, id)",
    "CREATE INDEX hub_skill_downloads ON hub_skill(deleted, downloads, id)",
    """CREATE TABLE hub_version(id {serial}, skill BIGINT NOT NULL REFERENCES hub_skill(id), version TEXT NOT NULL,
    created BIGINT NOT NULL, changelog TEXT NOT NULL, publisher TEXT NOT NULL, files TEXT NOT NULL,
    bytes BIGINT NOT NULL, digest TEXT NOT NULL, fingerprint TEXT NOT NULL, archive TEXT NOT NULL,
    archive_size BIGINT NOT NULL, download TEXT NOT NULL, download_size BIGINT NOT NULL, verdict TEXT NOT NULL,
    reasons TEXT NOT NULL, engine TEXT NOT NULL, yanked TEXT NOT NULL DEFAULT '', front TEXT NOT NULL,
    dependencies TEXT NOT NULL, candidate INTEGER NOT NULL, bundle TEXT NOT NULL, UNIQUE(skill, version))""",
    "CREATE INDEX hub_version_fingerprint ON hub_version(skill, fingerprint)",
    "CREATE INDEX hub_version_bundle ON hub_version(skill, bundle)",
    """CREATE TABLE hub_tag(skill BIGINT NOT NULL REFERENCES hub_skill(id), tag TEXT NOT NULL, version TEXT NOT NULL,
    PRIMARY KEY(skill, tag))""",
    """CREATE TABLE hub_use(version BIGINT NOT NULL REFERENCES hub_version(id), sha256 TEXT NOT NULL,
    PRIMARY KEY(version, sha256))""",
    "CREATE INDEX hub_use_sha256 ON hub_use(sha256)",
    """CREATE TABLE hub_token(id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, scopes TEXT NOT NULL,
    label TEXT NOT NULL, created BIGINT NOT NULL, expires BIGINT NOT NULL DEFAULT 0, revoked BIGINT NOT NULL DEFAULT 0,
    used BIGINT NOT NULL DEFAULT 0)""",
)
_BYTES = {"sqlite": "", "postgres": 'COLLATE "C"'}  # in the order of bytes, wherever the server stands
_SERIAL = {"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "postgres": "BIGSERIAL PRIMARY KEY"}
_ONLY = {
    "sqlite": ("CREATE VIRTUAL TABLE hub_text USING fts5(name, summary, tags, tokenize='porter unicode61')",),
    "postgres": (
        "CREATE TABLE hub_text(skill BIGINT PRIMARY KEY, words tsvector NOT NULL)",
        "CREATE INDEX hub_text_words ON hub_text USING gin(words)",
        """CREATE TABLE hub_blob(sha256 TEXT PRIMARY KEY, size BIGINT NOT NULL, kept BIGINT NOT NULL,
        content BYTEA NOT NULL)""",
    ),
}


def prepare_tables(database: HubDatabase) -> None:
    """Create missing tables and migrate older ones; safe when several processes do so at once.

    Raises: ClawftError.
    """
    with database.write() as execute:
        execute("CREATE TABLE IF NOT EXISTS hub_meta(key TEXT PRIMARY KEY, value TEXT NOT NULL)", ())
        found = execute("SELECT value FROM hub_meta WHERE key = 'schema'", ())
        schema = int(found[0][0]) if found else 0
        check_version(schema, SCHEMA, "", "The hub's database")
        for step in _STEPS[schema:]:
            step(execute, database.dialect)
        if schema < SCHEMA:
            execute("DELETE FROM hub_meta WHERE key = 'schema'", ())
            execute("INSERT INTO hub_meta(key, value) VALUES ('schema', ?)", (str(SCHEMA),))


def _make_first(execute: Execute, dialect: Literal["sqlite", "postgres"]) -> None:
    for statement in (*_FIRST, *_ONLY[dialect]):
        execute(statement.replace("{serial}", _SERIAL[dialect]).replace("{bytes}", _BYTES[dialect]), ())


_STEPS = (_make_first,)  # what makes each version out of the one before
