"""DBOS: the queues of attempts, the record of their steps, and what becomes of them when a worker dies.

The only module that knows it. An attempt of a run is one workflow, named `RUN.NUMBER`. What is stored is JSON: what
stands in a database is never unpickled.
"""

import itertools
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import sqlalchemy as sa
from dbos import DBOS, DBOSClient, Queue, Serializer
from dbos import error as failures
from dbos._context import get_local_dbos_context
from dbos._dbos import _get_dbos_instance
from dbos._migration import get_migration_versions, get_sqlite_migration_versions
from dbos._serialization import DefaultSerializer
from dbos._sys_db import OperationResultInternal, SystemDatabase
from dbos._utils import GlobalParams
from msgspec import Struct

from clawft.files import lock_file
from clawft.jobs.database import translate_database_errors
from clawft.jobs.run_state import FORMAT

_NAME = "weft"
_ATTEMPT = "weft.attempt"
_RETAINED_COLUMNS = (
    "workflow_input",
    "workflow_output",
    "operation_outputs",
    "workflow_status",
)  # what is known of an attempt
_CHUNK = 500  # names in one statement
_MIGRATING = 0x77656675  # the key of a lock on the server
_MIGRATING_S = 0.05


class AttemptLost(Exception):
    """This process has the attempt no longer: it was silent too long, and another one goes on with it."""


class RecordedStep(Struct, frozen=True):
    """A step as it was recorded: its place in the record, the name it was given, and its value."""

    attempt: int
    number: int
    name: str
    value: Any


class _Json(Serializer):
    def serialize(self, data: Any) -> str:
        return msgspec.json.encode(data, enc_hook=repr).decode()

    def deserialize(self, serialized_data: str) -> Any:
        return msgspec.json.decode(serialized_data)

    def name(self) -> str:
        return "weft_json"


_JSON = _Json()


