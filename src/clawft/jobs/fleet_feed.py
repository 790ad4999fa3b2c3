"""The feed of a fleet: read its input lines, start runs as there is room, and give the result of each line in
order.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Any

import msgspec
from msgspec import Struct, structs

from clawft.agent.run_request import RunRequest
from clawft.errors import ClawftError
from clawft.jobs.fleets import Fleet, FleetSpec, FleetStore
from clawft.jobs.run_state import OVER, Run, RunProblem
from clawft.jobs.runs import Runs
from clawft.jobs.scan_task import ScanBatch, ScanTarget, is_failed, read_reports
from clawft.scanner.batch import failed_report
from clawft.scanner.reports.json import plain_report

MAX_LINE = 256 << 10  # bytes
MAX_REPORTED = 20  # bad lines that are named
MIN_BATCH, MAX_BATCH = 4, 64
_SHARES = 16  # a batch is at most such a part of what is left: at the end they are small, and no worker waits for one
_CHUNK = 1 << 20
_TARGET = msgspec.json.Decoder(ScanTarget)


class InvalidLine(Struct, frozen=True):
    """A line that is no input, and why."""

    line: int
    reason: str


class CheckedInputs(Struct, frozen=True):
    """The result of checking a file of inputs."""

    total: int
    last: int  # the last line that is an input
    size: int
    digest: str
    bad_total: int
    bad: tuple[InvalidLine, ...]  # the first of them


class FleetJob(Struct, frozen=True):
    """One run to start: its line, or the first of several. No `request`: `problem` says why there is no run."""

    line: int
    inputs: tuple[Any, ...]
    request: RunRequest | None
    problem: str = ""


def check_inputs(path: str, limit: int = 0) -> CheckedInputs:
    """Read a file of inputs from end to end. Raises: ClawftError if it cannot be read."""
    if os.path.exists(path) and not os.path.isfile(path):  # it is read more than once
        raise ClawftError("fleet-inputs", "The lines of a fleet must stand in a file", path=path)
    total, last, bad_total, bad = 0, 0, 0, list[InvalidLine]()
    for line, text in _lines(path, limit):
        total += 1
        if problem := _read_input(text)[2]:
            bad_total += 1
            bad += [InvalidLine(line, problem)] if bad_total <= MAX_REPORTED else []
        else:
            last = line
    return CheckedInputs(total, last, *check_file(path), bad_total, tuple(bad))


def check_file(path: str) -> tuple[int, str]:
    """Size and digest of a file. Raises: ClawftError."""
    whole, size = hashlib.sha256(), 0
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                whole.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise _unreadable(path, error) from error
    return size, whole.hexdigest()


def check_unchanged(spec: FleetSpec) -> None:
    """Raises: ClawftError if the lines of a fleet are others than when it was started."""
    if not os.path.exists(spec.path):
        message = "The input of the fleet is gone, so it cannot go on"
        raise ClawftError("fleet-changed", message, path=spec.path, hint="Put it back, or start another fleet")
    if check_file(spec.path) != (spec.size, spec.digest):
        message = "The input of the fleet was changed since it was started, so it cannot go on"
        raise ClawftError("fleet-changed", message, path=spec.path, hint="Put it back, or start another fleet")


def read_jobs(fleet: Fleet, after: int = 0) -> Iterator[FleetJob]:
    """Yield the jobs of a fleet's lines, except those up to `after`. Raises: ClawftError."""
    made = _read_runs(fleet) if fleet.kind == "run" else _read_batches(fleet)
    return (job for job in made if job.line > after)


def _read_runs(fleet: Fleet) -> Iterator[FleetJob]:
    for line, text in _lines(fleet.spec.path, fleet.spec.limit):
        value, arguments, problem = _read_input(text)
        if arguments is None:
            yield FleetJob(line, (value,), None, problem)
        else:
            words = tuple(arguments) if isinstance(arguments, list) else ()
            joined = " ".join(arguments) if isinstance(arguments, list) else arguments
            yield FleetJob(line, (value,), structs.replace(fleet.spec.request, text=joined, words=words))


