"""Scanner processes: a pool that scans many targets, and one long-lived process for a daemon."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext
from typing import Any

from msgspec import Struct, structs

from clawft.scanner.batch import ScannedPath, failed_report, find_targets, scan_one_cached, scan_target
from clawft.scanner.cache import prune_reports
from clawft.scanner.findings import Gap, Report
from clawft.scanner.reports.json import encode_report, plain_report
from clawft.scanner.rules import load_rules

SCAN_TIMEOUT_S = 60.0  # a scan ends itself long before; what does not is stuck
_POLL_S = 1.0
_SAFE_PATH = "PYTHONSAFEPATH"


class _Worker:
    """One process that scans what it is given, and what it is at."""

    def __init__(
        self, context: ForkContext | SpawnContext, scan: Callable[[Any], Any], others: "Sequence[_Worker]" = ()
    ) -> None:
        self.connection, theirs = context.Pipe()
        # A forked process has copies of our ends of all pipes: while it holds them, no worker sees us go.
        ours = [self.connection, *(other.connection for other in others)] if isinstance(context, ForkContext) else []
        self.process = context.Process(target=run_worker, args=(theirs, ours, scan), daemon=True)
        with isolated_imports():
            self.process.start()
        theirs.close()
        self.index = -1
        self.path = ""
        self.since = 0.0

    def give(self, index: int, target: "ScannedPath | ScanRequest") -> None:
        self.index, self.path, self.since = index, target.path, time.monotonic()
        with suppress(OSError):  # it died meanwhile: then no answer comes, and that is seen
            self.connection.send(target)

    def take(self) -> Any:
        """Its answer; None if it died instead."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return None

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()

    def report_lost(self, patience_s: float = SCAN_TIMEOUT_S) -> Report:
        """Stop a worker that died or hangs, and return the failed report on its target."""
        self.process.join(0 if self.process.is_alive() and not self.connection.poll() else 1)
        code = self.process.exitcode
        self.stop()
        if code is None:
            return failed_report(self.path, f"The scan did not end within {patience_s:g} seconds")
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return failed_report(self.path, f"The process that scanned it died ({how})")


