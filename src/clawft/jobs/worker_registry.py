"""Which workers live. No clock of another machine is believed, and no jump of one's own does harm.

A worker counts its beats. Whoever watches it sees the number change; where it did not for a whole lease, by a clock
that only runs forward, it is dead. A watcher that was itself asleep, or had no database to look into, starts to watch
anew.
"""

import os
import platform
import time
from collections.abc import Callable, Iterable

from clawft.run.durable.values import WorkerRow

__all__ = ["Watch", "is_gone", "this_host", "this_mark"]


class Watch:
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
        return [row for row in rows if is_gone(row) or now - self._seen[row.id][1] >= self._lease_s]


def is_gone(worker: WorkerRow) -> bool:
    """Whether a worker of this machine has no process any more."""
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
        return f"{platform.node()}/{os.getppid()}.{os.getpid()}"  # nobody's process can be told from here


def this_mark() -> str:
    return _mark_of(os.getpid())


def _mark_of(pid: int) -> str:
    """What tells a process from a later one of the same number, also after a reboot; '' if there is none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()[:8]
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    is_dead = fields[0] in (b"Z", b"X")
    return "" if is_dead else f"{boot}:{fields[19].decode()}"
