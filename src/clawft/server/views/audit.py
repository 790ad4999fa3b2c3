"""The audit log as other programs read it: `clawft.audit.v1` and `clawft.audit.verify.v1`."""

from msgspec import structs

from clawft.server.protocol.records import AuditBreak, AuditLine, AuditVerdict
from clawft.trust.audit.lines import AuditLogLine
from clawft.trust.audit.reader import AuditLogVerdict


def view_audit_line(line: AuditLogLine) -> AuditLine:
    return AuditLine(**structs.asdict(line))


def view_audit_verdict(verdict: AuditLogVerdict) -> AuditVerdict:
    broken = verdict.broken
    return AuditVerdict(
        intact=broken is None,
        lines=verdict.held,
        torn=verdict.torn,
        files=verdict.files,
        since=verdict.since or None,
        broken=AuditBreak(path=broken.path, line=broken.line or None, reason=broken.reason) if broken else None,
    )
