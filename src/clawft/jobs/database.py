"""The database of runs: a file in the user folder, or PostgreSQL for several machines; and what its failures mean.

SQLite writes each commit through to the disk (`synchronous=FULL`): a step that was said to be recorded is.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from clawft.config.runs import RunsSettings
from clawft.errors import ClawftError
from clawft.files import check_version, create_database, get_database_hint, get_hint, is_blank, restore_hint
from clawft.run.durable import file_path
from clawft.run.durable.tables import FORMAT, METADATA, VERSION

__all__ = [
    "Stored",
    "check_tables",
    "describe",
    "identify",
    "insert_new",
    "is_away",
    "is_passing",
    "make_tables",
    "make_url",
    "open_engine",
    "translated",
]

_LOST = "the runs and jobs so far"
_BUSY_MS = 30_000
_CONNECT_S = 10
# A worker that is stopped in the middle of a transaction loses it, so that the others have its rows in time.
_OPTIONS = "-c idle_in_transaction_session_timeout=3s"
_FULL = ("database or disk is full", "No space left on device", "disk I/O error", "could not extend file")
_LASTING = (sa.exc.DataError, sa.exc.IntegrityError, sa.exc.ProgrammingError)
_OTHER_TABLES = ("no such table", "no such column", "has no column")
_LOCKED = ("database is locked", "database table is locked")
_REFUSED = ("FATAL:", "password")  # the server answered, or wants what it was not given
_NOT_YET = ("starting up", "shutting down", "recovery", "not yet accepting", "too many clients", "reserved for")
_AGAIN_S = 0.02
_POOL = 8


def make_url(settings: RunsSettings, user_dir: str, environ: Mapping[str, str]) -> sa.URL:
    """Where runs are kept. Raises: ClawftError for an address that cannot be meant."""
    if not settings.database:
        return sa.URL.create("sqlite", database=file_path(user_dir))
    try:
        url = sa.make_url(settings.database)
    except (SQLAlchemyError, ValueError) as error:
        raise _unusable() from error
    if url.get_backend_name() == "sqlite" and os.path.isabs(url.database or ""):  # wherever a program is started
        return url
    if url.get_backend_name() not in ("postgresql", "postgres") or not url.database:
        raise _unusable()
    password = settings.database_password.resolve(environ) if settings.database_password else ""
    url = url.set(drivername="postgresql+psycopg")
    return url.set(password=password) if password else url


def _unusable() -> ClawftError:
    message = "runs.database is no address of a database that can be used"  # nor is it shown: it may hold a password
    return ClawftError("runs-database", message, hint="Write postgresql://user@host/name, or leave it out for a file")


def open_engine(url: sa.URL) -> sa.Engine:
    """Connections to the database, with our tables in it. Raises: ClawftError."""
    is_file = url.get_backend_name() == "sqlite"
    with translated(url):
        engine = _open_file(url) if is_file else _open_server(url)
        try:
            make_tables(engine, METADATA)
        except (DBAPIError, ClawftError):
            engine.dispose()
            raise
    return engine


def make_tables(engine: sa.Engine, metadata: sa.MetaData) -> None:
    """Those that are not there. Of several processes that begin at once, each finds what another has just made.

    Raises: ClawftError for a database with tables of a newer version, in which nothing is made; DBAPIError.
    """
    left = len(metadata.tables)
    while True:
        try:
            with engine.begin() as connection:
                _check_format(connection)
                return metadata.create_all(connection)
        except DBAPIError as error:
            left -= 1
            if left < 0 or not any(word in str(error) for word in ("already exists", "duplicate key")):
                raise


def check_tables(engine: sa.Engine) -> None:
    """Look for every column of our tables. Raises: ClawftError where one is missing."""
    with translated(engine.url), engine.connect() as connection:
        for table in METADATA.sorted_tables:
            connection.execute(sa.select(table).limit(0))


def _check_format(connection: sa.Connection) -> None:
    """Note the version of our tables where none is noted yet: what an earlier weft made is of the first."""
    FORMAT.create(connection, checkfirst=True)
    if (found := connection.scalar(sa.select(FORMAT.c.version))) is None:
        connection.execute(insert_new(connection, FORMAT).values(id=1, version=VERSION))
        found = connection.scalar(sa.select(FORMAT.c.version))  # another process may have been quicker
    path = str(connection.engine.url.database) if connection.dialect.name == "sqlite" else ""
    check_version(found, VERSION, path, "" if path else "The database of runs")


def _open_file(url: sa.URL) -> sa.Engine:
    path = str(url.database)
    os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
    if is_blank(path):
        message = "The database of runs is damaged: it is empty"
        raise ClawftError("runs-database", message, path=path, hint=restore_hint(_LOST))
    create_database(path)
    engine = sa.create_engine(
        url, pool_size=_POOL, max_overflow=4 * _POOL, pool_timeout=_BUSY_MS / 1000, hide_parameters=True
    )

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = "IMMEDIATE"  # writers wait for each other, rather than fail at the end
        for pragma in (f"busy_timeout={_BUSY_MS}", "foreign_keys=ON", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}")
        _write_ahead(connection)

    return engine


def _write_ahead(connection: Any) -> None:
    """Let readers and a writer work at once. Of several that make a file so at the same moment, some are told that it
    is locked, and nobody waits for them."""
    deadline = time.monotonic() + _BUSY_MS / 1000
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not _says(error, _LOCKED) or time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_S)


def _open_server(url: sa.URL) -> sa.Engine:
    # Connections are not tried before they are used, which would double the work of the server: whoever finds one dead
    # after the server was away tries again.
    return sa.create_engine(
        url,
        pool_size=_POOL,
        max_overflow=4 * _POOL,
        hide_parameters=True,  # what is said in runs is none of what is said of the database
        connect_args={"connect_timeout": _CONNECT_S, "application_name": "weft", "options": _OPTIONS},
    )


def identify(url: sa.URL) -> tuple[int, int] | None:
    """What tells the file of a database from another one in its place; None for a server, or if it is gone."""
    if url.get_backend_name() != "sqlite":
        return None
    try:
        status = os.stat(str(url.database))
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Stored:
    """Something that is kept in the database. Every method of it raises a ClawftError where that cannot be used."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine

    @contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        """All changes, or none."""
        with translated(self.engine.url), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def _connect(self) -> Iterator[sa.Connection]:
        """To look alone."""
        with translated(self.engine.url), self.engine.connect() as connection:
            yield connection


