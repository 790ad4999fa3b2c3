"""Reports as SARIF 2.1.0, for code hosts and editors: rules with their pages, results with places and fingerprints."""

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from clawft import __version__
from clawft.scanner.findings import Finding, Report, Severity
from clawft.scanner.reports.rules import render_rule, tags_of
from clawft.scanner.reports.text import render_origin, reveal
from clawft.scanner.rule import ScanRule

_LEVELS: dict[Severity, str] = {
    "critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note",
}  # fmt: skip
# Code hosts sort by this number, on the scale of CVSS.
_SCORES: dict[Severity, str] = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "3.0", "info": "1.0"}


def render_sarif(reports: Sequence[Report], rules: Sequence[ScanRule], base: str) -> dict[str, Any]:
    """One run. Addresses are relative to the folder `base` for what lies below it."""
    numbers = {rule.id: number for number, rule in enumerate(rules)}
    driver = {
        "name": "clawft",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": _address(base) + "/"}},
        "invocations": [_invocation(reports, base)],
        "results": [_result(report, finding, numbers, base) for report in reports for finding in report.findings],
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _rule(rule: ScanRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.what},
        "help": {"text": f"{rule.why} {rule.fix}", "markdown": render_rule(rule)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": tags_of(rule), "security-severity": _SCORES[rule.severity]},
    }


def _result(report: Report, finding: Finding, numbers: dict[str, int], base: str) -> dict[str, Any]:
    hidden = render_origin(finding)
    text = f"{finding.message}{f' (in {hidden})' if hidden else ''}"
    result = {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": reveal(text)},
        "locations": [_location(report, finding, base)],
        "partialFingerprints": {"clawftFinding/v1": _fingerprint(report, finding)},
        "rank": round(finding.confidence * 100, 1),
        "properties": {
            "skill": report.name,
            "verdict": report.verdict,
            "severity": finding.severity,
            "evidence": reveal(finding.evidence),
            "origin": list(finding.origin),
        },
    }
    return {**result, "ruleIndex": numbers[finding.rule]} if finding.rule in numbers else result


def _location(report: Report, finding: Finding, base: str) -> dict[str, Any]:
    file, _, member = finding.path.partition("!")
    line = max(1, finding.line) if not member else 1  # lines of a member are not lines of the archive
    place = {
        "artifactLocation": _artifact(report, file, base),
        "region": {"startLine": line, "endLine": max(line, finding.end_line) if not member else 1},
    }
    named = {"logicalLocations": [{"fullyQualifiedName": reveal(finding.path), "kind": "member"}]} if member else {}
    return {"physicalLocation": place, **named}


def _artifact(report: Report, file: str, base: str) -> dict[str, str]:
    path = report.path if not file or os.path.isfile(report.path) else os.path.join(report.path, file)
    if path == base or path.startswith(base.rstrip("/") + "/"):
        return {"uri": _quote(os.path.relpath(path, base)), "uriBaseId": "SRCROOT"}
    return {"uri": _address(path)}


def _invocation(reports: Sequence[Report], base: str) -> dict[str, Any]:
    """Return whether all of it was scanned, and what was not."""
    notes = [
        {
            "level": "error" if gap.failed else "warning",
            "message": {"text": reveal(f"Not analysed: {gap.reason}")},
            "locations": [
                {"physicalLocation": {"artifactLocation": _artifact(report, gap.path.partition("!")[0], base)}}
            ],
        }
        for report in reports
        for gap in report.coverage.gaps
    ]
    return {
        "executionSuccessful": not any(report.failed for report in reports),
        "toolExecutionNotifications": notes,
    }


def _fingerprint(report: Report, finding: Finding) -> str:
    """Return a text that stays while rule, file and evidence do: a line may move."""
    text = "\0".join((report.name, finding.rule, finding.path, finding.evidence))
    return sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def _address(path: str) -> str:
    return f"file://{_quote(os.path.abspath(path))}".rstrip("/")


def _quote(path: str) -> str:
    return quote(os.fsencode(path), safe="/-._~")
