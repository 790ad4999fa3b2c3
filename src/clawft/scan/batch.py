"""Many scans: a report on each target, in order, whatever happens to the scan of one.

This is the one place where a target becomes a report; `scan_many` spreads the work over processes when it pays.
"""

import os
from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from clawft.scan.findings import Coverage, Gap, Power, Report
from clawft.scan.targets import Target

__all__ = ["FEW", "choose_jobs", "failed_report", "scan_many", "scan_target"]

FEW = 24  # so many are scanned sooner than a second process has started
MAX_JOBS = 8
MAX_ASKED = 64  # more processes than that help nobody

Watch = Callable[[Report], None]


def scan_target(target: Target) -> Report:
    """Scan one target. What goes wrong is in the report: nothing is known then, and that is not `clean`."""
    from clawft.scan.engine import scan_path  # the help of a command needs none of it

    try:
        report = scan_path(target.path, without=target.without)
    except OSError as error:
        return failed_report(target.path, f"It cannot be read: {error.strerror or error}")
    except Exception as error:  # a stranger's files must not end the scan of the others
        return failed_report(target.path, f"The scanner failed on it: {error!r:.200}")
    if target.without:
        return structs.replace(report, name=f"{report.name} (outside its skills)")
    return report


def failed_report(path: str, reason: str) -> Report:
    """The report on something that could not be scanned."""
    return Report(
        path=path,
        name=os.path.basename(path) or path,
        digest="",
        verdict="suspicious",
        confidence=0.5,
        findings=(),
        power=Power(),
        coverage=Coverage(gaps=(Gap("", reason, failed=True),)),
    )


def choose_jobs(targets: int, jobs: int = 0) -> int:
    """How many processes scan so many targets: as many as asked for; else none besides this one for a few."""
    if jobs:
        return max(1, min(jobs, targets, MAX_ASKED))
    return 1 if targets <= FEW else min(os.cpu_count() or 1, MAX_JOBS)


def scan_many(targets: Sequence[Target], *, jobs: int = 0, watch: Watch | None = None) -> Iterator[Report]:
    """A report on each target, in their order; `watch` gets each as soon as it is made.

    `jobs` is the number of processes, 0 for what suits the machine. A process that dies or does not answer costs
    the one target it was scanning, whose report says so.
    """
    made: Iterator[tuple[int, Report]]
    if choose_jobs(len(targets), jobs) == 1:
        made = enumerate(map(scan_target, targets))
    else:
        from clawft.scan.workers import scan_apart  # costs an import that a single scan does without

        made = scan_apart(targets, choose_jobs(len(targets), jobs))
    early: dict[int, Report] = {}
    due = 0
    for index, report in made:
        if watch is not None:
            watch(report)
        early[index] = report
        while due in early:
            yield early.pop(due)
            due += 1
