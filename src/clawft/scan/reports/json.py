"""Reports and rules as other programs read them: the objects of `clawft.scan.v1` (DESIGN.md)."""

from collections.abc import Sequence
from typing import Any

import msgspec

from clawft import __version__
from clawft.scan.findings import VERDICTS, Report
from clawft.scan.rule import Rule

__all__ = ["count_verdicts", "report_fields", "report_json", "rule_json"]


def report_json(reports: Sequence[Report], rules: Sequence[Rule]) -> dict[str, Any]:
    """All but the `schema` of a document."""
    return {
        "engine": {"version": __version__, "rules": len(rules)},
        "summary": count_verdicts(reports),
        "results": [msgspec.to_builtins(report_fields(report)) for report in reports],
    }


def count_verdicts(reports: Sequence[Report]) -> dict[str, int]:
    """How many reports there are of each verdict, the worst first, and how many scans failed."""
    counts: dict[str, int] = {verdict: sum(one.verdict == verdict for one in reports) for verdict in reversed(VERDICTS)}
    return {**counts, "failed": sum(one.failed for one in reports)}


def rule_json(rule: Rule) -> dict[str, Any]:
    """A rule with all its texts."""
    return {name: getattr(rule, name) for name in rule.__struct_fields__ if name != "check"}


def report_fields(report: Report) -> dict[str, Any]:
    """In the order of the contract: what was added stands last."""
    first = ("path", "name", "digest", "verdict", "findings", "power")
    names = [*first, *(name for name in report.__struct_fields__ if name not in first)]
    return {name: getattr(report, name) for name in names}
