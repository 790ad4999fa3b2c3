"""Processes that scan: each does one target after the other, and may die without harm to the rest."""

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext

from clawft.scan.batch import failed_report, scan_target
from clawft.scan.findings import Report
from clawft.scan.rules import load_rules
from clawft.scan.targets import Target

__all__ = ["PATIENCE_S", "choose_context", "describe_end", "safe_imports", "scan_apart"]

PATIENCE_S = 60.0  # a scan ends itself long before; what does not is stuck
_POLL_S = 1.0
_SAFE_PATH = "PYTHONSAFEPATH"


class _Worker:
    """One process, and what it is at."""

    def __init__(self, context: ForkContext | SpawnContext, others: "list[_Worker]") -> None:
        self.connection, theirs = context.Pipe()
        # A forked process has copies of our ends of all pipes: while it holds them, no worker sees us go.
        ours = [self.connection, *(one.connection for one in others)] if isinstance(context, ForkContext) else []
        self.process = context.Process(target=serve, args=(theirs, ours), daemon=True)
        with safe_imports():
            self.process.start()
        theirs.close()
        self.index = -1
        self.target = Target("")
        self.since = 0.0

    def give(self, index: int, target: Target) -> None:
        self.index, self.target, self.since = index, target, time.monotonic()
        with suppress(OSError):  # it died meanwhile: then no answer comes, and that is seen
            self.connection.send(target)

    def take(self) -> Report | None:
        """Its answer; None if it died instead."""
        try:
            report: Report = self.connection.recv()
        except (EOFError, OSError):
            return None
        return report

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


@contextmanager
def safe_imports() -> Iterator[None]:
    """A Python that is started here imports nothing from the current folder, which may be a stranger's."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def scan_apart(targets: Sequence[Target], jobs: int) -> Iterator[tuple[int, Report]]:
    """A report on each target with its number, as they are made."""
    load_rules()  # before a fork, so that it is done once for all
    context = choose_context()
    waiting = deque(enumerate(targets))
    idle: list[_Worker] = []
    busy: dict[Connection, _Worker] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                worker = idle.pop() if idle else _Worker(context, [*busy.values(), *idle])
                busy[worker.connection] = worker
                worker.give(*waiting.popleft())
            for worker in _ready(busy):
                del busy[worker.connection]
                report = worker.take() if worker.connection.poll() else None
                if report is None:
                    yield worker.index, _lost(worker)
                else:
                    idle.append(worker)
                    yield worker.index, report
    finally:
        for worker in (*busy.values(), *idle):
            worker.stop()


def serve(connection: Connection, inherited: Sequence[Connection]) -> None:
    """Scan what comes, until nothing more can come."""
    for one in inherited:
        one.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started it tells it to stop
    with suppress(EOFError, OSError):
        while True:
            connection.send(scan_target(connection.recv()))


def _ready(busy: dict[Connection, _Worker]) -> list[_Worker]:
    """The workers that answered or died, and those that are stuck."""
    answered = [busy[one] for one in wait(list(busy), _POLL_S) if isinstance(one, Connection)]
    limit = time.monotonic() - PATIENCE_S
    return answered + [worker for worker in busy.values() if worker.since < limit and worker not in answered]


def _lost(worker: _Worker) -> Report:
    """What to say of the target of a worker that died or is stuck."""
    worker.process.join(0 if worker.process.is_alive() and not worker.connection.poll() else 1)
    code = worker.process.exitcode
    worker.stop()
    return failed_report(worker.target.path, describe_end(code))


def describe_end(code: int | None, patience_s: float = PATIENCE_S) -> str:
    """Why there is no report: the exit code of the process that was to make it, or None for one that did not end."""
    if code is None:
        return f"The scan did not end within {patience_s:g} seconds"
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"The process that scanned it died ({how})"


def choose_context() -> ForkContext | SpawnContext:
    """To fork is quick, and safe on Linux while there is one thread."""
    try:
        threads = len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 0
    except OSError:
        threads = 0
    return multiprocessing.get_context("fork") if threads == 1 else multiprocessing.get_context("spawn")
