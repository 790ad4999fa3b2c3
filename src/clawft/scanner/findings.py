"""Findings, reports and verdicts of a scan, and how reports on one skill are merged."""

import os
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct, structs

Severity = Literal["critical", "high", "medium", "low", "info"]
Verdict = Literal["clean", "suspicious", "malicious"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low", "info")
VERDICTS: tuple[Verdict, ...] = ("clean", "suspicious", "malicious")
ON_LOAD = "claude:load"  # the hook of commands in a text, which run as it is loaded


class Finding(Struct, frozen=True):
    """One thing a rule found, with the line that shows it and why it matters."""

    rule: str
    severity: Severity
    category: str
    message: str
    path: str
    line: int
    end_line: int
    evidence: str
    why: str
    fix: str
    confidence: float
    origin: tuple[str, ...] = ()  # how the text was reached that holds it: ("fence", "base64"); () is the file itself


class Gap(Struct, frozen=True):
    """Something that was not analysed, or not to its end, and why."""

    path: str
    reason: str
    failed: bool = False  # the scanner itself gave up (an error, the time): nothing is known, so a gate blocks


class Coverage(Struct, frozen=True):
    """The extent of a scan, and its gaps."""

    files: int = 0
    size: int = 0
    gaps: tuple[Gap, ...] = ()


class Power(Struct, frozen=True):
    """Everything a skill would use if all it holds ran."""

    network: tuple[str, ...] = ()
    exec: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    persistence: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class Report(Struct, frozen=True):
    """The verdict on one skill, and all it rests on."""

    path: str
    name: str
    digest: str
    verdict: Verdict
    confidence: float
    findings: tuple[Finding, ...]
    power: Power
    coverage: Coverage

    @property
    def failed(self) -> bool:
        """Return whether the scanner itself gave up somewhere: then nothing is known of that part."""
        return any(gap.failed for gap in self.coverage.gaps)


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings, the worst first."""
    return sorted(findings, key=lambda one: (SEVERITIES.index(one.severity), one.path, one.line, one.rule))


def judge(findings: Sequence[Finding], gaps: Sequence[Gap]) -> tuple[Verdict, float]:
    """The verdict and how sure it is, from 0 to 1."""
    critical = [finding.confidence for finding in findings if finding.severity == "critical"]
    if critical:
        return "malicious", _join(critical)
    high = [finding.confidence for finding in findings if finding.severity == "high"]
    if high or gaps:
        return "suspicious", _join(high) if high else 0.5
    medium = [finding.confidence for finding in findings if finding.severity == "medium"]
    return "clean", round(max(0.5, 0.95 - 0.1 * len(medium)), 2)


def _join(confidences: Sequence[float]) -> float:
    """Combine the confidences of independent signs: each takes its part of the doubt that is left."""
    doubt = 1.0
    for confidence in confidences:
        doubt *= 1 - confidence
    return min(0.99, round(1 - doubt, 2))  # nothing is certain


def merge_reports(reports: Sequence[Report]) -> Report:
    """One report; its path, name and digest are those of the first."""
    first = reports[0]
    if len(reports) == 1:
        return first
    findings = {
        (finding.rule, finding.path, finding.line): finding for report in reports for finding in report.findings
    }
    worst = max(reports, key=lambda one: (VERDICTS.index(one.verdict), one.confidence))
    return structs.replace(
        first,
        verdict=worst.verdict,
        confidence=worst.confidence,
        findings=tuple(sort_findings(findings.values())),
        power=Power(
            *(_join_merge([getattr(report.power, name) for report in reports]) for name in Power.__struct_fields__)
        ),
        coverage=Coverage(
            sum(report.coverage.files for report in reports),
            sum(report.coverage.size for report in reports),
            tuple(gap for report in reports for gap in report.coverage.gaps),
        ),
    )


def move_report(report: Report, path: str) -> Report:
    """A report on the same content at another place; what has no name of its own is called by its file's."""
    before, now = os.path.basename(report.path), os.path.basename(path)
    return structs.replace(report, path=path, name=now if report.name == before else report.name)


def _join_merge(lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({name for each in lists for name in each}))
