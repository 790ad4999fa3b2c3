"""The records of runs: their rows, events and questions. Every change is one transaction."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from clawft.agent.run_request import RunRequest
from clawft.errors import ClawftError, NotFound
from clawft.jobs.database import EVENT, QUESTION, RUN, WORKER, RunTables, insert_new
from clawft.jobs.run_state import FORMAT, OVER, PendingQuestion, Run, RunStatus, make_row, now_text, to_question, to_run
from clawft.jobs.worker_registry import WorkerRegistry

# What changes of a run while it is being done.
PROGRESS = ("steps", "input_tokens", "output_tokens", "cost_usd", "worked_ms")
_NOTE_PROGRESS = (
    sa.update(RUN)
    .where(RUN.c.id == sa.bindparam("of"), RUN.c.attempt == sa.bindparam("in_attempt"), RUN.c.status == "running")
    .where(RUN.c.worker == sa.bindparam("by"))
    .values(
        {name: sa.bindparam(f"new_{name}") for name in PROGRESS}
        | {"deaths": sa.case((sa.bindparam("new_steps") > RUN.c.steps, 0), else_=RUN.c.deaths)}
    )
)

Enqueue = Callable[[sa.Connection, str, int, str, str], None]  # connection, run, attempt, queue, format
Discard = Callable[[sa.Connection, Sequence[tuple[str, int]]], None]  # connection; runs with their attempts
Guard = Callable[[sa.Connection], None]
_NEWEST_FIRST = sa.select(RUN).order_by(RUN.c.created.desc(), RUN.c.id.desc())


class EventRow(Struct, frozen=True):
    """An event of a run, as JSON, with the step that it came from."""

    run: str
    seq: int
    step: str
    event: str


class RunStore(RunTables):
    """All runs of a database, and who does them."""

    def __init__(self, engine: sa.Engine, enqueue: Enqueue, guard: Guard | None = None) -> None:
        super().__init__(engine)
        self.roster = WorkerRegistry(engine)
        self._enqueue = enqueue  # has an attempt done, as part of the transaction that makes it due
        self._guard = guard
        self.on_withdrawn: Callable[[PendingQuestion, str], object] = lambda _question, _session: (
            None
        )  # nobody waits with it

    def guarded(self, guard: Guard) -> "RunStore":
        """The same for one who may have lost what he works on: `guard` raises, and then nothing is changed."""
        return RunStore(self.engine, self._enqueue, guard)

    # runs

    def add(self, requests: Sequence[tuple[str, RunRequest]], queue: str, **shared: Any) -> None:
        """Write down runs, by id, and have them done."""
        with self._begin() as connection:
            self.add_in(connection, requests, queue, **shared)

    def add_in(
        self, connection: sa.Connection, requests: Sequence[tuple[str, RunRequest]], queue: str, **shared: Any
    ) -> None:
        """As `add`, in a transaction that does something else too."""
        created = now_text()
        rows = [make_row(run, request, queue, created) | shared for run, request in requests]
        connection.execute(sa.insert(RUN), rows)
        for row in rows:
            self._enqueue(connection, row["id"], 1, queue, FORMAT)

    def add_fleet(self, fleet: str, requests: Sequence[tuple[str, int, RunRequest]], queue: str) -> None:
        """Write down runs of a fleet, by id and line; those that are there stay as they are."""
        created = now_text()
        rows = [
            make_row(run, request, queue, created) | {"fleet": fleet, "line": line} for run, line, request in requests
        ]
        with self._begin() as connection:
            names = [row["id"] for row in rows]
            known = set(connection.execute(sa.select(RUN.c.id).where(RUN.c.id.in_(names))).scalars())
            new = [row for row in rows if row["id"] not in known]
            if new:
                connection.execute(sa.insert(RUN), new)
            for row in new:
                self._enqueue(connection, row["id"], 1, queue, FORMAT)

    def find_by_session(self, session: str, kind: str) -> Run | None:
        """The first run of a kind in a session."""
        query = sa.select(RUN).where(RUN.c.session == session, RUN.c.kind == kind).order_by(RUN.c.created).limit(1)
        with self._connect() as connection:
            row = connection.execute(query).mappings().first()
        return to_run(row) if row else None

    def get(self, run: str) -> Run:
        """Raises: NotFound."""
        found = self.find(run)
        if found is None:
            raise NotFound("run-not-found", f"There is no run '{run}'", hint="Run: weft runs list")
        return found

    def find(self, run: str) -> Run | None:
        with self._connect() as connection:
            row = connection.execute(sa.select(RUN).where(RUN.c.id == run)).mappings().first()
        return to_run(row) if row else None

    def resolve(self, text: str) -> str:
        """The id that is meant: itself, or the one that starts so. Raises: NotFound."""
        query = sa.select(RUN.c.id).where(RUN.c.id.startswith(text, autoescape=True)).order_by(RUN.c.id).limit(6)
        with self._connect() as connection:
            found = list(connection.execute(query).scalars()) if text else []
        if text in found or len(found) == 1:
            return text if text in found else found[0]
        if found:
            raise NotFound("run-ambiguous", f"Several runs start with '{text}'", hint=f"Say which: {', '.join(found)}")
        raise NotFound("run-not-found", f"There is no run '{text}'", hint="Run: weft runs list")

    def list(
        self,
        *,
        statuses: Iterable[str] = (),
        kinds: Iterable[str] = (),
        fleet: str = "",
        parent: str = "",
        worker: str = "",
        limit: int | None = None,
        after: tuple[str, str] | None = None,
    ) -> tuple[Run, ...]:
        """Runs, the newest first; `after` are `created` and `id` of the one that the list goes on after."""
        query = _NEWEST_FIRST
        for column, values in ((RUN.c.status, tuple(statuses)), (RUN.c.kind, tuple(kinds))):
            query = query.where(column.in_(values)) if values else query
        for column, value in ((RUN.c.fleet, fleet), (RUN.c.parent, parent), (RUN.c.worker, worker)):
            query = query.where(column == value) if value else query
        if after is not None:
            query = query.where(sa.tuple_(RUN.c.created, RUN.c.id) < sa.tuple_(*map(sa.literal, after)))
        with self._connect() as connection:
            return tuple(map(to_run, connection.execute(query.limit(limit)).mappings()))

    def counts(self, fleet: str = "", queue: str = "") -> dict[str, int]:
        """Count the runs by status; of a queue only those that a worker of this version can do."""
        query = sa.select(RUN.c.status, sa.func.count()).group_by(RUN.c.status)
        query = query.where(RUN.c.fleet == fleet) if fleet else query
        query = query.where(RUN.c.queue == queue, RUN.c.format == FORMAT) if queue else query
        with self._connect() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def begin(self, run: str, attempt: int, worker: str) -> tuple[Run, bool] | None:
        """Take an attempt, and tell whether nobody began the run before; None if it is not to be done any more."""
        mine = sa.and_(RUN.c.id == run, RUN.c.attempt == attempt, RUN.c.status.in_(("queued", "running")))
        begun = {"status": "running", "worker": worker}
        take = sa.update(RUN).where(mine).returning(*RUN.c)
        first = take.where(RUN.c.started.is_(None)).values(begun | {"started": now_text()})
        with self._begin() as connection:
            if row := connection.execute(first).mappings().first():
                return to_run(row), True
            row = connection.execute(take.values(begun)).mappings().first()
        return (to_run(row), False) if row else None

    def update(self, run: str, attempt: int, **values: Any) -> bool:
        """Change what is known of a run that is being done; False if it is another's meanwhile."""
        with self._begin() as connection:
            # One that is queued was thought to be a dead worker's, by one who died before he could take it away.
            mine = sa.and_(RUN.c.id == run, RUN.c.attempt == attempt, RUN.c.status.in_(("queued", "running")))
            return bool(connection.execute(sa.update(RUN).where(mine).values(values)).rowcount)

    def finish(self, run: str, attempt: int, status: RunStatus, **values: Any) -> bool:
        """End a run."""
        return self.update(run, attempt, status=status, finished=now_text(), **values)

    def requeue(self, run: str, *, only: Iterable[str], discard: Discard | None = None) -> int | None:
        """Make ready for another attempt, whose number comes back; None if its status is none of `only`.

        With `discard`, which forgets the steps that are done, it is begun anew.
        """
        with self._begin() as connection:
            here = sa.and_(RUN.c.id == run, RUN.c.status.in_(tuple(only)))
            again: dict[str, Any] = {"status": "queued", "attempt": RUN.c.attempt + 1, "cancel": False, "error": None}
            again |= {"finished": None, "worker": "", "result": None, "deaths": 0}
            if discard:
                again |= {"steps": 0, "base": None, "worked_ms": 0, "format": FORMAT}
                again["generation"] = RUN.c.generation + 1
            query = sa.update(RUN).where(here).values(again).returning(RUN.c.attempt, RUN.c.queue, RUN.c.format)
            due = connection.execute(query).first()
            if due is None:
                return None
            if discard:
                discard(connection, [(run, due.attempt - 1)])
            self._enqueue(connection, run, due.attempt, due.queue, due.format)
            for table in (EVENT, QUESTION) if discard else ():
                connection.execute(sa.delete(table).where(table.c.run == run))
        return int(due.attempt)

    def ask_to_cancel(self, run: str) -> RunStatus:
        """Have a run ended: at once if nobody does it now, else by its worker. The status it has now comes back."""
        with self._begin() as connection:
            withdrawn = self._end(connection, RUN.c.id == run)
            status: RunStatus | None = connection.execute(sa.select(RUN.c.status).where(RUN.c.id == run)).scalar()
        if status is None:
            raise NotFound("run-not-found", f"There is no run '{run}'", hint="Run: weft runs list")
        self._tell_withdrawn(withdrawn)
        return status

    def cancel_all(self) -> None:
        """Have all runs ended."""
        with self._begin() as connection:
            withdrawn = self._end(connection, sa.true())
        self._tell_withdrawn(withdrawn)

    def _end(self, connection: sa.Connection, which: sa.ColumnElement[bool]) -> Sequence[tuple[PendingQuestion, str]]:
        """End runs, or ask their workers to. The questions, with their sessions, that nobody waits with any more."""
        idle = sa.and_(which, RUN.c.status.in_(("queued", "waiting")))
        asked = sa.select(QUESTION, RUN.c.session).join(RUN, QUESTION.c.run == RUN.c.id)
        rows = [
            dict(mapping) for mapping in connection.execute(asked.where(idle, QUESTION.c.answer.is_(None))).mappings()
        ]
        sessions = [row.pop("session") for row in rows]
        withdrawn = list(zip(map(to_question, rows), sessions, strict=True))
        ended = {"status": "cancelled", "finished": now_text()}
        connection.execute(sa.update(RUN).where(idle).values(ended))
        connection.execute(sa.update(RUN).where(which, RUN.c.status == "running").values(cancel=True))
        return withdrawn

    def _tell_withdrawn(self, withdrawn: Sequence[tuple[PendingQuestion, str]]) -> None:
        for question, session in withdrawn:
            self.on_withdrawn(question, session)

    def cancelled_on(self, worker: str) -> tuple[str, ...]:
        """Return the runs of a worker that were cancelled but still run."""
        query = sa.select(RUN.c.id).where(RUN.c.worker == worker, RUN.c.status == "running", RUN.c.cancel)
        with self._connect() as connection:
            return tuple(connection.execute(query).scalars())

    def remove(self, runs: Sequence[str], discard: Discard) -> None:
        """Remove runs that are over; one that was retried meanwhile stays, with the steps it did."""
        with self._begin() as connection:
            over = sa.delete(RUN).where(RUN.c.id.in_(runs), RUN.c.status.in_(OVER)).returning(RUN.c.id, RUN.c.attempt)
            removed = [(row.id, row.attempt) for row in connection.execute(over)]
            discard(connection, removed)
            for table in (EVENT, QUESTION):
                connection.execute(sa.delete(table).where(table.c.run.in_([run for run, _ in removed])))

    # events

    def write(self, events: Sequence[EventRow], progress: Sequence[dict[str, Any]], worker: str) -> None:
        """Add events, and what is known of runs that a worker does; a run of another worker stays as it is."""
        with self._begin() as connection:
            if progress:
                connection.execute(_NOTE_PROGRESS, [progress_row | {"by": worker} for progress_row in progress])
            named = {event.run for event in events}
            own = sa.select(RUN.c.id).where(RUN.c.worker == worker, RUN.c.id.in_(named))
            mine = set(connection.execute(own).scalars()) if named else set()
            rows = [msgspec.structs.asdict(event) for event in events if event.run in mine]
            if rows:  # those that are there were written before a connection broke, and nobody heard of it
                connection.execute(insert_new(connection, EVENT), rows)

    def events(self, run: str, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, str, str]]:
        """Return the events after a number: number, step, event as JSON."""
        query = sa.select(EVENT.c.seq, EVENT.c.step, EVENT.c.event).where(EVENT.c.run == run, EVENT.c.seq > after)
        with self._connect() as connection:
            rows = connection.execute(query.order_by(EVENT.c.seq).limit(limit))
            return [(row.seq, row.step, row.event) for row in rows]

    def notices(self, run: str, code: str) -> Sequence[str]:
        """The events of a run, as JSON, that give notice of something."""
        noticed = EVENT.c.event.contains(f'"code":"{code}"', autoescape=True)
        query = sa.select(EVENT.c.event).where(EVENT.c.run == run, noticed).order_by(EVENT.c.seq)
        with self._connect() as connection:
            return list(connection.execute(query).scalars())

    # questions

    def ask(self, question: PendingQuestion) -> PendingQuestion:
        """Write a question down, unless it is there: as it is now, with its answer if there is one."""
        row = msgspec.structs.asdict(question) | {"event": msgspec.json.encode(question.event).decode()}
        with self._begin() as connection:
            here = sa.and_(QUESTION.c.run == question.run, QUESTION.c.key == question.key)
            found = connection.execute(sa.select(QUESTION).where(here)).mappings().first()
            if found is None:
                connection.execute(sa.insert(QUESTION), [row])
        return to_question(found) if found else question

    def take(self, run: str, key: str) -> tuple[str, str] | None:
        """The answer to a question, which counts as used from now on, and who gave it."""
        with self._begin() as connection:
            here = sa.and_(QUESTION.c.run == run, QUESTION.c.key == key, QUESTION.c.answer.is_not(None))
            query = sa.update(QUESTION).where(here).values(taken=True).returning(QUESTION.c.answer, QUESTION.c.by)
            found = connection.execute(query).first()
        return (found.answer, found.by) if found else None

    def questions(self, run: str = "", *, open_only: bool = True) -> tuple[PendingQuestion, ...]:
        """Questions, the oldest first: of one run or of all, only those nobody answered unless all are asked for."""
        query = sa.select(QUESTION).order_by(QUESTION.c.asked, QUESTION.c.key)
        query = query.where(QUESTION.c.run == run) if run else query
        if open_only:
            unanswered = sa.select(RUN.c.id).where(RUN.c.status.in_(("waiting", "running")))
            query = query.where(QUESTION.c.answer.is_(None), QUESTION.c.run.in_(unanswered))
        with self._connect() as connection:
            return tuple(map(to_question, connection.execute(query).mappings()))

    def answer(self, run: str, key: str, answer: str, by: str, asked: str = "") -> None:
        """Answer what was `asked` then, and have the run go on. Raises: ClawftError if it is not any more."""
        with self._begin() as connection:
            self._lock(connection, run)
            here = sa.and_(QUESTION.c.run == run, QUESTION.c.key == key, QUESTION.c.answer.is_(None))
            here = sa.and_(here, QUESTION.c.asked == asked) if asked else here  # a run that is begun anew asks anew
            values = {"answer": answer, "answered": now_text(), "by": by}
            if not connection.execute(sa.update(QUESTION).where(here).values(values)).rowcount:
                raise ClawftError(
                    "run-answered", f"Nothing is asked there any more in {run}", hint="Run: weft runs show"
                )
            waits = sa.and_(RUN.c.id == run, RUN.c.status == "waiting")
            again = {"status": "queued", "attempt": RUN.c.attempt + 1, "worker": "", "deaths": 0}
            query = sa.update(RUN).where(waits).values(again).returning(RUN.c.attempt, RUN.c.queue, RUN.c.format)
            due = connection.execute(query).first()
            if due is not None:
                self._enqueue(connection, run, due.attempt, due.queue, due.format)

    def park(self, run: str, attempt: int, awaited: Iterable[str], **values: Any) -> bool:
        """Let a run wait for answers without a worker; False if one of them came meanwhile, or it is to be ended."""
        with self._begin() as connection:
            self._lock(connection, run)
            came = sa.and_(QUESTION.c.run == run, QUESTION.c.key.in_(tuple(awaited)), QUESTION.c.answer.is_not(None))
            if connection.execute(sa.select(QUESTION.c.key).where(came)).first():
                return False
            # One that waits already was written before a connection broke, and nobody heard of it.
            mine = sa.and_(RUN.c.id == run, RUN.c.attempt == attempt, RUN.c.status.not_in(OVER))
            mine = sa.and_(mine, RUN.c.cancel.is_(False))  # which is seen to where it is being done
            waiting = {"status": "waiting", "worker": "", **values}
            return bool(connection.execute(sa.update(RUN).where(mine).values(waiting)).rowcount)

    # those of workers that are gone, or of another version

    def orphan(self, workers: Sequence[str], *, died: bool = True) -> None:
        """The runs of workers that died, or left, wait for others."""
        with self._begin() as connection:
            left = sa.and_(RUN.c.worker.in_(workers), RUN.c.status == "running")
            if died:  # one that came back meanwhile keeps what it has
                left = sa.and_(left, RUN.c.worker.not_in(sa.select(WORKER.c.id)))
            waits = {"status": "queued", "worker": "", "deaths": RUN.c.deaths + int(died)}
            connection.execute(sa.update(RUN).where(left).values(waits))

    def count_foreign(self) -> int:
        """Count the runs that wait for a worker of another version."""
        here = sa.and_(RUN.c.format != FORMAT, RUN.c.status.in_(("queued", "running")))
        with self._connect() as connection:
            return connection.execute(sa.select(sa.func.count()).where(here)).scalar() or 0

    def _lock(self, connection: sa.Connection, run: str) -> None:
        """Keep others from changing a run until the transaction ends; SQLite has locked the whole file by then."""
        connection.execute(sa.update(RUN).where(RUN.c.id == run).values(id=RUN.c.id))

    @contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        with super()._begin() as connection:
            yield connection
            if self._guard is not None:
                self._guard(connection)
