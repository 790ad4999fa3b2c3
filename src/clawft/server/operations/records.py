"""Operations that read what is on record: sessions, usage and costs, and the audit log."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import TypeVar

from anyio import to_thread
from msgspec import Struct

from clawft.agent.ledger import Ledger, LedgerSum, load_sums
from clawft.agent.records import UsageRecords
from clawft.agent.sessions.summary import MAX_PER_SESSION
from clawft.app.app import App
from clawft.app.runtime import open_usage
from clawft.config.agents import BudgetSettings
from clawft.errors import ClawftError
from clawft.jobs import is_installed
from clawft.server.callers import DaemonCall
from clawft.server.daemon import Daemon
from clawft.server.protocol import records as messages
from clawft.server.protocol.base import DaemonAnswer, DaemonRequest, copy_fields, to_problem
from clawft.server.views.records import page_of, view_audit_line, view_audit_verdict, view_session
from clawft.server.views.runs import view_skill_usage
from clawft.trust.audit.log import make_unreadable_error
from clawft.trust.audit.reader import AuditQuery, select_lines, verify_log

Q = TypeVar("Q", bound=DaemonRequest)
A = TypeVar("A", bound=DaemonAnswer)
MOST = 100_000  # lines that are looked at for one list


def reads(load: Callable[[App, Q], A]) -> Callable[[Daemon, DaemonCall, Q], Awaitable[A]]:
    """Make an operation of what reads with the current app, in a thread."""

    async def read(daemon: Daemon, _call: DaemonCall, request: Q) -> A:
        return await to_thread.run_sync(load, daemon.app, request, limiter=daemon.reading)

    return read


@reads
def list_audit(app: App, request: messages.ListAudit) -> messages.AuditList:
    """Raises: ClawftError."""
    wanted = copy_fields(AuditQuery, request, text=request.text.strip(), since=_parse_time(request.since))
    try:
        found = select_lines(app.audit, request.limit, wanted, most=MOST)
    except OSError as error:
        raise make_unreadable_error(error, app.audit) from error
    lines = tuple(map(view_audit_line, reversed(found.lines)))
    return messages.AuditList(lines=lines, next=found.reached, unreadable=found.unreadable)


@reads
def verify_audit(app: App, _request: messages.VerifyAudit) -> messages.AuditVerdict:
    """Raises: ClawftError."""
    try:
        return view_audit_verdict(verify_log(app.audit))
    except OSError as error:
        raise make_unreadable_error(error, app.audit) from error


def _parse_time(text: str) -> datetime | None:
    """Raises: ClawftError."""
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ClawftError("request-invalid", "`since` is a date or a time, such as 2030-01-31") from error


MAX_BYTES = 64 << 20  # of a session that is read whole for one answer


@reads
def list_sessions(app: App, request: messages.ListSessions) -> messages.SessionsList:
    store = app.sessions
    if query := request.search.strip():
        hits = store.search(query, request.limit * MAX_PER_SESSION)
        keys = list(dict.fromkeys(hit.key for hit in hits))[: request.limit]
        sessions, cursor = tuple(one for key in keys if (one := store.find(key)) is not None), ""
    else:
        hits = ()
        sessions, cursor = store.page(request.limit, request.cursor, forks=request.forks)
    return messages.SessionsList(
        sessions=tuple(view_session(session, hits) for session in sessions),
        cursor=cursor,
        diagnostics=tuple(map(to_problem, store.diagnostics)),
    )


@reads
def get_session(app: App, request: messages.GetSession) -> messages.SessionAnswer:
    """Raises: ClawftError."""
    store = app.sessions
    summary = store.get(request.key)
    if summary.bytes > MAX_BYTES:
        message = f"The session has {summary.bytes >> 20} MB: more than is read for a page"
        raise ClawftError("session-too-large", message, path=summary.path, hint="Run: weft sessions export")
    transcript = store.read(request.key)
    return copy_fields(
        messages.SessionAnswer,
        transcript,
        created=transcript.header.created,
        cwd=transcript.header.cwd,
        forked_from=transcript.header.forked_from,
        turns=len(transcript.turns),
        messages=len(transcript.messages),
        total=len(transcript.records),
        start=request.start,
        records=page_of(transcript, request.start, request.limit),
        diagnostics=tuple(map(to_problem, transcript.diagnostics)),
    )


DAYS = 30
MAX_DAYS = 3_700
MAX_SKILLS = 500
MAX_NAMES = 1_000  # of models and sessions that are looked at, those first that cost most


@reads
def get_usage(app: App, request: messages.GetUsage) -> messages.UsageAnswer:
    """Raises: ClawftError."""
    since, until = _parse_range(request)
    with closing(open_usage(app)) as usage:
        own, problem = _sum_up(usage, since, until), None
    try:
        shared = _load_shared(app, since, until)
    except ClawftError as error:  # what is known here is shown all the same
        shared, problem = _Sums(), to_problem(error.diagnostic)
    days = tuple(sorted(_merge(own.days, shared.days), key=lambda one: one.name))
    return messages.UsageAnswer(
        since=since,
        until=until,
        total=_add_up("", days),
        days=days,
        models=tuple(sorted(_merge(own.models, shared.models), key=_most_first))[: request.limit],
        sessions=tuple(sorted(_merge(own.sessions, shared.sessions), key=_most_first))[: request.limit],
        skills=tuple(view_skill_usage(app)[:MAX_SKILLS]),
        budget=copy_fields(messages.UsageBudget, app.config.agents.budget),
        problem=problem,
    )


class _Sums(Struct, frozen=True):
    """The sums of one record of costs."""

    days: Sequence[LedgerSum] = ()
    models: Sequence[LedgerSum] = ()
    sessions: Sequence[LedgerSum] = ()


def _load_shared(app: App, since: str, until: str) -> _Sums:
    """Load the usage of runs on all machines that share a database, if there is one. Raises: ClawftError."""
    settings = app.own_config.runs
    if not settings.database or not is_installed():
        return _Sums()
    from clawft.jobs.database import make_url
    from clawft.jobs.postgres_records import SharedRecords

    url = make_url(settings, app.workspace.user_dir, app.environ)
    if url.get_backend_name() != "postgresql":
        return _Sums()
    with closing(SharedRecords(url)) as records:
        return _sum_up(records, since, until)


def _sum_up(records: UsageRecords, since: str, until: str) -> _Sums:
    Ledger(records, BudgetSettings(), records.now)  # makes the tables, and those of older files fit
    return _Sums(
        load_sums(records, "day", since, until, MAX_DAYS),
        load_sums(records, "model", since, until, MAX_NAMES),
        load_sums(records, "session", since, until, MAX_NAMES),
    )


def _merge(*several: Sequence[LedgerSum]) -> list[messages.UsageSum]:
    """Those of a name as one."""
    by_name: dict[str, list[LedgerSum]] = {}
    for ledger_sum in chain(*several):
        by_name.setdefault(ledger_sum.name, []).append(ledger_sum)
    return [_add_up(name, sums) for name, sums in by_name.items()]


def _most_first(one: messages.UsageSum) -> tuple[float, int, str]:
    return -one.usd, -one.tokens, one.name


def _parse_range(request: messages.GetUsage) -> tuple[str, str]:
    """Raises: ClawftError for what are no days, or too many."""
    try:
        until = date.fromisoformat(request.until) if request.until else date.today()
        since = date.fromisoformat(request.since) if request.since else until - timedelta(days=DAYS - 1)
    except (ValueError, OverflowError) as error:
        raise ClawftError("request-invalid", "Days are such as 2030-01-31") from error
    if not 0 <= (until - since).days < MAX_DAYS:
        raise ClawftError("request-invalid", f"A range ends after it began, and has at most {MAX_DAYS} days")
    return since.isoformat(), until.isoformat()


def _add_up(name: str, sums: Sequence[LedgerSum | messages.UsageSum]) -> messages.UsageSum:
    return messages.UsageSum(
        name=name,
        calls=sum(sum_.calls for sum_ in sums),
        input_tokens=sum(sum_.input_tokens for sum_ in sums),
        output_tokens=sum(sum_.output_tokens for sum_ in sums),
        tokens=sum(sum_.tokens for sum_ in sums),
        usd=sum(sum_.usd for sum_ in sums),
        unpriced=sum(sum_.unpriced for sum_ in sums),
    )
