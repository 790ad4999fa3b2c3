"""Screenings: a report reduced for a gate to its verdict and one line for every rule that objects."""

from hashlib import blake2b

import msgspec
from msgspec import Struct

from clawft.scanner.findings import Finding, Report, Severity, Verdict

_SHOWN: tuple[Severity, ...] = ("critical", "high")


class Objection(Struct, frozen=True, array_like=True):
    """One rule's objection: the first place that shows it, how many there are, and the mark of all of them."""

    rule: str
    severity: Severity
    message: str
    path: str
    line: int
    count: int
    mark: str  # changes when the rule finds something else: what was allowed is not this any more


class Screening(Struct, frozen=True, array_like=True):
    """The findings on a skill that is not plainly clean, for a gate."""

    verdict: Verdict
    objections: tuple[Objection, ...] = ()
    unread: tuple[str, ...] = ()  # what was not looked at, and why
    failure: str = ""  # why nothing is known: the scanner crashed, or its time was over

    @property
    def critical(self) -> tuple[Objection, ...]:
        return tuple(objection for objection in self.objections if objection.severity == "critical")


_decoder: "msgspec.msgpack.Decoder[Screening]" = msgspec.msgpack.Decoder(Screening)


def decode_screening(content: bytes) -> Screening | None:
    """Decode a screening of the index; None for a clean skill, which is indexed as no bytes. Raises: MsgspecError."""
    return _decoder.decode(content) if content else None


def screen_report(report: Report) -> Screening | None:
    """The short form of a report; None for one that is clean and complete."""
    gaps = report.coverage.gaps
    failed = next((gap for gap in gaps if gap.failed), None)
    by_rule: dict[tuple[str, Severity], list[Finding]] = {}
    for finding in report.findings:
        if finding.severity in _SHOWN:
            by_rule.setdefault((finding.rule, finding.severity), []).append(finding)
    if report.verdict == "clean" and not by_rule and not gaps:
        return None
    unread = tuple(f"{gap.path}: {gap.reason}" for gap in gaps[:_MAX_UNREAD])
    failure = f"{failed.path}: {failed.reason}" if failed else ""
    return Screening(report.verdict, tuple(map(_object, by_rule.values())), unread, failure)


_MAX_UNREAD = 5


def _object(found: list[Finding]) -> Objection:
    first = found[0]
    places = sorted({(finding.path, finding.evidence, finding.message) for finding in found})
    mark = blake2b(repr(places).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return Objection(first.rule, first.severity, first.message, first.path, first.line, len(found), mark)
