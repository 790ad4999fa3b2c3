"""What telemetry asks the database: how many runs and workers there are, and what a dead worker was doing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from clawft.run.durable.engine import Recorded
from clawft.run.durable.store import RunStore
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
        return len(self._store.workers())

    def held_by(self, worker: str) -> Iterator[tuple[Run, str]]:
        """The runs that a worker has, and about when it began with each."""
        for run in self._store.list(statuses=("running",), worker=worker):
            yield run, self._find_start(run)

    def _find_start(self, run: Run) -> str:
        """When its first step began, as far as any is recorded, else after what others recorded."""
        steps: list[dict[str, Any]] = [one.value for one in self._recorded(run) if isinstance(one.value, dict)]
        own = [step["started"] for step in steps if step.get("worker") == run.worker]
        before = [step["started"] for step in steps if step.get("worker") != run.worker]
        return min(own, default=max(before, default=run.started or run.created))
