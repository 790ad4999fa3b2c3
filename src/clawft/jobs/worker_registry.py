"""The registry of workers: one row with a heartbeat each, and which of them are dead."""

import os
import platform
import time
from collections.abc import Callable, Iterable

import msgspec
import sqlalchemy as sa

from clawft.jobs.database import WORKER, RunTables
from clawft.jobs.run_state import WorkerRow, now_text


class LivenessWatch:
    """One worker's eyes on the others."""

    def __init__(self, lease_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lease_s = lease_s
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}  # the last beat, and when it was new
        self._looked = clock()

    def find_dead(self, workers: Iterable[WorkerRow], last_sign: float | None = None) -> list[WorkerRow]:
        """Those that gave no sign for a lease, or whose process is known to be gone.

        `last_sign` is when the one who looks last gave a sign himself: where he cannot, others cannot either.
        """
        now = self._clock()
        oldest = min(self._looked, now if last_sign is None else last_sign)
        if now - oldest > self._lease_s / 2:
            self._seen.clear()
        self._looked = now
        rows = list(workers)
        self._seen = {
            row.id: self._seen[row.id] if self._seen.get(row.id, (None, 0))[0] == row.beat else (row.beat, now)
            for row in rows
        }
        return [row for row in rows if is_dead(row) or now - self._seen[row.id][1] >= self._lease_s]


def is_dead(worker: WorkerRow) -> bool:
    """Return whether a worker of this machine has no process any more."""
    if worker.host != this_host():
        return False
    return worker.mark != _mark_of(worker.pid)


def this_host() -> str:
    """This machine, as far as it can see processes: a container is one of its own."""
    try:
        with open("/etc/machine-id", encoding="ascii") as file:
            machine = file.read().strip()[:8]
        return f"{platform.node()}/{machine}/{os.stat('/proc/self/ns/pid').st_ino}"
    except (OSError, ValueError):
        return f"{platform.node()}/{os.getppid()}.{os.getpid()}"  # no process can be identified from here


def this_mark() -> str:
    return _mark_of(os.getpid())


def _mark_of(pid: int) -> str:
    """Return what distinguishes a process from a later one with the same number, also after a reboot; '' if there is
    none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()[:8]
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    is_dead = fields[0] in (b"Z", b"X")
    return "" if is_dead else f"{boot}:{fields[19].decode()}"


class WorkerRegistry(RunTables):
    """All workers of a database."""

    def register_worker(self, worker: WorkerRow) -> None:
        with self._begin() as connection:
            connection.execute(sa.delete(WORKER).where(WORKER.c.id == worker.id))
            connection.execute(sa.insert(WORKER), [msgspec.structs.asdict(worker)])

    def beat(self, worker: str, beat: int) -> bool:
        """Show that a worker lives; False if it was declared dead."""
        with self._begin() as connection:
            query = sa.update(WORKER).where(WORKER.c.id == worker).values(beat=beat, seen=now_text())
            return bool(connection.execute(query).rowcount)

    def mark_stopping(self, worker: str) -> None:
        with self._begin() as connection:
            connection.execute(sa.update(WORKER).where(WORKER.c.id == worker).values(stopping=True))

    def remove_if_silent(self, worker: str, beat: int | None) -> bool:
        """Take a worker off the list, if it gave no sign since `beat`; False if it did, or another was quicker."""
        with self._begin() as connection:
            query = sa.delete(WORKER).where(WORKER.c.id == worker)
            query = query.where(WORKER.c.beat == beat) if beat is not None else query
            return bool(connection.execute(query).rowcount)

    def workers(self) -> tuple[WorkerRow, ...]:
        with self._connect() as connection:
            rows = connection.execute(sa.select(WORKER).order_by(WORKER.c.started)).mappings()
            return tuple(WorkerRow(**row) for row in rows)
