"""The audit log, as it is told of."""

from datetime import UTC, datetime

from anyio import to_thread

from clawft.app import App
from clawft.describe.audit import describe_line, describe_verdict
from clawft.errors import ClawftError
from clawft.protocol.audit import AuditList, AuditVerdict, ListAudit, VerifyAudit
from clawft.protocol.base import Request
from clawft.serve.caller import Call
from clawft.serve.daemon import Daemon, Handler
from clawft.trust.audit.log import unreadable
from clawft.trust.audit.select import Wanted, select_lines
from clawft.trust.audit.verify import verify_log

__all__ = ["HANDLERS"]

MOST = 100_000  # lines that are looked at for one list


async def list_audit(daemon: Daemon, _call: Call, request: ListAudit) -> AuditList:
    """Raises: ClawftError."""
    app = daemon.app
    return await to_thread.run_sync(lambda: _list(app, request), limiter=daemon.reading)


def _list(app: App, request: ListAudit) -> AuditList:
    wanted = Wanted(
        kind=request.kind,
        skill=request.skill,
        session=request.session,
        decision=request.decision,
        text=request.text.strip(),
        since=_parse_time(request.since),
        before=request.before,
    )
    try:
        found = select_lines(app.audit, request.limit, wanted, most=MOST)
    except OSError as error:
        raise unreadable(error, app.audit) from error
    lines = tuple(map(describe_line, reversed(found.lines)))
    return AuditList(lines=lines, next=found.reached, unreadable=found.unreadable)


async def verify_audit(daemon: Daemon, _call: Call, _request: VerifyAudit) -> AuditVerdict:
    """Raises: ClawftError."""
    app = daemon.app
    try:
        return describe_verdict(await to_thread.run_sync(verify_log, app.audit, limiter=daemon.reading))
    except OSError as error:
        raise unreadable(error, app.audit) from error


def _parse_time(text: str) -> datetime | None:
    """Raises: ClawftError."""
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ClawftError("request-invalid", "`since` is a date or a time, such as 2030-01-31") from error


HANDLERS: dict[type[Request], Handler] = {ListAudit: list_audit, VerifyAudit: verify_audit}
