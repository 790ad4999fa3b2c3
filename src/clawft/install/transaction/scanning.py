"""Scans while other skills are still on their way: processes that were begun before there was any thread.

To load the scanner takes as long as to scan many skills: one process loads it, and the others are forked from that.
"""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Self

import anyio
from anyio import to_thread

import clawft
from clawft.scanner.batch import ScannedPath, failed_report, scan_one_cached, scan_target
from clawft.scanner.findings import Report
from clawft.scanner.processes import SCAN_TIMEOUT_S, choose_context, isolated_imports

MAX_JOBS = 4
_DIED = "The process that scanned it died, or did not end"
_SAMPLE = os.path.join(os.path.dirname(clawft.__file__), "skills", "bundled", "skills", "write-skill")


class _Worker:
    """One process at the other end of a pipe. It says first who it is; `process` is the one that was started here."""

    def __init__(self, connection: Connection, process: BaseProcess | None) -> None:
        self.connection = connection
        self._process = process
        self._known = False
        self._handle = -1  # of one that was forked elsewhere: its number could be another's by now

    async def scan(self, path: str) -> Report:
        """Raises: EOFError, OSError if it died."""
        if not self._known:
            await anyio.wait_readable(self.connection.fileno())
            number, self._known = self.connection.recv(), True
            if self._process is None:
                with suppress(OSError):  # then it can be left alone, and not be ended
                    self._handle = os.pidfd_open(number)
        self.connection.send((path,))
        await anyio.wait_readable(self.connection.fileno())
        report: Report = self.connection.recv()
        return report

    def stop(self) -> None:
        """End it; one that has not said who it is ends when nobody is at the other end of its pipe."""
        self.connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._handle >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            os.close(self._handle)
            self._handle = -1


class ScanProcesses:
    """As many scanners as there is work for. Enter it before the event loop: a process with threads does not fork."""

    def __init__(self, skills: int, cache_dir: str | None) -> None:
        self._alone = skills <= 1
        self._jobs = max(1, min(skills, os.cpu_count() or 1, MAX_JOBS))
        self._cache_dir = cache_dir
        self._idle: list[_Worker] = []
        self._all: list[_Worker] = []
        self._room: anyio.Semaphore | None = None

    def __enter__(self) -> Self:
        if choose_context().get_start_method() == "fork":  # else it takes long, and waits until it is needed
            self._idle = self._begin(self._jobs)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._all:
            worker.stop()

    async def scan(self, path: str) -> Report:
        """The report on a folder; where the scanner died or did not end, one that says so."""
        from clawft.scanner.rescan import is_short

        if self._alone and is_short(path):
            return await to_thread.run_sync(_scan, path, self._cache_dir)
        if self._room is None:
            self._room = anyio.Semaphore(self._jobs)
        async with self._room:
            worker = self._idle.pop() if self._idle else self._begin(1)[0]
            report: Report | None = None
            try:
                with anyio.move_on_after(SCAN_TIMEOUT_S), suppress(EOFError, OSError):
                    report = await worker.scan(path)
            finally:
                if report is None:  # the next scan starts another worker
                    self._all.remove(worker)
                    worker.stop()
                else:
                    self._idle.append(worker)
        return report if report is not None else failed_report(path, _DIED)

    def _begin(self, count: int) -> list[_Worker]:
        """Start that many workers, forked from one process that is started here."""
        context = choose_context()
        pipes = [context.Pipe() for _ in range(count)]
        forked = context.get_start_method() == "fork"
        # A forked process has copies of our ends of all pipes: while it holds them, no worker sees us go.
        ours = [*(worker.connection for worker in self._all), *(own for own, _ in pipes)] if forked else []
        theirs = [their for _, their in pipes]
        process = context.Process(target=serve_all, args=(theirs, ours, self._cache_dir), daemon=True)
        with isolated_imports():
            process.start()
        for their in theirs:
            their.close()
        made = [_Worker(own, None if number else process) for number, (own, _) in enumerate(pipes)]
        self._all += made
        return made


def serve_all(connections: Sequence[Connection], inherited: Sequence[Connection], cache_dir: str | None) -> None:
    """Load the scanner if there will be several, then be as many processes as there are pipes."""
    for connection in inherited:
        connection.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started it tells it to stop
    own, *others = connections
    if others:
        _scan(_SAMPLE, None)  # what is compiled on the way is there for all
    for number, other in enumerate(others):
        if os.fork() == 0:
            own.close()
            for later in others[number + 1 :]:
                later.close()
            serve(other, cache_dir)
            os._exit(0)
        other.close()
    serve(own, cache_dir)


def serve(connection: Connection, cache_dir: str | None) -> None:
    """Say who this is, and scan what comes, until nothing more can come."""
    with suppress(EOFError, OSError):
        connection.send(os.getpid())
        while True:
            connection.send(_scan(connection.recv()[0], cache_dir))


def _scan(path: str, cache_dir: str | None) -> Report:

    return scan_one_cached(ScannedPath(path), cache_dir) if cache_dir else scan_target(ScannedPath(path))
