"""Intake: every file of a skill as documents, whatever its name, type or size; what stays unread is said."""

from clawft.scan.intake.files import Files, read_files

__all__ = ["Files", "read_files"]
