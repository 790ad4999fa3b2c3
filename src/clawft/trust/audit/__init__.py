"""The audit log: decisions and actions, line by line, in a file that shows when it was tampered with."""

from clawft.trust.audit.log import LOG_NAME, AuditEntry, AuditLog

__all__ = ["LOG_NAME", "AuditEntry", "AuditLog"]
