"""SARIF 2.1.0: every object has the properties that the standard names for it, and no other.

The types below say, in our words, what the schema of the standard (OASIS, sarif-schema-2.1.0.json) demands of the
parts that are written: which properties there are, which are required, and what they may hold.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote

import msgspec
import pytest
from msgspec import Meta, Struct, field

from clawft.scanner import Coverage, Finding, Gap, Report
from clawft.scanner.reports.sarif import render_sarif
from clawft.scanner.rules import load_rules

Make = Callable[..., Report]
Uri = Annotated[str, Meta(pattern=r"^(?:file:///)?[A-Za-z0-9/._~%-]+$")]
Index = Annotated[int, Meta(ge=-1)]
Line = Annotated[int, Meta(ge=1)]
Level = Literal["none", "note", "warning", "error"]


class _Strict(Struct, forbid_unknown_fields=True, rename="camel"):
    """An object that may hold nothing else."""


class Message(_Strict):
    text: Annotated[str, Meta(min_length=1)]
    markdown: str = ""


class Tags(Struct):
    tags: Annotated[list[str], Meta(min_length=1)]
    security_severity: Annotated[str, Meta(pattern=r"^\d\.\d$")] = field(name="security-severity")


class Configuration(_Strict):
    level: Level


class Descriptor(_Strict):
    id: str
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9]+$")]
    short_description: Message
    full_description: Message
    help: Message
    default_configuration: Configuration
    properties: Tags


class Driver(_Strict):
    name: str
    version: str
    semantic_version: Annotated[str, Meta(pattern=r"^\d+\.\d+\.\d+")]
    rules: list[Descriptor]


class Tool(_Strict):
    driver: Driver


class Artifact(_Strict):
    uri: Uri
    uri_base_id: str = ""


class Region(_Strict):
    start_line: Line
    end_line: Line


class Physical(_Strict):
    artifact_location: Artifact
    region: Region | None = None


class Logical(_Strict):
    fully_qualified_name: str
    kind: str


class Location(_Strict):
    physical_location: Physical
    logical_locations: list[Logical] = []


class Result(_Strict):
    rule_id: str
    level: Level
    message: Message
    locations: Annotated[list[Location], Meta(min_length=1)]
    partial_fingerprints: dict[str, str]
    rank: Annotated[float, Meta(ge=-1, le=100)]
    properties: dict[str, Any]
    rule_index: Index = -1


class Notification(_Strict):
    level: Level
    message: Message
    locations: list[Location]


class Invocation(_Strict):
    execution_successful: bool
    tool_execution_notifications: list[Notification]


class Run(_Strict):
    tool: Tool
    column_kind: Literal["utf16CodeUnits", "unicodeCodePoints"]
    original_uri_base_ids: dict[str, Artifact]
    invocations: list[Invocation]
    results: list[Result]


class Log(_Strict):
    version: Literal["2.1.0"]
    runs: list[Run]
    schema: str = field(name="$schema")


def _read(reports: list[Report], base: str = "/work") -> Run:
    encoded = msgspec.json.encode(render_sarif(reports, load_rules(), base))
    (run,) = msgspec.json.decode(encoded, type=Log).runs
    return run


def test_rules_have_their_page_level_and_tags(report: Make) -> None:
    run = _read([report()])

    rules = {rule.id: rule for rule in run.tool.driver.rules}
    assert rules.keys() == {rule.id for rule in load_rules()}
    sent = rules["secret-file-sent"]
    assert sent.default_configuration.level == "error"
    assert {"security", "exfiltration", "AST01", "AML.T0025"} <= set(sent.properties.tags)
    assert sent.help.markdown.startswith("# secret-file-sent")
    assert float(sent.properties.security_severity) >= 9


def test_result_names_rule_place_and_fingerprint(report: Make) -> None:
    run = _read([report()])

    (result,) = run.results
    assert run.tool.driver.rules[result.rule_index].id == result.rule_id == "secret-file-sent"
    (place,) = result.locations
    assert place.physical_location.artifact_location == Artifact("skills/bad/scripts/run.sh", "SRCROOT")
    assert place.physical_location.region == Region(3, 3)
    assert run.original_uri_base_ids["SRCROOT"].uri == "file:///work/"
    assert result.rank == 95
    assert re.fullmatch(r"[0-9a-f]{64}", result.partial_fingerprints["clawftFinding/v1"])


def test_fingerprint_stays_when_the_line_moves_and_changes_with_the_evidence(
    report: Make, finding: Callable[..., Finding]
) -> None:
    was, moved, other = (
        _read([report(findings=(one,))]).results[0].partial_fingerprints
        for one in (finding(), finding(line=9, end_line=9), finding(evidence="other"))
    )

    assert was == moved
    assert was != other


@pytest.mark.parametrize(
    ("severity", "level"),
    [("critical", "error"), ("high", "error"), ("medium", "warning"), ("low", "note"), ("info", "note")],
)
def test_severities_become_levels(report: Make, finding: Callable[..., Finding], severity: str, level: str) -> None:
    assert _read([report(findings=(finding(severity=severity),))]).results[0].level == level


def test_odd_names_are_escaped_in_addresses(report: Make, finding: Callable[..., Finding]) -> None:
    run = _read([report(findings=(finding(path="a b/ü#?%\udcff.sh", line=0, end_line=0),))])

    place = run.results[0].locations[0].physical_location
    assert unquote(place.artifact_location.uri, errors="surrogateescape") == "skills/bad/a b/ü#?%\udcff.sh"
    assert place.region == Region(1, 1)


def test_what_lies_elsewhere_has_a_whole_address(report: Make) -> None:
    (result,) = _read([report()], base="/elsewhere").results

    assert result.locations[0].physical_location.artifact_location == Artifact("file:///work/skills/bad/scripts/run.sh")


def test_member_of_an_archive_is_named_beside_the_archive(report: Make, finding: Callable[..., Finding]) -> None:
    (result,) = _read([report(findings=(finding(path="assets/a.zip!run.sh", line=7, end_line=7),))]).results

    (place,) = result.locations
    assert place.physical_location.artifact_location.uri == "skills/bad/assets/a.zip"
    assert place.physical_location.region == Region(1, 1)
    assert place.logical_locations[0].fully_qualified_name == "assets/a.zip!run.sh"


def test_file_scanned_alone_is_its_own_place(tmp_path: Path, report: Make, finding: Callable[..., Finding]) -> None:
    (tmp_path / "run.sh").write_text("1\n")
    alone = report(path=str(tmp_path / "run.sh"), findings=(finding(path="run.sh"),))

    (result,) = _read([alone], base=str(tmp_path)).results

    assert result.locations[0].physical_location.artifact_location.uri == "run.sh"


def test_gaps_are_notifications_and_a_failure_is_no_success(report: Make) -> None:
    partly = report(coverage=Coverage(2, 9, (Gap("big.bin", "It is too large"),)))
    failed = report(coverage=Coverage(2, 9, (Gap("", "The time was over", failed=True),)))

    (whole,) = _read([partly]).invocations
    (broken,) = _read([partly, failed]).invocations

    assert whole.execution_successful
    assert whole.tool_execution_notifications[0].locations[0].physical_location.artifact_location.uri == (
        "skills/bad/big.bin"
    )
    assert not broken.execution_successful
    assert [one.level for one in broken.tool_execution_notifications] == ["warning", "error"]


def test_nothing_scanned_is_a_log_too() -> None:
    assert _read([]).results == []