def _read_input(text: bytes) -> tuple[Any, str | list[str] | None, str]:
    """Read a line: its value, the arguments that it gives, and the problem if it gives none."""
    if len(text) > MAX_LINE:
        return None, None, f"It is longer than {MAX_LINE >> 10} KiB"
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return text.decode(errors="replace"), None, f"It is no JSON: {error}"
    if isinstance(value, str):
        return value, value, ""
    if not isinstance(value, dict):
        return value, None, "It is neither a text nor an object"
    named = [name for name in ("args", "text") if name in value]
    if not named:
        return value, text.decode().strip(), ""
    arguments = value[named[0]]
    if len(named) > 1 or not _are_arguments(arguments):
        wrong = "It has both `args` and `text`" if len(named) > 1 else f"`{named[0]}` is neither a text nor texts"
        return value, None, wrong
    return value, arguments, ""


def _are_arguments(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(word, str) for word in value))


def _read_batches(fleet: Fleet) -> Iterator[FleetJob]:
    """Batches of targets. How many go into one depends on their place alone, so a resumed fleet makes the same ones."""
    lines = _lines(fleet.spec.path, 0)
    done = 0
    while done < fleet.total:
        most = _batch_size(fleet.total - done)
        targets = tuple(_TARGET.decode(text) for _, text in islice(lines, most))
        task = msgspec.to_builtins(ScanBatch(targets, fleet.spec.fresh))
        title = targets[0].path if len(targets) == 1 else f"{targets[0].path} and {len(targets) - 1} more"
        yield FleetJob(done + 1, targets, structs.replace(fleet.spec.request, task=task, text=title))
        done += len(targets)


def find_last_batch(total: int) -> int:
    """The first line of the last batch."""
    line = 1
    while line - 1 + _batch_size(total - line + 1) < total:
        line += _batch_size(total - line + 1)
    return line


