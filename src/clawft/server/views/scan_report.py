"""What the scanner says of one skill, as other programs read it."""

from typing import Any

import msgspec
from msgspec import Struct

from clawft.app import App
from clawft.errors import ClawftError
from clawft.format.model import Skill
from clawft.scan.compare import PowerChange, compare_declared, compare_power
from clawft.scan.findings import Power, Report
from clawft.trust import Standing
from clawft.trust.overrides import Override

__all__ = ["ScannedSkill", "load_scanned", "override_json", "scanned_json"]


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
