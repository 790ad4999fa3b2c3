"""The audit log as other programs read it: `clawft.audit.v1` and `clawft.audit.verify.v1`."""

from msgspec import structs

from clawft.protocol.audit import AuditBreak, AuditLine, AuditVerdict
from clawft.trust.audit.line import Line
from clawft.trust.audit.verify import Verdict

__all__ = ["describe_line", "describe_verdict"]


def describe_line(line: Line) -> AuditLine:
    return AuditLine(**structs.asdict(line))


def describe_verdict(verdict: Verdict) -> AuditVerdict:
    broken = verdict.broken
    return AuditVerdict(
        intact=broken is None,
        lines=verdict.held,
        torn=verdict.torn,
        files=verdict.files,
        since=verdict.since or None,
        broken=AuditBreak(path=broken.path, line=broken.line or None, reason=broken.reason) if broken else None,
    )
