"""Intake: every file of a skill as documents, whatever its name, type or size; what stays unread is said."""

from clawft.scanner.intake.files import ScannedFiles, read_files

__all__ = ["ScannedFiles", "read_files"]
