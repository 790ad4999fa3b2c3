"""The scan of one batch of a fleet, as a run that needs no agent."""

import threading
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from anyio import to_thread
from msgspec import Struct

from clawft.agent.run_request import RunRequest
from clawft.agent.tools.steps import TurnStep
from clawft.errors import ClawftError
from clawft.scanner.processes import ScanProcess, ScanRequest

if TYPE_CHECKING:
    from clawft.jobs.recorded_run import DurableSteps


_STEP = "scan"


class ScanTarget(Struct, frozen=True, omit_defaults=True):
    """One line of a fleet's scan. `rest`: what is below a folder outside its skills."""

    path: str
    rest: bool = False


class ScanBatch(Struct, frozen=True):
    """The task of a run of kind `scan`, in `RunRequest.task`. `fresh`: earlier reports are ignored."""

    targets: tuple[ScanTarget, ...]
    fresh: bool = False


class ScanTask:
    """Does such runs, one at a time. `close` when no more come."""

    def __init__(self, cache_dir: str | None) -> None:
        self._cache_dir = cache_dir or ""
        self._process = ScanProcess()
        self._core: anyio.Lock | None = None

    async def __call__(self, request: RunRequest, steps: "DurableSteps") -> str:
        """Scan all that is asked for: how many there are of each verdict. Raises: ClawftError if one failed."""
        batch = msgspec.convert(request.task, ScanBatch)
        self._core = self._core or anyio.Lock()
        reports: list[dict[str, Any]] = [{} for _ in batch.targets]
        due, number, is_new = list(range(len(batch.targets))), 0, False
        async with self._core:  # before the step: one that waits here is not being done
            while due and not is_new:
                number += 1

                async def scan(wanted: tuple[int, ...] = tuple(due)) -> list[dict[str, Any]]:
                    nonlocal is_new
                    is_new = True
                    return await self._scan(batch, wanted)

                step = TurnStep("command", _STEP, summary=f"{len(due)} skills")
                made: list[dict[str, Any]] = await steps.run(step, scan, list[dict[str, Any]], at=f"{_STEP}{number}")
                due = _merge(reports, made)
        if due:
            first = reports[due[0]]
            message = f"{len(due)} of {len(reports)} could not be scanned, the first of them {first['path']}"
            raise ClawftError("scan-failed", f"{message}: {_reason(first)}", hint="See the lines of the fleet")
        return render_verdict_counts(reports)

    async def _scan(self, batch: ScanBatch, wanted: Iterable[int]) -> list[dict[str, Any]]:
        cache_dir = "" if batch.fresh else self._cache_dir
        orders = [ScanRequest(target.path, target.rest, cache_dir) for target in (batch.targets[at] for at in wanted)]
        stopped = threading.Event()

        def scan_all() -> list[dict[str, Any]]:
            return [self._process.scan(order) for order in orders if not stopped.is_set()]

        try:
            return await to_thread.run_sync(scan_all, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            stopped.set()
            self._process.kill()
            raise

    def close(self) -> None:
        self._process.close()


def read_reports(steps: list[Any]) -> list[dict[str, Any]]:
    """The reports of a run from its steps, the oldest first: those of retries in place of those that failed."""
    reports: list[dict[str, Any]] = []
    for value in steps:
        if isinstance(value, dict) and value.get("name") == _STEP:
            if reports:
                _merge(reports, value["result"])
            else:
                reports = list(value["result"])
    return reports


def _merge(reports: list[dict[str, Any]], made: list[dict[str, Any]]) -> list[int]:
    """Put reports where they belong, which is where none is yet or one that failed; where some are still missing."""
    places = [at for at, report in enumerate(reports) if not report or is_failed(report)]
    for at, report in zip(places, made, strict=True):
        reports[at] = report
    return [at for at in places if is_failed(reports[at])]


def is_failed(report: dict[str, Any]) -> bool:
    """Return whether the scanner gave up on it."""
    return any(gap["failed"] for gap in report["coverage"]["gaps"])


def _reason(report: dict[str, Any]) -> str:
    return str(next(gap["reason"] for gap in report["coverage"]["gaps"] if gap["failed"]))


def render_verdict_counts(reports: list[dict[str, Any]]) -> str:
    """Render the number of reports for each verdict."""
    counts = Counter(report["verdict"] for report in reports)
    return ", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items()))
