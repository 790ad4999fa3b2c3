"""Reports: when nothing is known of a part, and how those on the parts of one skill become one."""

import pytest

from clawft.scanner.findings import (
    Coverage,
    Finding,
    Gap,
    Power,
    Report,
    Severity,
    Verdict,
    merge_reports,
    move_report,
)

LARGE, GAVE_UP = Gap("big.csv", "It is too large"), Gap("a.sh", "The time is over", failed=True)


def find(severity: Severity, path: str, line: int = 1) -> Finding:
    return Finding("R1", severity, "other", "It may", path, line, line, "x", "why", "fix", 0.9)


def report(
    name: str,
    verdict: Verdict = "clean",
    confidence: float = 0.95,
    findings: tuple[Finding, ...] = (),
    power: Power = Power(),  # noqa: B008
    coverage: Coverage = Coverage(),  # noqa: B008
) -> Report:
    return Report(f"/skills/{name}", name, f"digest of {name}", verdict, confidence, findings, power, coverage)


@pytest.mark.parametrize(
    ("gaps", "failed"), [((), False), ((LARGE,), False), ((LARGE, GAVE_UP), True), ((GAVE_UP,), True)]
)
def test_a_scan_failed_where_the_scanner_gave_up_anywhere(gaps: tuple[Gap, ...], failed: bool) -> None:
    assert report("a", coverage=Coverage(gaps=gaps)).failed is failed


def test_nothing_is_scanned_until_it_is_said_how_much() -> None:
    assert (Coverage().files, Coverage().size, Coverage().gaps) == (0, 0, ())


def test_reports_on_the_parts_of_a_skill_become_one_that_is_as_bad_as_the_worst() -> None:
    twice, critical, low = find("high", "b.sh"), find("critical", "z.sh"), find("low", "a.sh")
    merged = merge_reports(
        [
            report("a", "suspicious", 0.9, (low, twice), Power(network=("b.example", "a.example")), Coverage(3, 30)),
            report("b", "malicious", 0.4, (twice, critical), Power(("a.example",), env=("TOKEN",)),
                   Coverage(1, 5, (LARGE,))),
            report("c", "malicious", 0.6, coverage=Coverage(2, 7, (GAVE_UP,))),
            report("d", "clean", 0.95),
        ]
    )  # fmt: skip
    assert (merged.path, merged.name, merged.digest) == ("/skills/a", "a", "digest of a")
    assert (merged.verdict, merged.confidence) == ("malicious", 0.6)
    assert merged.findings == (critical, twice, low)
    assert merged.power == Power(network=("a.example", "b.example"), env=("TOKEN",))
    assert merged.coverage == Coverage(6, 42, (LARGE, GAVE_UP))


@pytest.mark.parametrize("verdicts", [("clean", "malicious"), ("malicious", "clean")])
def test_two_reports_are_merged_whichever_is_worse(verdicts: tuple[Verdict, Verdict]) -> None:
    merged = merge_reports([report(verdict, verdict) for verdict in verdicts])
    assert (merged.verdict, merged.name) == ("malicious", verdicts[0])


def test_a_report_alone_stays_as_it_is() -> None:
    alone = report("a", findings=(find("low", "b.sh"), find("high", "a.sh")), power=Power(network=("b", "a")))
    assert merge_reports([alone]) == alone


@pytest.mark.parametrize(("name", "moved"), [("tool", "copy"), ("its own name", "its own name")])
def test_a_copy_is_called_by_its_folder_unless_the_skill_has_a_name_of_its_own(name: str, moved: str) -> None:
    before = Report("/one/tool", name, "d", "clean", 0.95, (), Power(), Coverage(1, 2))
    assert move_report(before, "/other/copy") == Report("/other/copy", moved, "d", "clean", 0.95, (), Power(),
                                                        Coverage(1, 2))  # fmt: skip
