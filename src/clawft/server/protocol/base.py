"""The base of every message between a client and the daemon: type, id, problem and refusal, and their JSON encoding."""

from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct, structs

from clawft.errors import Diagnostic

T = TypeVar("T", bound=Struct)


def copy_fields(kind: type[T], source: object, **others: Any) -> T:
    """Make a message of the fields that a source has under the same names, and of others."""
    names = (name for name in kind.__struct_fields__ if name not in others and hasattr(source, name))
    return kind(**{name: getattr(source, name) for name in names}, **others)


VERSION = "v1"
TokenScope = Literal["read", "run", "approve", "admin"]
Id = Annotated[str, Meta(max_length=128)]
Name = Annotated[str, Meta(min_length=1, max_length=256)]
Key = Annotated[str, Meta(max_length=256)]  # of a session
Words = Annotated[str, Meta(max_length=500_000)]


class DaemonRequest(Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    """A request of a client. Every answer to it carries the same `id`."""

    id: Id = ""


class DaemonAnswer(Struct, frozen=True, kw_only=True, tag_field="type"):
    """A message of the daemon. One without `id` answers no request: it comes from a subscription."""

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


class Refusal(DaemonAnswer, frozen=True, kw_only=True, tag="error"):
    """It was not done, and why."""

    error: Problem


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """As other programs read it."""
    return structs.asdict(to_problem(diagnostic))
