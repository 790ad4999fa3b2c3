"""What was decided and done, line by line, in a file that shows when somebody changed it."""

from clawft.trust.audit.log import LOG_NAME, Audit, Entry

__all__ = ["LOG_NAME", "Audit", "Entry"]
