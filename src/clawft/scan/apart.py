"""A scanner in a process of its own, for whoever scans all day: it uses one core, and what kills it costs one skill."""

import multiprocessing
import signal
import threading
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from msgspec import Struct, structs

from clawft.scan.batch import failed_report, scan_target
from clawft.scan.cache import prune_reports
from clawft.scan.encoding import encode_report, plain_report
from clawft.scan.findings import Gap, Report
from clawft.scan.kept import scan_one_kept
from clawft.scan.targets import Target, find_targets
from clawft.scan.workers import PATIENCE_S, describe_end, safe_imports

__all__ = ["Order", "ScanProcess", "bound_report"]

MAX_BYTES = 256 << 10  # of one report; what is longer loses its lesser findings
MAX_GAPS = 100
MAX_SCANS = 5_000  # by one process; what libraries keep for ever goes with it
_PRUNE_AFTER = 500  # new reports
_POLL_S = 0.5


class Order(Struct, frozen=True):
    """One thing to scan. `rest`: what is below a folder outside its skills; `cache_dir`: reports from before count."""

    path: str
    rest: bool = False
    cache_dir: str = ""


class ScanProcess:
    """Scans one thing after the other, each in bounded time. Begun when it is needed, and anew when it died."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._alone = threading.Lock()
        self._process: SpawnProcess | None = None
        self._connection: Connection
        self._scans = 0

    def scan(self, order: Order) -> dict[str, Any]:
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
        return plain_report(failed_report(order.path, describe_end(code, self._patience_s)))

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
            self._process = context.Process(target=serve, args=(theirs,), daemon=True)
            with safe_imports():
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
                if self._connection.poll(min(_POLL_S, self._patience_s)):
                    answer: dict[str, Any] = self._connection.recv()
                    return answer
                waited += _POLL_S
        if waited < self._patience_s:
            process.join(1)
        return None

    def _end(self, process: SpawnProcess) -> None:
        process.kill()
        process.join()
        self._connection.close()
        self._process = None


def serve(connection: Connection) -> None:
    """Scan what comes, until nothing more can come."""
    for one in (signal.SIGINT, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)  # the one who started it tells it to stop
    with suppress(EOFError, OSError):
        for number in count(1):
            order: Order = connection.recv()
            connection.send(plain_report(bound_report(_scan(order))))
            if order.cache_dir and not number % _PRUNE_AFTER:
                prune_reports(order.cache_dir)


def _scan(order: Order) -> Report:
    if order.rest:
        try:
            return scan_target(find_targets(order.path)[-1])
        except OSError as error:
            return failed_report(order.path, f"It cannot be read: {error.strerror or error}")
    target = Target(order.path)
    return scan_one_kept(target, order.cache_dir) if order.cache_dir else scan_target(target)


def bound_report(report: Report) -> Report:
    """A report that may be kept in a database: the first findings, which are the gravest, if all are too long."""
    if len(encode_report(report)) <= MAX_BYTES:
        return report
    room, kept = MAX_BYTES, 0
    while kept < len(report.findings) and room > 0:
        one = report.findings[kept]
        room -= sum(map(len, (one.path, one.message, one.evidence, one.why, one.fix)))
        kept += 1
    left = f"{len(report.findings) - kept} more findings, and what was not analysed, are left out: scan it by itself"
    coverage = structs.replace(report.coverage, gaps=(*report.coverage.gaps[:MAX_GAPS], Gap("", left)))
    return structs.replace(report, findings=report.findings[:kept], coverage=coverage)
