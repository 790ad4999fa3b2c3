"""Scans while other skills are still on their way: processes that were begun before there was any thread."""

import gc
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Self

import anyio
from anyio import to_thread

from clawft.scan.batch import failed_report, scan_target
from clawft.scan.findings import Report
from clawft.scan.kept import scan_one_kept
from clawft.scan.rescan import is_short
from clawft.scan.rules import load_rules
from clawft.scan.targets import Target
from clawft.scan.workers import PATIENCE_S, choose_context, describe_end, safe_imports

__all__ = ["Scans", "without_collecting"]

MAX_JOBS = 4


class _Worker:
    def __init__(self, cache_dir: str | None, others: "Sequence[_Worker]", *, early: bool) -> None:
        context = choose_context()
        self.connection, theirs = context.Pipe()
        # A forked process has copies of our ends of all pipes: while it holds them, no worker sees us go.
        forked = context.get_start_method() == "fork"
        ours = [self.connection, *(one.connection for one in others)] if forked else []
        self.process = context.Process(target=serve, args=(theirs, ours, cache_dir, early), daemon=True)
        with safe_imports():
            self.process.start()
        theirs.close()

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


class Scans:
    """As many scanners as there is work for. Enter it before the event loop: a process with threads does not fork."""

    def __init__(self, skills: int, cache_dir: str | None) -> None:
        self._jobs = max(1, min(skills, os.cpu_count() or 1, MAX_JOBS))
        self._cache_dir = cache_dir
        self._idle: list[_Worker] = []
        self._all: list[_Worker] = []
        self._room: anyio.Semaphore | None = None

    def __enter__(self) -> Self:
        if choose_context().get_start_method() == "fork":  # else it takes long, and waits until it is needed
            self._idle = [self._begin() for _ in range(self._jobs)]
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._all:
            one.stop()

    async def scan(self, path: str) -> Report:
        """The report on a folder; where the scanner died or did not end, one that says so."""
        if self._jobs == 1 and is_short(path):
            return await to_thread.run_sync(_scan, path, self._cache_dir)
        if self._room is None:
            self._room = anyio.Semaphore(self._jobs)
        async with self._room:
            worker = self._idle.pop() if self._idle else self._begin()
            report: Report | None = None
            try:
                with anyio.move_on_after(PATIENCE_S), suppress(EOFError, OSError):
                    worker.connection.send((path,))
                    await anyio.wait_readable(worker.connection.fileno())
                    report = worker.connection.recv()
            finally:
                if report is None:
                    worker = self._replace(worker)
                self._idle.append(worker)
        return report if report is not None else failed_report(path, self._why)

    def _replace(self, worker: _Worker) -> _Worker:
        worker.process.join(0.1)
        self._why = describe_end(worker.process.exitcode)
        worker.stop()
        self._all.remove(worker)
        return self._begin()

    def _begin(self) -> _Worker:
        self._all.append(new := _Worker(self._cache_dir, self._all, early=self._jobs > 1))
        return new

    _why = ""


@contextmanager
def without_collecting() -> Iterator[None]:
    """Thousands of small values that all stay: looking for cycles among them takes time, and finds none."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def serve(connection: Connection, inherited: Sequence[Connection], cache_dir: str | None, early: bool) -> None:
    """Scan what comes, until nothing more can come."""
    for one in inherited:
        one.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started it tells it to stop
    if early:
        load_rules()
    with suppress(EOFError, OSError):
        while True:
            connection.send(_scan(connection.recv()[0], cache_dir))


def _scan(path: str, cache_dir: str | None) -> Report:
    return scan_one_kept(Target(path), cache_dir) if cache_dir else scan_target(Target(path))
