"""What the scanner says of one skill, to be read and for other programs: `show` and `allow` share it."""

from collections.abc import Sequence

from clawft.cli.output import one_line
from clawft.describe.scanned import ScannedSkill
from clawft.scan.findings import Power, Report
from clawft.scan.reports.words import describe_power, reveal

__all__ = ["finding_lines", "power_lines", "scanned_lines"]

MAX_VALUES = 12
MAX_FINDINGS = 20


def scanned_lines(scanned: ScannedSkill) -> list[str]:
    """Verdict, power and what is odd about it, to be read."""
    report = scanned.report
    sure = "nothing is known" if report.failed else f"{report.confidence:.0%} sure"
    lines = [f"Verdict: {'not scanned' if report.failed else report.verdict} ({sure})"]
    lines += power_lines("Would use", report.power)
    lines += power_lines("Does not declare", scanned.undeclared)
    if scanned.change:
        since = max(one.at for one in scanned.overrides)[:10]
        lines += power_lines(f"New since it was allowed on {since}", scanned.change.added)
        lines += power_lines(f"Gone since it was allowed on {since}", scanned.change.removed)
    return lines


def finding_lines(report: Report, rules: Sequence[str] = ()) -> list[str]:
    """The findings with the line that shows each: all but the minor ones, or those of some rules."""
    shown = [one for one in report.findings if (one.rule in rules if rules else one.severity not in ("low", "info"))]
    lines = []
    for one in shown[:MAX_FINDINGS]:
        lines.append(one_line(f"{one.severity}[{one.rule}] {one.path}:{one.line}: {reveal(one.message)}"))
        lines.append(f"  > {one_line(reveal(one.evidence))}")
    if len(shown) > MAX_FINDINGS:
        lines.append(f"… and {len(shown) - MAX_FINDINGS} more. Run: weft skills scan")
    return lines


def power_lines(title: str, power: Power) -> list[str]:
    parts = describe_power(power)
    return [f"{title}: {'; '.join(f'{label} {_list(values)}' for label, values in parts)}"] if parts else []


def _list(values: Sequence[str]) -> str:
    shown = ", ".join(one_line(reveal(one))[:100] for one in values[:MAX_VALUES])
    return f"{shown} and {len(values) - MAX_VALUES} more" if len(values) > MAX_VALUES else shown
