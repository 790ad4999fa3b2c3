"""From findings and gaps to a verdict, and how sure it is."""

import pytest

from clawft.scanner.findings import Finding, Gap, Severity, Verdict, judge

GAP = Gap("big.bin", "It is too large")


def found(severity: Severity, confidence: float) -> Finding:
    return Finding("R1", severity, "other", "It may", "a.py", 1, 1, "x", "why", "fix", confidence)


@pytest.mark.parametrize(
    ("findings", "gaps", "verdict", "sure"),
    [
        ([], [], "clean", 0.95),
        ([found("low", 0.9), found("info", 0.9)], [], "clean", 0.95),
        ([found("medium", 0.9)], [], "clean", 0.85),
        ([found("medium", 0.9)] * 3, [], "clean", 0.65),
        ([found("medium", 0.9)] * 20, [], "clean", 0.5),
        ([], [GAP], "suspicious", 0.5),
        ([found("high", 0.7)], [], "suspicious", 0.7),
        ([found("high", 0.7)], [GAP], "suspicious", 0.7),
        ([found("high", 0.333)], [], "suspicious", 0.33),
        ([found("high", 0.6), found("high", 0.5)], [], "suspicious", 0.8),
        ([found("critical", 0.4)], [], "malicious", 0.4),
        ([found("critical", 0.4), found("high", 0.9), found("medium", 0.9)], [GAP], "malicious", 0.4),
        ([found("critical", 0.5)] * 2, [], "malicious", 0.75),
        ([found("critical", 1.0)], [], "malicious", 0.99),
    ],
)
def test_the_worst_finding_decides_and_all_of_its_kind_make_it_surer(
    findings: list[Finding], gaps: list[Gap], verdict: Verdict, sure: float
) -> None:
    assert judge(findings, gaps) == (verdict, sure)
