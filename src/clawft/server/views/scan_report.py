"""JSON documents of the scan report on one skill, and of the findings that a person allowed."""

from typing import Any

import msgspec
from msgspec import Struct

from clawft.app.app import App
from clawft.errors import ClawftError
from clawft.scanner.findings import Power, Report
from clawft.scanner.power_changes import PowerChange, compare_declared, compare_power
from clawft.skills.discovery.catalog import ReviewSubject
from clawft.skills.parse.model import Skill
from clawft.trust.overrides import Override
from clawft.trust.status import State, TrustStatus


class ScannedSkill(Struct, frozen=True):
    """The report on a skill, what it uses without declaring it, and what changed since the user allowed it."""

    report: Report
    undeclared: Power
    overrides: tuple[Override, ...]
    change: PowerChange


def load_scanned(app: App, status: TrustStatus[ReviewSubject, State]) -> ScannedSkill:
    """Load the report and the overrides of a skill. It is scanned if that was not done before."""
    found = status.found
    report = app.load_report(found)
    try:
        made = tuple(override for override in app.overrides.load() if override.path == found.root)
    except ClawftError:  # its status says so where it matters
        made = ()
    change = compare_power(max(made, key=lambda one: one.at).power, report.power) if made else PowerChange()
    undeclared = compare_declared(found.about or Skill(name=status.name), report.power)
    return ScannedSkill(report, undeclared, made, change)


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
        "overrides": [override_json(override) for override in scanned.overrides],
        "gaps": msgspec.to_builtins(report.coverage.gaps),
    }


def override_json(override: Override) -> dict[str, Any]:
    """An exception for other programs."""
    names = ("rule", "name", "path", "digest", "because", "by", "at", "expires")
    return {name: getattr(override, name) for name in names}
