"""What came of one line of a fleet, as other programs read it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from clawft.run.durable.fleets import Fleet
from clawft.run.durable.inputs import Job
from clawft.run.durable.runs import Runs
from clawft.run.durable.scanning import ScanTarget, is_failed, read_reports
from clawft.run.durable.values import Problem, Run
from clawft.scan.batch import failed_report
from clawft.scan.encoding import plain_report

__all__ = ["Result", "tell_job"]

Result = dict[str, Any]
_GONE = Problem("fleet-gone", "The run was removed", "Start another fleet to have it done")


def tell_job(fleet: Fleet, job: Job, run: Run | None, runs: Runs) -> Iterator[Result]:
    """A result for each line of a job. Raises: ClawftError."""
    if fleet.kind == "run":
        yield _tell_run(job, run)
        return
    reports = read_reports([one.value for one in runs.recorded(run)]) if run is not None else []
    problem = (run and run.error) or _GONE
    for at, target in enumerate(job.inputs):
        report = reports[at] if at < len(reports) else _missing(target, run, problem)
        status = "failed" if is_failed(report) else "done"
        yield {"line": job.line + at, "run": run.id if run else "", "status": status, **report}


def _tell_run(job: Job, run: Run | None) -> Result:
    problem = run.error if run is not None else _GONE
    if job.request is None:
        problem = Problem("fleet-line", job.problem)
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


def _missing(target: ScanTarget, run: Run | None, problem: Problem) -> dict[str, Any]:
    """The report on what nobody scanned."""
    reason = "The run was cancelled" if run is not None and run.status == "cancelled" else problem.message
    return plain_report(failed_report(target.path, reason))
