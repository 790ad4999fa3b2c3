"""The audit log: its lines, and whether it is as it was written."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from clawft.protocol.base import Answer, Request

__all__ = ["AuditBreak", "AuditLine", "AuditList", "AuditVerdict", "ListAudit", "VerifyAudit"]

_Word = Annotated[str, Meta(max_length=256)]


class ListAudit(Request, frozen=True, kw_only=True, tag="list_audit"):
    """Lines of the log, the newest first; '' means any. `text` stands in their subject, rule or session, in any case.

    `before` keeps those with a smaller number: the `next` of a list is where it goes on.
    """

    kind: _Word = ""
    skill: _Word = ""
    session: _Word = ""
    decision: _Word = ""
    text: _Word = ""
    since: Annotated[str, Meta(max_length=40)] = ""
    before: Annotated[int, Meta(ge=0, le=1 << 62)] = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class AuditLine(Struct, frozen=True, kw_only=True):
    """One line: an object of `clawft.audit.v1`."""

    seq: int
    at: str
    kind: str
    subject: str
    decision: str
    rule: str
    skill: str
    digest: str
    session: str
    detail: dict[str, Any]
    prev: str
    hash: str


class AuditList(Answer, frozen=True, kw_only=True, tag="audit_list"):
    """`next` is 0 at the end of the log; a list may be short, or empty, and still go on."""

    lines: tuple[AuditLine, ...]
    next: int = 0
    unreadable: int = 0


class VerifyAudit(Request, frozen=True, kw_only=True, tag="verify_audit"):
    """Whether a line of the log was changed, removed, moved or added."""


class AuditBreak(Struct, frozen=True, kw_only=True):
    """The first place where the log is not what was written."""

    path: str
    line: int | None
    reason: str


class AuditVerdict(Answer, frozen=True, kw_only=True, tag="audit_verdict"):
    """As `weft audit verify --format json` tells it. `lines` hold, up to the break if there is one."""

    intact: bool
    lines: int
    torn: int
    files: int
    since: str | None
    broken: AuditBreak | None