def _batch_size(left: int) -> int:
    return max(MIN_BATCH, min(MAX_BATCH, left // _SHARES))


def _lines(path: str, limit: int) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; of one that is too long only the start."""
    try:
        with open(path, "rb") as file:
            number = count = 0
            while text := file.readline(MAX_LINE + 2):
                number += 1
                rest = text
                while rest and not rest.endswith(b"\n"):  # it is too long, or the last
                    rest = file.readline(_CHUNK)
                if text.strip():
                    count += 1
                    yield number, text.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
                if limit and count >= limit:
                    return
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> ClawftError:
    message = f"The lines of a fleet cannot be read: {error.strerror}"
    return ClawftError("fleet-inputs", message, path=path, hint="Name a file with one JSON value on each line")


Result = dict[str, Any]
_REMOVED = RunProblem("fleet-gone", "The run was removed", "Start another fleet to have it done")


def render_results(fleet: Fleet, job: FleetJob, run: Run | None, runs: Runs) -> Iterator[Result]:
    """A result for each line of a job. Raises: ClawftError."""
    if fleet.kind == "run":
        yield _tell_run(job, run)
        return
    reports = read_reports([step.value for step in runs.recorded(run)]) if run is not None else []
    problem = (run and run.error) or _REMOVED
    for at, target in enumerate(job.inputs):
        report = reports[at] if at < len(reports) else _missing(target, run, problem)
        status = "failed" if is_failed(report) else "done"
        yield {"line": job.line + at, "run": run.id if run else "", "status": status, **report}


def _tell_run(job: FleetJob, run: Run | None) -> Result:
    problem = run.error if run is not None else _REMOVED
    if job.request is None:
        problem = RunProblem("fleet-line", job.problem)
    return {
        "line": job.line,
        "input": job.inputs[0],
        "run": run.id if run else "",
        "status": run.status if run else "failed",
        "result": run.result if run else None,
        "error": msgspec.to_builtins(problem),
        "usage": msgspec.to_builtins(run.usage) if run else None,
        "cost_usd": run.cost_usd if run else None,
    }


def _missing(target: ScanTarget, run: Run | None, problem: RunProblem) -> dict[str, Any]:
    """The report on what nobody scanned."""
    reason = "The run was cancelled" if run is not None and run.status == "cancelled" else problem.message
    return plain_report(failed_report(target.path, reason))


_PAGE = 100  # runs that are looked at, or started, at once
_AGAIN = ("failed", "cancelled")
ALL = sys.maxsize


class FeedState(Struct, frozen=True):
    """The progress of a fleet, in lines; the lines of a scan are counted once they are reported."""

    total: int
    done: int
    failed: int
    waiting: int
    under_way: int  # runs that are queued or being done
    is_over: bool


class FleetFeed:
    """One fleet that is fed. `tell` gets each result that comes after the line `after`; no more than `ahead` runs are
    queued or under way; `retry`: what failed is tried again."""

    def __init__(
        self,
        runs: Runs,
        fleet: Fleet,
        tell: Callable[[Result], None],
        *,
        ahead: int,
        after: int = 0,
        retry: bool = False,
    ) -> None:
        self._runs = runs
        self._store = FleetStore(runs.database)
        self.fleet = fleet
        self._tell = tell
        self._ahead = ahead
        self._after = after
        self._retried: int | None = 0 if retry else None  # the last line that was tried again; None: all were
        self._started = self._store.last_line(fleet.id)  # the last line that was started
        self._to_start = read_jobs(fleet, self._started)
        self._due: list[FleetJob] = []  # read, and not started yet
        self._to_tell: Iterator[FleetJob] = (job for job in read_jobs(fleet) if job.line + len(job.inputs) > after + 1)
        self._next = next(self._to_tell, None)
        self._reported, self._failed = after, 0
        self._counts: dict[str, int] = {}

    def step(self) -> None:
        """Start what there is room for, and tell what is over. Raises: ClawftError."""
        self._counts = self._runs.store.counts(self.fleet.id)
        fed = self._feed(self._ahead - self._under_way)
        if fed:
            self._counts["queued"] = self._counts.get("queued", 0) + fed
        while self._tell_page():
            pass

    @property
    def state(self) -> FeedState:
        """As it was at the last step."""
        failed = sum(self._counts.get(status, 0) for status in _AGAIN)
        done = self._counts.get("done", 0)
        if self.fleet.kind == "scan":
            done, failed = self._reported - self._failed, self._failed
        under_way = self._under_way
        return FeedState(self.fleet.total, done, failed, self._counts.get("waiting", 0), under_way, self._next is None)

    @property
    def _under_way(self) -> int:
        return self._counts.get("queued", 0) + self._counts.get("running", 0)

    @property
    def _is_settled(self) -> bool:
        """Return whether nothing goes on any more, but by a person's word."""
        return self._started == ALL and self._retried is None and not self._under_way

    # feeding

    def _feed(self, room: int) -> int:
        """Have more done, within what there is room for; how many runs."""
        fed = self._try_again(room) if self._retried is not None and room > 0 else 0
        while self._retried is None and self._started < ALL and fed < room:
            wanted = min(room - fed, _PAGE)
            self._due += islice(self._to_start, max(0, wanted - len(self._due)))
            jobs = self._due[:wanted]
            self._runs.start_fleet(
                self.fleet.id,
                [(job.line, job.request) for job in jobs if job.request is not None],
                queue=self.fleet.spec.queue,
            )
            if jobs:
                self._store.mark_started(self.fleet.id, jobs[-1].line)
            self._due = self._due[wanted:]  # only now: where the database is away, the same ones are tried again
            fed += len(jobs)
            self._started = jobs[-1].line if len(jobs) == wanted else ALL
        return fed

    def _try_again(self, room: int) -> int:
        assert self._retried is not None
        wanted = min(room, _PAGE)
        found = self._store.runs(self.fleet.id, after=self._retried, statuses=_AGAIN, limit=wanted)
        for run in found:
            self._runs.store.requeue(run.id, only=_AGAIN)
            self._retried = run.line
        if len(found) < wanted:
            self._retried = None
        return len(found)

    # telling

    def _tell_page(self) -> bool:
        """Tell some; whether there may be more."""
        if self._next is None:
            return False
        page = self._store.states(self.fleet.id, self._next.line - 1, _PAGE)
        ready = list(takewhile(lambda one: self._is_over(*one), page))
        if len(ready) < len(page):
            until = page[len(ready)][0] - 1
        else:  # what comes later, and was started, has no run: it is no input, or its run was removed
            until = page[-1][0] if len(page) == _PAGE else self._started
        runs = {run.line: run for run in self._load(ready)}
        while self._next is not None and self._next.line <= until:
            for result in render_results(self.fleet, self._next, runs.get(self._next.line), self._runs):
                if result["line"] > self._after:
                    self._tell(result)
                    self._after = result["line"]
                    self._reported += 1
                    self._failed += result["status"] != "done"
            self._next = next(self._to_tell, None)
        return len(ready) == _PAGE

    def _load(self, ready: Sequence[tuple[int, str]]) -> tuple[Run, ...]:
        if not ready:
            return ()
        return self._store.runs(self.fleet.id, after=ready[0][0] - 1, last=ready[-1][0], limit=_PAGE)

    def _is_over(self, line: int, status: str) -> bool:
        if status == "waiting":
            return self._is_settled
        if self._retried is not None and line > self._retried and status in _AGAIN:
            return False  # it is tried again first
        return status in OVER
