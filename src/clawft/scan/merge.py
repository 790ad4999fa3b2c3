"""Several reports on one skill as one: the worst verdict, and all that any of them found; and a report moved."""

import os
from collections.abc import Sequence

from msgspec import structs

from clawft.scan.findings import SEVERITIES, VERDICTS, Coverage, Power, Report

__all__ = ["merge_reports", "move_report"]


def merge_reports(reports: Sequence[Report]) -> Report:
    """One report; its path, name and digest are those of the first."""
    first = reports[0]
    if len(reports) == 1:
        return first
    findings = {(one.rule, one.path, one.line): one for report in reports for one in report.findings}
    worst = max(reports, key=lambda one: (VERDICTS.index(one.verdict), one.confidence))
    return structs.replace(
        first,
        verdict=worst.verdict,
        confidence=worst.confidence,
        findings=tuple(
            sorted(findings.values(), key=lambda one: (SEVERITIES.index(one.severity), one.path, one.line, one.rule))
        ),
        power=Power(*(_join([getattr(one.power, name) for one in reports]) for name in Power.__struct_fields__)),
        coverage=Coverage(
            sum(one.coverage.files for one in reports),
            sum(one.coverage.size for one in reports),
            tuple(gap for one in reports for gap in one.coverage.gaps),
        ),
    )


def move_report(report: Report, path: str) -> Report:
    """A report on the same content at another place; what has no name of its own is called by its file's."""
    before, now = os.path.basename(report.path), os.path.basename(path)
    return structs.replace(report, path=path, name=now if report.name == before else report.name)


def _join(lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({one for each in lists for one in each}))
