"""The rows of a hub in a PostgreSQL, for several instances at once."""

import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any, Literal

from clawft.errors import ClawftError
from clawft.server.hub.database import Execute, HubUnavailable, Row

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from sqlalchemy import Connection, create_engine, event
    from sqlalchemy.exc import InvalidatePoolError, SQLAlchemyError
    from sqlalchemy.exc import TimeoutError as PoolTimeout

    from clawft.jobs.postgres_records import KEEP_ALIVE, ServerFailure
except ImportError as error:
    raise ClawftError(
        "hub-no-postgres",
        "PostgreSQL cannot be used: psycopg is not installed",
        hint="Run: pip install 'clawft[durable]'",
    ) from error


_WRITING = 0x68756220  # the lock of the one who writes: any number that nobody else uses, "hub "
_MAX_CONNECTIONS = 16  # of one instance; who comes then waits
_WAIT_S = 10.0
_CONNECT = {
    **KEEP_ALIVE,
    "application_name": "weft hub",
    # An instance that is stopped in the middle of a transaction loses it, so that the others can write.
    "options": "-c idle_in_transaction_session_timeout=10s -c lock_timeout=10s -c statement_timeout=60s",
}


class PostgresDatabase:
    """A server. Every use takes a connection and gives it back; one that broke is thrown away."""

    dialect: Literal["postgres"] = "postgres"

    def __init__(self, address: str) -> None:
        """Nothing is connected yet. Raises: ClawftError for what is no address."""
        self._place = _hide(address)
        self._engine = create_engine(
            "postgresql+psycopg://",
            creator=lambda: psycopg.connect(address, **_CONNECT),
            isolation_level="AUTOCOMMIT",
            pool_size=_MAX_CONNECTIONS,
            max_overflow=0,
            pool_timeout=_WAIT_S,
        )
        event.listen(self._engine, "checkout", _check_alive)

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._translated(), self._engine.connect() as connection:
            return _execute(connection, statement, values)

    @contextmanager
    def write(self) -> Iterator[Execute]:
        writing = self._engine.execution_options(isolation_level="READ COMMITTED")
        with self._translated(), writing.begin() as connection:
            _execute(connection, "SELECT pg_advisory_xact_lock(?)", (_WRITING,))
            yield partial(_execute, connection)

    @contextmanager
    def snapshot(self) -> Iterator[Execute]:
        reading = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        with self._translated(), reading.begin() as connection:
            _execute(connection, "SET LOCAL idle_in_transaction_session_timeout = 0")
            yield partial(_execute, connection)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise _translate(error, self._place) from error


def _check_alive(connection: psycopg.Connection[Row], *_: object) -> None:
    """See that the server has said nothing unasked for, as it does when it ends a connection that lay idle."""
    with suppress(OSError, ValueError):
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
        if not poll.poll(0):
            return
    raise InvalidatePoolError


def _execute(connection: Connection, statement: str, values: Sequence[Any] = ()) -> list[Row]:
    if any(isinstance(value, str) and "\0" in value for value in values):
        raise ClawftError("hub-text", "This text cannot be: it holds a NUL")  # nor can the server keep or find it
    result = connection.exec_driver_sql(_parse(statement), tuple(values))
    return [tuple(row) for row in result] if result.returns_rows else []


@cache
def _parse(statement: str) -> str:
    """`?` as psycopg writes it. Statements are ours: the number of different ones is bounded."""
    return statement.replace("%", "%%").replace("?", "%s")


def _hide(address: str) -> str:
    """The address without its password. Raises: ClawftError."""
    try:
        parts = conninfo_to_dict(address)
    except psycopg.Error as error:
        raise ClawftError("hub-database", "hub.database is no address of a PostgreSQL", hint=_FORM) from error
    return f"postgresql://{parts.get('user', '')}@{parts.get('host', '')}:{parts.get('port', '')}/{parts.get('dbname')}"


_FORM = "Write it as postgresql://USER:PASSWORD@HOST:5432/DATABASE"


def _translate(error: SQLAlchemyError, place: str) -> ClawftError:
    if isinstance(error, PoolTimeout):
        return HubUnavailable("hub-busy", "All connections to the hub's database are in use", path=place)
    failure = ServerFailure.of(error)
    if failure.is_passing:
        hint = "See whether the server runs, and check hub.database and its password"
        return HubUnavailable("hub-busy", f"The hub's database is away: {failure.reason}", path=place, hint=hint)
    hint = "Try again; if it stays so, look into the log of the server"
    message = f"The hub's database cannot be used: {failure.reason}"
    return ClawftError("hub-database", message, path=place, hint=hint)
