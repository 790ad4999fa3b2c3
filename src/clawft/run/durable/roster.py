"""The workers there are, as they say themselves: one row each, with a beat that changes while it lives."""

import msgspec
import sqlalchemy as sa

from clawft.run.durable.database import Stored
from clawft.run.durable.tables import WORKER
from clawft.run.durable.values import WorkerRow, now_text

__all__ = ["Roster"]


class Roster(Stored):
    """All workers of a database."""

    def enrol(self, worker: WorkerRow) -> None:
        with self._begin() as connection:
            connection.execute(sa.delete(WORKER).where(WORKER.c.id == worker.id))
            connection.execute(sa.insert(WORKER), [msgspec.structs.asdict(worker)])

    def beat(self, worker: str, beat: int) -> bool:
        """Show that a worker lives; False if it was declared dead."""
        with self._begin() as connection:
            query = sa.update(WORKER).where(WORKER.c.id == worker).values(beat=beat, seen=now_text())
            return bool(connection.execute(query).rowcount)

    def stop_taking(self, worker: str) -> None:
        with self._begin() as connection:
            connection.execute(sa.update(WORKER).where(WORKER.c.id == worker).values(stopping=True))

    def strike(self, worker: str, beat: int | None) -> bool:
        """Take a worker off the list, if it gave no sign since `beat`; False if it did, or another was quicker."""
        with self._begin() as connection:
            gone = sa.delete(WORKER).where(WORKER.c.id == worker)
            gone = gone.where(WORKER.c.beat == beat) if beat is not None else gone
            return bool(connection.execute(gone).rowcount)

    def workers(self) -> tuple[WorkerRow, ...]:
        with self._connect() as connection:
            rows = connection.execute(sa.select(WORKER).order_by(WORKER.c.started)).mappings()
            return tuple(WorkerRow(**row) for row in rows)
