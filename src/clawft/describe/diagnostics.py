"""A diagnostic or a reason as other programs read it."""

from typing import Any

from clawft.errors import Diagnostic

__all__ = ["to_json"]


def to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic or reason as other programs read it."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "path": diagnostic.path,
        "line": diagnostic.line or None,
        "hint": diagnostic.hint or None,
        "fixable": bool(diagnostic.fix),
    }
