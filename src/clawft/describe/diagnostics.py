"""A diagnostic or a reason as the fields of a document."""

from typing import Any

from msgspec import structs

from clawft.errors import Diagnostic
from clawft.protocol.base import to_problem

__all__ = ["to_json"]


def to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """As other programs read it."""
    return structs.asdict(to_problem(diagnostic))
