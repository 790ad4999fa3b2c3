"""Scanner processes: a pool that scans many targets, and one long-lived process for a daemon."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext, SpawnProcess
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
    """One process, and what it is at."""

    def __init__(self, context: ForkContext | SpawnContext, others: "list[_Worker]") -> None:
        self.connection, theirs = context.Pipe()
        # A forked process has copies of our ends of all pipes: while it holds them, no worker sees us go.
        ours = [self.connection, *(other.connection for other in others)] if isinstance(context, ForkContext) else []
        self.process = context.Process(target=run_worker, args=(theirs, ours), daemon=True)
        with isolated_imports():
            self.process.start()
        theirs.close()
        self.index = -1
        self.target = ScannedPath("")
        self.since = 0.0

    def give(self, index: int, target: ScannedPath) -> None:
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


def run_worker(connection: Connection, inherited: Sequence[Connection]) -> None:
    """Scan what comes, until nothing more can come."""
    for other in inherited:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started it tells it to stop
    with suppress(EOFError, OSError):
        while True:
            connection.send(scan_target(connection.recv()))


def _ready(busy: dict[Connection, _Worker]) -> list[_Worker]:
    """The workers that answered or died, and those that are stuck."""
    answered = [busy[connection] for connection in wait(list(busy), _POLL_S) if isinstance(connection, Connection)]
    limit = time.monotonic() - SCAN_TIMEOUT_S
    return answered + [worker for worker in busy.values() if worker.since < limit and worker not in answered]


def _lost(worker: _Worker) -> Report:
    """Return the failed report for the target of a worker that died or hangs."""
    worker.process.join(0 if worker.process.is_alive() and not worker.connection.poll() else 1)
    code = worker.process.exitcode
    worker.stop()
    return failed_report(worker.target.path, render_exit_reason(code))


def render_exit_reason(code: int | None, patience_s: float = SCAN_TIMEOUT_S) -> str:
    """Render why there is no report: the exit code of the process, or None for one that did not end."""
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
        self._process: SpawnProcess | None = None
        self._connection: Connection
        self._scans = 0

    def scan(self, order: ScanRequest) -> dict[str, Any]:
        """The report, as JSON can hold it; also where there is no telling, and then it says so."""
        with self._alone:
            process = self._begin()
            with suppress(OSError):  # it died meanwhile: then no answer comes, and that is seen
                self._connection.send(order)
            report = self._take(process)
            if report is not None:
                return report
            process.join(0 if process.is_alive() else 1)
            code = process.exitcode
            self._end(process)
        return plain_report(failed_report(order.path, render_exit_reason(code, self._patience_s)))

    def kill(self) -> None:
        """Give up what is being scanned, if anything is."""
        if (process := self._process) is not None:
            process.kill()

    def close(self) -> None:
        self.kill()
        with self._alone:
            if self._process is not None:
                self._end(self._process)

    def _begin(self) -> SpawnProcess:
        if self._process is not None and (self._scans >= MAX_SCANS or not self._process.is_alive()):
            self._end(self._process)
        if self._process is None:
            context = multiprocessing.get_context("spawn")  # there are threads here, so a fork is not safe
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=run_scan_process, args=(theirs,), daemon=True)
            with isolated_imports():
                self._process.start()
            theirs.close()
            self._scans = 0
        self._scans += 1
        return self._process

    def _take(self, process: SpawnProcess) -> dict[str, Any] | None:
        """Its answer; None if it died instead, or did not answer in time."""
        waited = 0.0
        with suppress(EOFError, OSError):
            while waited < self._patience_s:
                if self._connection.poll(min(_APART_POLL_S, self._patience_s)):
                    answer: dict[str, Any] = self._connection.recv()
                    return answer
                waited += _APART_POLL_S
        if waited < self._patience_s:
            process.join(1)
        return None

    def _end(self, process: SpawnProcess) -> None:
        process.kill()
        process.join()
        self._connection.close()
        self._process = None


def run_scan_process(connection: Connection) -> None:
    """Scan what comes, until nothing more can come."""
    for interrupt in (signal.SIGINT, signal.SIGHUP):
        signal.signal(interrupt, signal.SIG_IGN)  # the one who started it tells it to stop
    with suppress(EOFError, OSError):
        for number in count(1):
            order: ScanRequest = connection.recv()
            connection.send(plain_report(truncate_report(_scan(order))))
            if order.cache_dir and not number % _PRUNE_AFTER:
                prune_reports(order.cache_dir)


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
