"""The rows of a hub in a PostgreSQL, for several instances at once."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any, Literal

from clawft.errors import ClawftError
from clawft.server.hub.database import Execute, HubUnavailable, Row

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:
    raise ClawftError(
        "hub-no-postgres",
        "PostgreSQL cannot be used: psycopg is not installed",
        hint="Run: pip install 'clawft[durable]'",
    ) from error


_WRITING = 0x68756220  # the lock of the one who writes: any number that nobody else uses, "hub "
_MAX_CONNECTIONS = 16  # of one instance; who comes then waits
_WAIT_S = 10.0
_CONNECT: dict[str, Any] = {
    "application_name": "weft hub",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # ms; a machine that went without a word
    # An instance that is stopped in the middle of a transaction loses it, so that the others can write.
    "options": "-c idle_in_transaction_session_timeout=10s -c lock_timeout=10s -c statement_timeout=60s",
}
# By SQLSTATE, what passes: connections that break; servers that start, stop or take over from another; a disk that is
# full, or too many clients; a transaction that stood still, one that waited for it, and one that took too long.
_AWAY = ("08", "57P", "25006", "53", "25P03", "55P03", "57014", "40")

Connection = psycopg.Connection[Row]


class PostgresDatabase:
    """A server. Every use takes a connection and gives it back; one that broke is thrown away."""

    dialect: Literal["postgres"] = "postgres"

    def __init__(self, address: str) -> None:
        """Raises: ClawftError."""
        self._address = address
        self._place = _hide(address)
        self._idle: list[Connection] = []
        self._room = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self._closed = False

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._connection() as connection:
            return _execute(connection, statement, values)

    @contextmanager
    def write(self) -> Iterator[Execute]:
        with self._connection() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_WRITING,))
            yield partial(_execute, connection)

    @contextmanager
    def snapshot(self) -> Iterator[Execute]:
        with self._connection() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            yield partial(_execute, connection)

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        if not self._room.acquire(timeout=_WAIT_S):
            raise HubUnavailable("hub-busy", "All connections to the hub's database are in use", path=self._place)
        connection: Connection | None = None
        try:
            connection = self._take()
            yield connection
        except psycopg.Error as error:
            raise _translate(error, self._place) from error
        finally:
            if connection is not None:
                self._give_back(connection)
            self._room.release()

    def _take(self) -> Connection:
        """A connection that works as far as can be seen; the server may have closed those that lay idle."""
        while self._idle:
            with suppress(IndexError):  # another thread was quicker
                connection = self._idle.pop()
                if not connection.closed and _is_alive(connection):
                    return connection
                connection.close()
        return psycopg.connect(self._address, autocommit=True, **_CONNECT)

    def _give_back(self, connection: Connection) -> None:
        idle = psycopg.pq.TransactionStatus.IDLE
        if self._closed or connection.closed or connection.info.transaction_status != idle:
            connection.close()
        else:
            self._idle.append(connection)


def _is_alive(connection: Connection) -> bool:
    """Return whether the server has said nothing unasked for, as it does when it ends a connection."""
    import select

    with suppress(OSError, ValueError):
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
        return not poll.poll(0)
    return False


def _execute(connection: Connection, statement: str, values: Sequence[Any] = ()) -> list[Row]:
    if any(isinstance(value, str) and "\0" in value for value in values):
        raise ClawftError("hub-text", "This text cannot be: it holds a NUL")  # nor can the server keep or find it
    cursor = connection.execute(_parse(statement), tuple(values))
    return cursor.fetchall() if cursor.description is not None else []


@cache
def _parse(statement: str) -> bytes:
    """`?` as psycopg writes it. Statements are ours: the number of different ones is bounded."""
    return statement.replace("%", "%%").replace("?", "%s").encode()


def _hide(address: str) -> str:
    """The address without its password. Raises: ClawftError."""
    try:
        parts = conninfo_to_dict(address)
    except psycopg.Error as error:
        raise ClawftError("hub-database", "hub.database is no address of a PostgreSQL", hint=_FORM) from error
    return f"postgresql://{parts.get('user', '')}@{parts.get('host', '')}:{parts.get('port', '')}/{parts.get('dbname')}"


_FORM = "Write it as postgresql://USER:PASSWORD@HOST:5432/DATABASE"


def _translate(error: psycopg.Error, place: str) -> ClawftError:
    state = error.sqlstate or ""
    reason = " ".join(str(error).split())
    if not state or state.startswith(_AWAY):
        hint = "See whether the server runs, and check hub.database and its password"
        return HubUnavailable("hub-busy", f"The hub's database is away: {reason}", path=place, hint=hint)
    hint = "Try again; if it stays so, look into the log of the server"
    return ClawftError("hub-database", f"The hub's database cannot be used: {reason}", path=place, hint=hint)
