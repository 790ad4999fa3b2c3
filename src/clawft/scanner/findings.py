"""What a scan says: findings, power, coverage, and the report that holds them."""

from typing import Literal

from msgspec import Struct

__all__ = ["ON_LOAD", "SEVERITIES", "VERDICTS", "Coverage", "Finding", "Gap", "Power", "Report", "Severity", "Verdict"]

Severity = Literal["critical", "high", "medium", "low", "info"]
Verdict = Literal["clean", "suspicious", "malicious"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low", "info")
VERDICTS: tuple[Verdict, ...] = ("clean", "suspicious", "malicious")
ON_LOAD = "claude:load"  # the hook of commands in a text, which run as it is loaded


class Finding(Struct, frozen=True):
    """One thing a rule found, with the line that shows it and why it matters."""

    rule: str
    severity: Severity
    category: str
    message: str
    path: str
    line: int
    end_line: int
    evidence: str
    why: str
    fix: str
    confidence: float
    origin: tuple[str, ...] = ()  # how the text was reached that holds it: ("fence", "base64"); () is the file itself


class Gap(Struct, frozen=True):
    """Something that was not analysed, or not to its end, and why."""

    path: str
    reason: str
    failed: bool = False  # the scanner itself gave up (an error, the time): nothing is known, so a gate blocks


class Coverage(Struct, frozen=True):
    """How much of the skill was looked at."""

    files: int = 0
    size: int = 0
    gaps: tuple[Gap, ...] = ()


class Power(Struct, frozen=True):
    """What the skill would use when all it holds ran."""

    network: tuple[str, ...] = ()
    exec: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    persistence: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class Report(Struct, frozen=True):
    """The verdict on one skill, and all it rests on."""

    path: str
    name: str
    digest: str
    verdict: Verdict
    confidence: float
    findings: tuple[Finding, ...]
    power: Power
    coverage: Coverage

    @property
    def failed(self) -> bool:
        """Whether the scanner itself gave up somewhere: then nothing is known of that part."""
        return any(gap.failed for gap in self.coverage.gaps)
