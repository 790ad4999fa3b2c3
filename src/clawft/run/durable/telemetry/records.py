"""What telemetry asks the database: how many runs and workers there are, and what a dead worker was doing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from clawft.run.durable.engine import Recorded
from clawft.run.durable.store import RunStore
from clawft.run.durable.telemetry.spans import read_ns
from clawft.run.durable.values import Run

__all__ = ["Records"]


class Records:
    """Every method raises a ClawftError where the database cannot be used."""

    def __init__(self, store: RunStore, recorded: Callable[[Run], Sequence[Recorded]]) -> None:
        self._store = store
        self._recorded = recorded

    def counts(self) -> Mapping[str, int]:
        return self._store.counts()

    def workers(self) -> int:
        return len(self._store.roster.workers())

    def held_by(self, worker: str) -> Iterator[tuple[Run, int, int]]:
        """The runs that a worker has, with the times of its first and its last sign of life in each, in nanoseconds."""
        for run in self._store.list(statuses=("running",), worker=worker):
            yield run, *self._find_times(run)

    def _find_times(self, run: Run) -> tuple[int, int]:
        """From its first step to the end of its last one, as far as any is recorded; else after what others did."""
        steps: list[dict[str, Any]] = [one.value for one in self._recorded(run) if isinstance(one.value, dict)]
        own = [_times(step) for step in steps if step.get("worker") == run.worker]
        others = [_times(step) for step in steps if step.get("worker") != run.worker]
        begun = max((end for _, end in others), default=read_ns(run.started or run.created))
        start = min((start for start, _ in own), default=begun)
        return start, max((end for _, end in own), default=start)


def _times(step: Mapping[str, Any]) -> tuple[int, int]:
    start = read_ns(step["started"])
    return start, start + (step["ms"] + 1) * 1_000_000  # both are cut to whole milliseconds
