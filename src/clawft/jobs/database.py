"""The database of runs: its tables, connections to SQLite or PostgreSQL, and its failures as errors."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, MetaData, Table, Text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from clawft.config.jobs import RunsSettings
from clawft.config.sqlite import DatabaseError, DatabaseFile, get_database_hint
from clawft.errors import ClawftError
from clawft.files import check_version, get_hint
from clawft.jobs import file_path

METADATA = MetaData()
VERSION = 1  # of all `weft_` tables; a change of one that an older weft would misread is a new one

# One row: the version of all `weft_` tables in this database.
FORMAT = Table(
    "weft_format",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
)

RUN = Table(
    "weft_run",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("queue", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("request", Text, nullable=False),  # JSON of a RunRequest
    Column("worker", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("started", Text),
    Column("finished", Text),
    Column("steps", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cost_usd", Float),
    Column("worked_ms", BigInteger, nullable=False),  # over all attempts; waiting does not count
    Column("base", BigInteger),  # how long the session was when the run began; None until then
    Column("cancel", Boolean, nullable=False),  # the run was cancelled
    Column("result", Text),
    Column("error", Text),  # JSON of code, message and hint
    Column("parent", Text, nullable=False),  # the run that it is a fork of
    Column("fleet", Text, nullable=False),
    Column("line", Integer, nullable=False),  # of the fleet's input
    Column("format", Text, nullable=False),  # of what is recorded of it
    Column("generation", Integer, nullable=False),  # how often it was begun anew, as if nothing had been done
    Column("deaths", Integer, nullable=False),  # of workers that did it, since it last got further
    Index("weft_run_by_status", "status", "created"),
    Index("weft_run_by_fleet", "fleet", "line"),
    Index("weft_run_by_fleet_status", "fleet", "status"),
    Index("weft_run_by_worker", "worker", "status"),
)

EVENT = Table(
    "weft_event",
    METADATA,
    Column("run", Text, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("step", Text, nullable=False),  # the step it came from, '' between steps
    Column("event", Text, nullable=False),  # JSON
)

QUESTION = Table(
    "weft_question",
    METADATA,
    Column("run", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("kind", Text, nullable=False),  # approval, in-flight
    Column("event", Text, nullable=False),  # JSON of the ApprovalNeeded
    Column("asked", Text, nullable=False),
    Column("answer", Text),
    Column("answered", Text),
    Column("by", Text, nullable=False),
    Column("taken", Boolean, nullable=False),  # the run went on with the answer
)

WORKER = Table(
    "weft_worker",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("mark", Text, nullable=False),  # tells the process from a later one of the same number
    Column("queue", Text, nullable=False),
    Column("concurrency", Integer, nullable=False),
    Column("started", Text, nullable=False),
    Column("beat", BigInteger, nullable=False),
    Column("seen", Text, nullable=False),
    Column("stopping", Boolean, nullable=False),
    Column("stays", Boolean, nullable=False),  # with nothing to do too
)

JOB = Table(
    "weft_job",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("schedule", Text, nullable=False),
    Column("zone", Text, nullable=False),  # of its hours
    Column("task", Text, nullable=False),  # JSON
    Column("cwd", Text, nullable=False),
    Column("queue", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("next_due", Text),  # in UTC, to the microsecond: in order as texts
    Column("run", Text, nullable=False),  # the last one
    Column("last_run", Text),
    Column("last_status", Text),  # where the last run does not tell
    Column("missed", Integer, nullable=False),
    Index("weft_job_by_due", "enabled", "next_due"),
)

# Which due times were taken: once each, with the run, or '' for one that was missed.
SCHEDULE = Table(
    "weft_schedule",
    METADATA,
    Column("job", Text, primary_key=True),
    Column("due", Text, primary_key=True),
    Column("run", Text, nullable=False),
)

FLEET = Table(
    "weft_fleet",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("spec", Text, nullable=False),  # JSON
    Column("total", Integer, nullable=False),
    Column("created", Text, nullable=False),
    Column("started", Integer, nullable=False),  # the last line that a run was started for, also when that is gone
)


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
    """Build the address of the runs database. Raises: ClawftError for an invalid address."""
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
    with translate_database_errors(url):
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
    with translate_database_errors(engine.url), engine.connect() as connection:
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
    DatabaseFile(path, "The database of runs", "runs-database", _LOST).make()
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
    """Switch the database to write-ahead logging, so that readers and a writer work at once. SQLite does not wait here:
    of several processes that switch at the same moment, some get an error that it is locked, and retry."""
    deadline = time.monotonic() + _BUSY_MS / 1000
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except DatabaseError as error:
            if not _mentions(error, _LOCKED) or time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_S)


def _open_server(url: sa.URL) -> sa.Engine:
    # Connections are not tested before use, which would double the work of the server: a caller that finds one dead
    # after the server was away tries again.
    return sa.create_engine(
        url,
        pool_size=_POOL,
        max_overflow=4 * _POOL,
        hide_parameters=True,  # what is said in runs is none of what is said of the database
        connect_args={"connect_timeout": _CONNECT_S, "application_name": "weft", "options": _OPTIONS},
    )


def identify(url: sa.URL) -> tuple[int, int] | None:
    """Return what identifies the file of a database, so that a replacement is noticed; None for a server, or if the
    file is gone."""
    if url.get_backend_name() != "sqlite":
        return None
    try:
        status = os.stat(str(url.database))
    except OSError:
        return None
    return status.st_dev, status.st_ino


class RunTables:
    """Something that is kept in the database. Every method of it raises a ClawftError where that cannot be used."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine

    @contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        """All changes, or none."""
        with translate_database_errors(self.engine.url), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def _connect(self) -> Iterator[sa.Connection]:
        """To look alone."""
        with translate_database_errors(self.engine.url), self.engine.connect() as connection:
            yield connection


def insert_new(connection: sa.Connection, table: sa.Table) -> Any:
    """An insert that leaves alone what is there."""
    from sqlalchemy.dialects import postgresql, sqlite

    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    return dialect.insert(table).on_conflict_do_nothing()


@contextmanager
def translate_database_errors(url: sa.URL | None = None) -> Iterator[None]:
    """Failures of a database as errors that tell a person what to do."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        path = str(url.database) if url is not None and url.get_backend_name() == "sqlite" else ""
        raise explain_failure(error, path) from error


def explain_failure(error: Exception, path: str = "") -> ClawftError:
    """Translate a failure of the database into an error for the user."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    first = lines[0] if lines else type(error).__name__
    if _mentions(error, _FULL):
        code, hint = "runs-disk-full", "Make room on the disk; runs go on by themselves. If there is room, see dmesg"
    elif _mentions(error, _LOCKED):
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


def is_unreachable(error: ClawftError) -> bool:
    """Return whether a server cannot be reached, or does not take connections yet; not where it refuses what it is
    given."""
    return error.code == "runs-unreachable" and (_mentions(error, _NOT_YET) or not _mentions(error, _REFUSED))


def is_transient(error: BaseException) -> bool:
    """Return whether a failure may pass by itself: a full disk, a lock, a server that is away."""
    if isinstance(error, ClawftError):
        if error.code in ("runs-disk-full", "runs-locked", "runs-unreachable"):
            return True
        return error.code == "runs-database" and error.__cause__ is not None and is_transient(error.__cause__)
    if _mentions(error, _OTHER_TABLES):
        return False
    if _mentions(error, (*_FULL, *_LOCKED)) or isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError):
        return True
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _mentions(error: BaseException, words: tuple[str, ...]) -> bool:
    text = str(error)
    return any(word in text for word in words)
