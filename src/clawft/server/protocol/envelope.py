"""What every message between a client and the daemon has: its type, and the id that an answer repeats."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.errors import Diagnostic

__all__ = ["VERSION", "Answer", "Id", "Key", "Name", "Problem", "Refusal", "Request", "Scope", "Words", "to_problem"]

VERSION = "v1"
Scope = Literal["read", "run", "approve", "admin"]
Id = Annotated[str, Meta(max_length=128)]
Name = Annotated[str, Meta(min_length=1, max_length=256)]
Key = Annotated[str, Meta(max_length=256)]  # of a session
Words = Annotated[str, Meta(max_length=500_000)]


class Request(Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    """What a client asks for. Whatever answers it carries the same `id`."""

    id: Id = ""


class Answer(Struct, frozen=True, kw_only=True, tag_field="type"):
    """What the daemon says. One without `id` was not asked for: it comes from a subscription."""

    id: Id = ""


class Problem(Struct, frozen=True, kw_only=True):
    """Something worth saying about one place: a reason, a diagnostic, or an error."""

    code: str
    severity: Literal["error", "warning", "note"]
    message: str
    path: str = ""
    line: int | None = None
    hint: str | None = None
    fixable: bool = False


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


class Refusal(Answer, frozen=True, kw_only=True, tag="error"):
    """It was not done, and why."""

    error: Problem
