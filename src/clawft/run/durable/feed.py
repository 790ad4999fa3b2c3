"""A fleet under way: lines become runs as there is room for them, and what comes of them is told in order.

Nothing is kept in memory but where it is: what is done stands in the database, and what is to be done in the input.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile

from msgspec import Struct

from clawft.run.durable.fleets import Fleet, FleetStore
from clawft.run.durable.inputs import Job, read_jobs
from clawft.run.durable.runs import Runs
from clawft.run.durable.told import Result, tell_job
from clawft.run.durable.values import OVER, Run

__all__ = ["Feed", "State"]

_PAGE = 100  # runs that are looked at, or started, at once
_AGAIN = ("failed", "cancelled")
ALL = sys.maxsize


class State(Struct, frozen=True):
    """How far a fleet is, in lines; those of a scan count when they are told."""

    total: int
    done: int
    failed: int
    waiting: int
    under_way: int  # runs that are queued or being done
    is_over: bool


class Feed:
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
        self._due: list[Job] = []  # read, and not started yet
        self._to_tell: Iterator[Job] = (job for job in read_jobs(fleet) if job.line + len(job.inputs) > after + 1)
        self._next = next(self._to_tell, None)
        self._told, self._failed = after, 0
        self._counts: dict[str, int] = {}

    def step(self) -> None:
        """Start what there is room for, and tell what is over. Raises: ClawftError."""
        self._counts = {str(status): number for status, number in self._store.counts(self.fleet.id).items()}
        fed = self._feed(self._ahead - self._under_way)
        if fed:
            self._counts["queued"] = self._counts.get("queued", 0) + fed
        while self._tell_page():
            pass

    @property
    def state(self) -> State:
        """As it was at the last step."""
        failed = sum(self._counts.get(one, 0) for one in _AGAIN)
        done = self._counts.get("done", 0)
        if self.fleet.kind == "scan":
            done, failed = self._told - self._failed, self._failed
        under_way = self._under_way
        return State(self.fleet.total, done, failed, self._counts.get("waiting", 0), under_way, self._next is None)

    @property
    def _under_way(self) -> int:
        return self._counts.get("queued", 0) + self._counts.get("running", 0)

    @property
    def _is_settled(self) -> bool:
        """Whether nothing goes on any more, but by a person's word."""
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
            for result in tell_job(self.fleet, self._next, runs.get(self._next.line), self._runs):
                if result["line"] > self._after:
                    self._tell(result)
                    self._after = result["line"]
                    self._told += 1
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