@contextmanager
def isolated_imports() -> Iterator[None]:
    """A Python that is started here imports nothing from the current folder, which may be untrusted."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def scan_in_processes(targets: Sequence[ScannedPath], jobs: int) -> Iterator[tuple[int, Report]]:
    """A report on each target with its number, as they are made."""
    load_rules()  # before a fork, so that it is done once for all
    context = choose_context()
    waiting = deque(enumerate(targets))
    idle: list[_Worker] = []
    busy: dict[Connection, _Worker] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                worker = idle.pop() if idle else _Worker(context, scan_target, [*busy.values(), *idle])
                busy[worker.connection] = worker
                worker.give(*waiting.popleft())
            for worker in _ready(busy):
                del busy[worker.connection]
                report = worker.take() if worker.connection.poll() else None
                if report is None:
                    yield worker.index, worker.report_lost()
                else:
                    idle.append(worker)
                    yield worker.index, report
    finally:
        for worker in (*busy.values(), *idle):
            worker.stop()


def run_worker(connection: Connection, inherited: Sequence[Connection], scan: Callable[[Any], Any]) -> None:
    """Scan what comes, until nothing more can come."""
    for other in inherited:
        other.close()
    for interrupt in (signal.SIGINT, signal.SIGHUP):
        signal.signal(interrupt, signal.SIG_IGN)  # the one who started it tells it to stop
    with suppress(EOFError, OSError):
        while True:
            connection.send(scan(connection.recv()))


def _ready(busy: dict[Connection, _Worker]) -> list[_Worker]:
    """The workers that answered or died, and those that are stuck."""
    answered = [busy[connection] for connection in wait(list(busy), _POLL_S) if isinstance(connection, Connection)]
    limit = time.monotonic() - SCAN_TIMEOUT_S
    return answered + [worker for worker in busy.values() if worker.since < limit and worker not in answered]


def choose_context() -> ForkContext | SpawnContext:
    """To fork is quick, and safe on Linux while there is one thread."""
    try:
        threads = len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 0
    except OSError:
        threads = 0
    return multiprocessing.get_context("fork") if threads == 1 else multiprocessing.get_context("spawn")


MAX_BYTES = 256 << 10  # of one report; what is longer loses its lesser findings
MAX_GAPS = 100
MAX_SCANS = 5_000  # by one process; what libraries keep for ever goes with it
_PRUNE_AFTER = 500  # new reports
_APART_POLL_S = 0.5


class ScanRequest(Struct, frozen=True):
    """One thing to scan. `rest`: what is below a folder outside its skills; `cache_dir`: reports from before count."""

    path: str
    rest: bool = False
    cache_dir: str = ""


class ScanProcess:
    """Scans one thing after the other, each in bounded time. Begun when it is needed, and anew when it died."""

    def __init__(self, patience_s: float = SCAN_TIMEOUT_S) -> None:
        self._patience_s = patience_s
        self._alone = threading.Lock()
        self._worker: _Worker | None = None
        self._scans = 0

    def scan(self, order: ScanRequest) -> dict[str, Any]:
        """The report, as JSON can hold it; also where there is no telling, and then it says so."""
        with self._alone:
            worker = self._begin()
            worker.give(0, order)
            report: dict[str, Any] | None = self._take(worker)
            if report is None:
                self._worker = None
                return plain_report(worker.report_lost(self._patience_s))
            if order.cache_dir and not self._scans % _PRUNE_AFTER:
                prune_reports(order.cache_dir)
            return report

    def kill(self) -> None:
        """Give up what is being scanned, if anything is."""
        if (worker := self._worker) is not None:
            worker.process.kill()

    def close(self) -> None:
        self.kill()
        with self._alone:
            self._end()

    def _begin(self) -> _Worker:
        if self._worker is not None and (self._scans >= MAX_SCANS or not self._worker.process.is_alive()):
            self._end()
        if self._worker is None:
            context = multiprocessing.get_context("spawn")  # there are threads here, so a fork is not safe
            self._worker, self._scans = _Worker(context, _scan_plain), 0
        self._scans += 1
        return self._worker

    def _take(self, worker: _Worker) -> Any:
        """Its answer; None if it died instead, or did not answer in time."""
        waited = 0.0
        while waited < self._patience_s:
            if worker.connection.poll(min(_APART_POLL_S, self._patience_s)):
                return worker.take()
            waited += _APART_POLL_S
        return None

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.stop()
        self._worker = None


def _scan_plain(order: ScanRequest) -> dict[str, Any]:
    return plain_report(truncate_report(_scan(order)))


def _scan(order: ScanRequest) -> Report:
    if order.rest:
        try:
            return scan_target(find_targets(order.path)[-1])
        except OSError as error:
            return failed_report(order.path, f"It cannot be read: {error.strerror or error}")
    target = ScannedPath(order.path)
    return scan_one_cached(target, order.cache_dir) if order.cache_dir else scan_target(target)


def truncate_report(report: Report) -> Report:
    """A report that may be kept in a database: the first findings, which are the gravest, if all are too long."""
    if len(encode_report(report)) <= MAX_BYTES:
        return report
    room, index = MAX_BYTES, 0
    while index < len(report.findings) and room > 0:
        one = report.findings[index]
        room -= sum(map(len, (one.path, one.message, one.evidence, one.why, one.fix)))
        index += 1
    left = f"{len(report.findings) - index} more findings, and what was not analysed, are left out: scan it by itself"
    coverage = structs.replace(report.coverage, gaps=(*report.coverage.gaps[:MAX_GAPS], Gap("", left)))
    return structs.replace(report, findings=report.findings[:index], coverage=coverage)
