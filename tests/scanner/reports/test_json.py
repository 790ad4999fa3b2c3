"""The JSON of a scan has the keys of `clawft.scan.v1`, the contract first and what was added after."""

from collections.abc import Callable

import msgspec

from clawft.scanner import Coverage, Finding, Gap, Report
from clawft.scanner.reports.json import count_verdicts, report_json, rule_json
from clawft.scanner.rules import load_rules

Make = Callable[..., Report]


def test_keys_are_those_of_the_contract(report: Make) -> None:
    document = report_json([report()], load_rules())

    assert document["engine"].keys() == {"version", "rules"}
    (result,) = document["results"]
    assert list(result) == [
        "path", "name", "digest", "verdict", "findings", "power", "confidence", "coverage",
    ]  # fmt: skip
    assert list(result["findings"][0]) == [
        "rule", "severity", "category", "message", "path", "line", "end_line", "evidence", "why", "fix", "confidence",
        "origin",
    ]  # fmt: skip
    assert list(result["power"]) == ["network", "exec", "files", "env", "persistence", "hooks", "tools"]
    assert list(result["coverage"]) == ["files", "size", "gaps"]


def test_document_can_be_read_back(report: Make, finding: Callable[..., Finding]) -> None:
    odd = report(findings=(finding(message='"\x1b\u202e\n', origin=("fence", "base64")),))
    encoded = msgspec.json.encode(report_json([odd], load_rules())["results"])

    assert msgspec.json.decode(encoded, type=list[Report]) == [odd]


def test_summary_counts_verdicts_and_failures(report: Make) -> None:
    failed = report(verdict="suspicious", findings=(), coverage=Coverage(gaps=(Gap("", "no", failed=True),)))

    counts = count_verdicts([report(), report(verdict="clean"), failed])

    assert counts == {"malicious": 1, "suspicious": 1, "clean": 1, "failed": 1}
    assert next(iter(counts)) == "malicious"


def test_rule_has_all_its_texts_and_no_code() -> None:
    for rule in load_rules():
        texts = rule_json(rule)
        assert "check" not in texts
        assert texts["id"] == rule.id
        assert msgspec.json.encode(texts)