def insert_new(connection: sa.Connection, table: sa.Table) -> Any:
    """An insert that leaves alone what is there."""
    from sqlalchemy.dialects import postgresql, sqlite

    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    return dialect.insert(table).on_conflict_do_nothing()


@contextmanager
def translated(url: sa.URL | None = None) -> Iterator[None]:
    """Failures of a database as errors that tell a person what to do."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        path = str(url.database) if url is not None and url.get_backend_name() == "sqlite" else ""
        raise describe(error, path) from error


def describe(error: Exception, path: str = "") -> ClawftError:
    """What a failure of the database means to a person."""
    said = str(getattr(error, "orig", None) or error).strip().splitlines()
    first = said[0] if said else type(error).__name__
    if _says(error, _FULL):
        code, hint = "runs-disk-full", "Make room on the disk; runs go on by themselves. If there is room, see dmesg"
    elif _says(error, _LOCKED):
        code, hint = "runs-locked", "Another program holds the database; try again when it is done"
    elif isinstance(error, _LASTING) and not path:
        code, hint = "runs-database", "Check runs.database: its tables may be those of another program or version"
    elif isinstance(error, DBAPIError) and not path:
        code, hint = "runs-unreachable", "Check that the server runs, and runs.database"
        if "password" in first:
            hint = "Check runs.database_password, and that what it names is set here"
    elif isinstance(error, OSError):
        path = error.filename or path
        code, first, hint = "runs-database", error.strerror or first, get_hint(error, path)
    else:
        code, hint = "runs-database", get_database_hint(getattr(error, "orig", None) or error, path, _LOST)
    return ClawftError(code, f"The database of runs cannot be used: {first}", path=path, hint=hint)


def is_away(error: ClawftError) -> bool:
    """Whether a server cannot be reached, or does not take connections yet; not where it refuses what it is given."""
    return error.code == "runs-unreachable" and (_says(error, _NOT_YET) or not _says(error, _REFUSED))


def is_passing(error: BaseException) -> bool:
    """Whether a failure may pass by itself: a full disk, a lock, a server that is away."""
    if isinstance(error, ClawftError):
        if error.code in ("runs-disk-full", "runs-locked", "runs-unreachable"):
            return True
        return error.code == "runs-database" and error.__cause__ is not None and is_passing(error.__cause__)
    if _says(error, _OTHER_TABLES):
        return False
    return _says(error, (*_FULL, *_LOCKED)) or (isinstance(error, DBAPIError) and _is_connection(error))


def _is_connection(error: DBAPIError) -> bool:
    return error.connection_invalidated or isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError)


def _says(error: BaseException, words: tuple[str, ...]) -> bool:
    text = str(error)
    return any(word in text for word in words)
