"""A diagnostic or a reason as other programs read it."""

from typing import Any

from msgspec import structs

from clawft.errors import Diagnostic
from clawft.protocol.base import Problem

__all__ = ["to_json", "to_problem"]


def to_problem(diagnostic: Diagnostic) -> Problem:
    """A diagnostic or reason as other programs read it."""
    return Problem(
        code=diagnostic.code,
        severity=diagnostic.severity,
        message=diagnostic.message,
        path=diagnostic.path,
        line=diagnostic.line or None,
        hint=diagnostic.hint or None,
        fixable=bool(diagnostic.fix),
    )


def to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """The same as the fields of a document."""
    return structs.asdict(to_problem(diagnostic))
