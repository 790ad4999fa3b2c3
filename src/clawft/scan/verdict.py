"""The verdict: a critical finding blocks, a high one or an unread part is suspicious, the rest is clean."""

from collections.abc import Sequence

from clawft.scan.findings import Finding, Gap, Verdict

__all__ = ["judge"]


def judge(findings: Sequence[Finding], gaps: Sequence[Gap]) -> tuple[Verdict, float]:
    """The verdict and how sure it is, from 0 to 1."""
    critical = [one.confidence for one in findings if one.severity == "critical"]
    if critical:
        return "malicious", _join(critical)
    high = [one.confidence for one in findings if one.severity == "high"]
    if high or gaps:
        return "suspicious", _join(high) if high else 0.5
    medium = [one.confidence for one in findings if one.severity == "medium"]
    return "clean", round(max(0.5, 0.95 - 0.1 * len(medium)), 2)


def _join(confidences: Sequence[float]) -> float:
    """How sure several independent signs make: each takes its part of the doubt that is left."""
    doubt = 1.0
    for one in confidences:
        doubt *= 1 - one
    return min(0.99, round(1 - doubt, 2))  # nothing is certain
