"""Records of costs and paces that several machines share in one PostgreSQL database."""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any

from msgspec import Struct
from sqlalchemy import URL, Connection, TextClause, create_engine, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from clawft.agent.records import RecordsUnavailable
from clawft.errors import ClawftError
from clawft.files import check_version
from clawft.jobs.database import VERSION

_MAKING = 0x77656674  # the lock of who makes tables: any number that nobody else uses, "weft"
KEEP_ALIVE: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # ms; a machine that went without a word
}
_CONNECT = {
    **KEEP_ALIVE,
    "application_name": "weft",
    # A worker that is stopped in the middle of a transaction loses it, so that the others have its rows in time.
    "options": "-c idle_in_transaction_session_timeout=3s -c lock_timeout=10s -c statement_timeout=30s",
}
# By SQLSTATE, what passes: connections that break; servers that start, stop or take over from another; a disk that is
# full, or too many clients; a transaction that stood still, one that waited for it, and one that took too long.
_AWAY = ("08", "57P", "25006", "53", "25P03", "55P03", "57014", "40")
_HINTS = {
    "53100": "Its disk is full: make room there",
    "55P03": "Another worker holds it; if it stays so, look for one that hangs",
}


class ServerFailure(Struct, frozen=True):
    """A failure of a server: the reason it gives, its SQLSTATE, and whether it may pass by itself."""

    reason: str
    state: str
    is_passing: bool

    @classmethod
    def of(cls, error: SQLAlchemyError) -> "ServerFailure":
        cause = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(cause, "sqlstate", None) or ""
        is_lost = isinstance(error, DBAPIError) and (error.connection_invalidated or not state)
        is_passing = is_lost or state.startswith(_AWAY) or isinstance(error, PoolTimeout)
        return cls(" ".join(str(cause).split()), state, is_passing)


class SharedRecords:
    """Tables in a PostgreSQL. Threads may use it side by side; each has one connection, for as long as it needs it."""

    prefix = "weft_"
    patient = True

    def __init__(self, url: URL) -> None:
        """Nothing is connected yet."""
        self._place = url.set(drivername="postgresql").render_as_string(hide_password=True)
        self._engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            connect_args=_CONNECT,
            isolation_level="READ COMMITTED",  # so that what is read is as new as the row that is held
            pool_size=2,
            max_overflow=6,
            pool_pre_ping=True,
        )
        self._held = threading.local()

    def prepare(self, *statements: str) -> None:
        with self.transaction():
            self.execute("SELECT pg_advisory_xact_lock(?1)", (_MAKING,))
            self._check_format()
            for statement in statements:
                self.execute(statement)

    def _check_format(self) -> None:
        """Raises: ClawftError where the tables of runs, beside which ours are, are of a newer version."""
        ((table,),) = self.execute("SELECT to_regclass('weft_format')::text")
        for (version,) in self.execute("SELECT version FROM weft_format") if table else ():
            check_version(version, VERSION, self._place, "The shared record of costs")

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._translated():
            held: Connection | None = getattr(self._held, "connection", None)
            if held is not None:
                return _run(held, statement, values)
            with self._engine.begin() as connection:
                return _run(connection, statement, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._translated(), self._engine.begin() as connection:
            self._held.connection = connection
            try:
                yield
            finally:
                self._held.connection = None

    def now(self) -> datetime:
        ((moment,),) = self.execute("SELECT clock_timestamp()::timestamp")
        assert isinstance(moment, datetime)
        return moment

    def clock(self) -> float:
        ((seconds,),) = self.execute("SELECT extract(epoch FROM clock_timestamp())")
        return float(seconds)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise _translate(error, self._place) from error


def _run(connection: Connection, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    named = {f"v{number}": value for number, value in enumerate(values, 1)}
    result = connection.execute(_parse(statement), named)
    return [tuple(row) for row in result] if result.returns_rows else []


@cache
def _parse(statement: str) -> TextClause:
    """`?1` as SQLAlchemy writes it; a `::type` is PostgreSQL's own."""
    return text(re.sub(r"\?(\d+)", r":v\1", statement.replace("::", r"\:\:")))


def _translate(error: SQLAlchemyError, place: str) -> ClawftError:
    failure = ServerFailure.of(error)
    if failure.is_passing:
        hint = _HINTS.get(failure.state, "See whether the server runs, and check runs.database and its password")
        return RecordsUnavailable(
            "usage-database", f"The shared record of costs is away: {failure.reason}", path=place, hint=hint
        )
    hint = _HINTS.get(failure.state, "Try again; if it stays so, look into the log of the server")
    message = f"The shared record of costs cannot be used: {failure.reason}"
    return ClawftError("usage-database", message, path=place, hint=hint)
