"""What the scanner says of one skill, to be read and for other programs: `show` and `allow` share it."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clawft.app import App
from clawft.cli.output import one_line
from clawft.errors import ClawftError
from clawft.format.model import Skill
from clawft.scan.compare import PowerChange, compare_declared, compare_power
from clawft.scan.findings import Power, Report
from clawft.scan.reports.words import describe_power, reveal
from clawft.trust import Standing
from clawft.trust.overrides import Override

__all__ = [
    "ScannedSkill",
    "finding_lines",
    "load_scanned",
    "override_json",
    "power_lines",
    "scanned_json",
    "scanned_lines",
]

MAX_VALUES = 12
MAX_FINDINGS = 20


class ScannedSkill(Struct, frozen=True):
    """The report on a skill, what it uses without saying, and what changed since somebody allowed it."""

    report: Report
    undeclared: Power
    overrides: tuple[Override, ...]
    change: PowerChange


def load_scanned(app: App, standing: Standing) -> ScannedSkill:
    """What there is to know of a skill's power. It is scanned if that was not done before."""
    found = standing.found
    report = app.load_report(found)
    try:
        made = tuple(one for one in app.overrides.load() if one.path == found.folder)
    except ClawftError:  # its standing says so where it matters
        made = ()
    change = compare_power(max(made, key=lambda one: one.at).power, report.power) if made else PowerChange()
    undeclared = compare_declared(found.skill or Skill(name=standing.name), report.power)
    return ScannedSkill(report, undeclared, made, change)


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


def scanned_json(scanned: ScannedSkill) -> dict[str, Any]:
    """The same for other programs."""
    report = scanned.report
    return {
        "verdict": report.verdict,
        "confidence": report.confidence,
        "failed": report.failed,
        "findings": msgspec.to_builtins(report.findings),
        "power": msgspec.to_builtins(report.power),
        "undeclared": msgspec.to_builtins(scanned.undeclared),
        "changed": msgspec.to_builtins(scanned.change) if scanned.overrides else None,
        "overrides": [override_json(one) for one in scanned.overrides],
        "gaps": msgspec.to_builtins(report.coverage.gaps),
    }


def override_json(override: Override) -> dict[str, Any]:
    """An exception for other programs."""
    names = ("rule", "name", "path", "digest", "because", "by", "at", "expires")
    return {name: getattr(override, name) for name in names}


def power_lines(title: str, power: Power) -> list[str]:
    parts = describe_power(power)
    return [f"{title}: {'; '.join(f'{label} {_list(values)}' for label, values in parts)}"] if parts else []


def _list(values: Sequence[str]) -> str:
    shown = ", ".join(one_line(reveal(one))[:100] for one in values[:MAX_VALUES])
    return f"{shown} and {len(values) - MAX_VALUES} more" if len(values) > MAX_VALUES else shown