class RunEngine:
    """The engine, for programs that do not perform runs themselves. Every method raises a ClawftError where it
    fails."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        _tame()
        if not self._is_ready():
            migrate(engine)
        self._client = DBOSClient(
            system_database_engine=engine,
            serializer=_JSON,
            application_name=_NAME,
            lazy=True,
            use_listen_notify=False,
            retry_connection_errors=False,
        )

    def enqueue(self, connection: sa.Connection, run: str, attempt: int, queue: str, version: str = FORMAT) -> None:
        """Have an attempt done by a worker; part of the transaction that a connection is in."""
        options = {
            "queue_name": queue_name(queue),
            "workflow_name": _ATTEMPT,
            "workflow_id": _workflow(run, attempt),
            "app_version": version,
        }
        self._client.enqueue_in_transaction(connection, options, run, attempt)  # type: ignore[arg-type]

    def recorded(self, run: str, attempts: int) -> list[RecordedStep]:
        """All steps of a run, over its attempts, in the order in which they were recorded."""
        with translate_database_errors(self.engine.url):
            return [
                RecordedStep(number, step["function_id"], step["function_name"], step["output"])
                for number in range(1, attempts + 1)
                for step in self._client.list_workflow_steps(_workflow(run, number))
                if step["output"] is not None
            ]

    def discard(self, connection: sa.Connection, runs: Iterable[tuple[str, int]]) -> None:
        """Forget what was recorded of runs, by id and number of attempts; part of the transaction that a connection is
        in, so that nobody goes on with a run without knowing what it did."""
        names = [_workflow(run, number) for run, attempts in runs for number in range(1, attempts + 1)]
        schema = "" if connection.dialect.name == "sqlite" else "dbos."
        for table in _RETAINED_COLUMNS:
            query = sa.text(f"DELETE FROM {schema}{table} WHERE workflow_uuid IN :names")
            delete = query.bindparams(sa.bindparam("names", expanding=True))
            for start in range(0, len(names), _CHUNK):
                connection.execute(delete, {"names": names[start : start + _CHUNK]})

    def close(self) -> None:
        self._client.destroy()

    def _is_ready(self) -> bool:
        """Return whether all tables are there as they must be: another process may be making them."""
        with translate_database_errors(self.engine.url):
            if self.engine.dialect.name == "sqlite":
                found, wanted = get_sqlite_migration_versions(self.engine)
            else:
                found, wanted = get_migration_versions(self.engine, "dbos", use_listen_notify=False)
        return found >= wanted


class EngineWorker:
    """The worker that performs attempts. One for each process."""

    def __init__(self, engine: sa.Engine, worker: str, perform: "Perform") -> None:
        self._engine = engine
        self._worker = worker
        self._perform = perform
        self._queues: list[Queue] = []

    def launch(self, queues: Sequence[str], concurrency: int, poll_s: float) -> None:
        """Begin to take attempts from queues, in the event loop that runs now. Raises: ClawftError."""
        _tame()
        migrate(self._engine)
        dbos = DBOS(
            config={
                "name": _NAME,
                "system_database_url": self._engine.url.render_as_string(hide_password=False),
                "system_database_engine": self._engine,
                "application_version": FORMAT,
                "executor_id": self._worker,
                "serializer": _JSON,
                "run_migrations": False,
                "use_listen_notify": False,
                "enable_otlp": False,
                "scheduler_polling_interval_sec": 3600.0,
                "log_level": "CRITICAL",
            }
        )
        perform = self._perform

        @DBOS.workflow(name=_ATTEMPT, max_recovery_attempts=None)  # who dies of a run is counted by us
        async def attempt(run: str, number: int) -> str:
            try:
                return await perform(run, number, StepRecorder(run, number))
            except AttemptLost as error:
                raise failures.DBOSWorkflowConflictIDError(_workflow(run, number)) from error

        for queue in queues:
            # A queue of this process alone, so that each worker has a concurrency of its own.
            limits = {"worker_concurrency": concurrency, "polling_interval_sec": poll_s}
            self._queues.append(dbos._registry._register_internal_queue(queue_name(queue), **limits))
        with translate_database_errors(self._engine.url):
            DBOS.launch()

    def pause(self) -> None:
        """Take nothing more; what is being done goes on."""
        for queue in self._queues:
            queue._worker_concurrency = 0

    def holders(self) -> list[str]:
        """The workers that attempts are with, as far as the engine knows."""
        schema = "" if self._engine.dialect.name == "sqlite" else "dbos."
        query = f"SELECT DISTINCT executor_id FROM {schema}workflow_status WHERE status = 'PENDING' AND name = :name"
        query += " AND application_version = :version"
        known = {"name": _ATTEMPT, "version": FORMAT}
        with translate_database_errors(self._engine.url), self._engine.connect() as connection:
            return [scalar for scalar in connection.execute(sa.text(query), known).scalars() if scalar]

    def strays(self) -> list[str]:
        """Attempts that are with this worker by the record, while it does not do them."""
        schema = "" if self._engine.dialect.name == "sqlite" else "dbos."
        query = f"SELECT workflow_uuid FROM {schema}workflow_status WHERE status = 'PENDING' AND executor_id = :worker"
        with translate_database_errors(self._engine.url), self._engine.connect() as connection:
            held = list(connection.execute(sa.text(query), {"worker": self._worker}).scalars())
        active = set(_get_dbos_instance()._active_workflows_set.activeList())
        return [attempt for attempt in held if attempt not in active]

    def broken(self) -> list[tuple[str, int]]:
        """Attempts that the engine could not begin, or that ended as none of ours does: run and number."""
        schema = "" if self._engine.dialect.name == "sqlite" else "dbos."
        query = f"SELECT workflow_uuid FROM {schema}workflow_status WHERE status = 'ERROR' AND name = :name"
        with translate_database_errors(self._engine.url), self._engine.connect() as connection:
            found = [
                scalar.rpartition(".") for scalar in connection.execute(sa.text(query), {"name": _ATTEMPT}).scalars()
            ]
        return [(run, int(number)) for run, _, number in found if number.isdecimal()]

    def put_back(self, attempts: Iterable[str]) -> None:
        """Queue stray attempts again, for any worker to take."""
        database = _get_dbos_instance()._sys_db
        with translate_database_errors(self._engine.url):
            for attempt in attempts:
                database.reenqueue_for_recovery(attempt, [self._worker], queue_name("default"))

    def recover(self, dead: Sequence[str]) -> None:
        """Put the attempts of dead workers back into their queues."""
        with translate_database_errors(self._engine.url):
            DBOS._recover_pending_workflows(list(dead))

    def close(self) -> None:
        """Take nothing more, and let go of what is there."""
        DBOS.destroy(workflow_completion_timeout_sec=0)


class StepRecorder:
    """The recorder of an attempt's steps, for the process that performs it. Made inside of the attempt.

    The engine would run steps one after the other and look each up first; here they are looked up once, by names of our
    own, and forks run theirs in parallel. So they are written directly into the engine's records, under its ownership
    check: a process that lost the attempt to another cannot write.
    """

    def __init__(self, run: str, number: int) -> None:
        context = get_local_dbos_context()
        assert context is not None
        self._workflow = _workflow(run, number)
        self._owner = context.owner_xid
        self._database = _get_dbos_instance()._sys_db
        self._numbers = itertools.count(1)

    def skip(self, count: int) -> None:
        """Skip that many step numbers, which a process that performed the attempt earlier has used."""
        self._numbers = itertools.count(count + 1)

    def guard(self, connection: sa.Connection) -> None:
        """Let a transaction pass only if the attempt is still this process's. Raises: AttemptLost."""
        # A write, so that nobody else gets the attempt before the transaction is over.
        schema = "" if connection.dialect.name == "sqlite" else "dbos."
        same = (
            f"UPDATE {schema}workflow_status SET owner_xid = owner_xid WHERE workflow_uuid = :id AND owner_xid = :own"
        )
        if not connection.execute(sa.text(same), {"id": self._workflow, "own": self._owner}).rowcount:
            raise AttemptLost

    def record(self, name: str, value: Any, started: float) -> None:
        """Write down one step. Raises: AttemptLost, or what the database raises."""
        result: OperationResultInternal = {
            "workflow_uuid": self._workflow,
            "function_id": next(self._numbers),
            "function_name": name,
            "started_at_epoch_ms": int(started * 1000),
            "output": _JSON.serialize(value),
            "error": None,
            "serialization": _JSON.name(),
            "child_workflow_id": None,
        }
        try:
            self._database.record_operation_result(result, owner_xid=self._owner)
        except failures.DBOSWorkflowConflictIDError as error:
            raise AttemptLost from error


def migrate(engine: sa.Engine) -> None:
    """Make the engine's tables, or bring them up to date; one process at a time. Raises: ClawftError."""
    with translate_database_errors(engine.url), _alone(engine):
        if engine.dialect.name == "sqlite":
            _migrate_file(engine.url)
        else:
            DBOS.migrate(engine.url.render_as_string(hide_password=False))


def _migrate_file(url: sa.URL) -> None:
    """In one transaction: who is killed meanwhile, or finds the disk full, leaves nothing that is half made."""
    whole = sa.create_engine(url, poolclass=sa.NullPool)

    @sa.event.listens_for(whole, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver would end the transaction before each table

    @sa.event.listens_for(whole, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    database = SystemDatabase.create(
        system_database_url=str(url),
        engine_kwargs={},
        engine=whole,
        schema=None,
        serializer=_JSON,
        executor_id=None,
        use_listen_notify=False,
    )
    try:
        database.run_migrations()
    finally:
        database.destroy()
        whole.dispose()


@contextmanager
def _alone(engine: sa.Engine) -> Iterator[None]:
    if engine.dialect.name == "sqlite":
        descriptor = os.open(f"{engine.url.database}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            lock_file(descriptor, wait_s=60)
            yield
        finally:
            os.close(descriptor)
        return
    # An index that is made beside others waits for every transaction, and for every statement that waits in the server:
    # so the lock is asked for again and again.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while not connection.execute(sa.text("SELECT pg_try_advisory_lock(:key)"), {"key": _MIGRATING}).scalar():
            time.sleep(_MIGRATING_S)
        try:
            yield
        finally:
            connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), {"key": _MIGRATING})


def queue_name(queue: str) -> str:
    return f"{_NAME}.{queue}"


def _workflow(run: str, attempt: int) -> str:
    return f"{run}.{attempt}"


def _tame() -> None:
    """Its words are for its own developers; ours are said where a person sees them. And a row that says of itself that
    it is a pickle would be one, whatever serializer we give: who writes to the database would have code run here."""
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
    GlobalParams.dbos_cloud = False  # a variable would have it take another name, and another database
    DefaultSerializer.deserialize = _refuse_pickle  # type: ignore[assignment, method-assign]


def _refuse_pickle(_serializer: DefaultSerializer, _text: str) -> Any:
    raise TypeError("what stands in a database is never unpickled")


Perform = Callable[[str, int, StepRecorder], Awaitable[str]]
