"""What models cost and how skills are used, as it is told of."""

from collections.abc import Sequence
from contextlib import closing
from datetime import date, timedelta
from itertools import chain

from anyio import to_thread
from msgspec import Struct, structs

from clawft.app import App
from clawft.config.agents import Budget
from clawft.describe.usage import describe_uses
from clawft.errors import ClawftError
from clawft.protocol.base import Request, to_problem
from clawft.protocol.usage import GetUsage, UsageAnswer, UsageBudget, UsageSum
from clawft.run.database import Records
from clawft.run.durable import is_installed
from clawft.run.ledger import Ledger
from clawft.run.used import Sum, load_sums
from clawft.serve.caller import Call
from clawft.serve.daemon import Daemon, Handler
from clawft.wiring import open_usage
from clawft.working import run_settings

__all__ = ["HANDLERS"]

DAYS = 30
MAX_DAYS = 3_700
MAX_SKILLS = 500
MAX_NAMES = 1_000  # of models and sessions that are looked at, those first that cost most


async def get_usage(daemon: Daemon, _call: Call, request: GetUsage) -> UsageAnswer:
    """Raises: ClawftError."""
    app = daemon.app
    return await to_thread.run_sync(lambda: _load(app, request), limiter=daemon.reading)


def _load(app: App, request: GetUsage) -> UsageAnswer:
    since, until = _parse_range(request)
    own, problem = _load_own(app, since, until), None
    try:
        shared = _load_shared(app, since, until)
    except ClawftError as error:  # what is known here is told all the same
        shared, problem = _Sums(), to_problem(error.diagnostic)
    days = tuple(sorted(_merge(own.days, shared.days), key=lambda one: one.name))
    return UsageAnswer(
        since=since,
        until=until,
        total=_add_up("", days),
        days=days,
        models=tuple(sorted(_merge(own.models, shared.models), key=_most_first))[: request.limit],
        sessions=tuple(sorted(_merge(own.sessions, shared.sessions), key=_most_first))[: request.limit],
        skills=tuple(describe_uses(app)[:MAX_SKILLS]),
        budget=UsageBudget(**structs.asdict(app.config.agents.budget)),
        problem=problem,
    )


class _Sums(Struct, frozen=True):
    """What one record of costs says."""

    days: Sequence[Sum] = ()
    models: Sequence[Sum] = ()
    sessions: Sequence[Sum] = ()


def _load_own(app: App, since: str, until: str) -> _Sums:
    """What was used on this machine. Raises: ClawftError."""
    with closing(open_usage(app)) as records:
        return _sum_up(records, since, until)


def _load_shared(app: App, since: str, until: str) -> _Sums:
    """What runs used on all machines that share a database, if there is one. Raises: ClawftError."""
    settings = run_settings(app)
    if not settings.database or not is_installed():
        return _Sums()
    from clawft.run.durable.database import make_url
    from clawft.run.durable.shared import SharedRecords

    url = make_url(settings, app.workspace.user_dir, app.environ)
    if url.get_backend_name() != "postgresql":
        return _Sums()
    with closing(SharedRecords(url)) as records:
        return _sum_up(records, since, until)


def _sum_up(records: Records, since: str, until: str) -> _Sums:
    Ledger(records, Budget(), records.now)  # makes the tables, and those of older files fit
    return _Sums(
        load_sums(records, "day", since, until, MAX_DAYS),
        load_sums(records, "model", since, until, MAX_NAMES),
        load_sums(records, "session", since, until, MAX_NAMES),
    )


def _merge(*several: Sequence[Sum]) -> list[UsageSum]:
    """Those of a name as one."""
    by_name: dict[str, list[Sum]] = {}
    for one in chain(*several):
        by_name.setdefault(one.name, []).append(one)
    return [_add_up(name, sums) for name, sums in by_name.items()]


def _most_first(one: UsageSum) -> tuple[float, int, str]:
    return -one.usd, -one.tokens, one.name


def _parse_range(request: GetUsage) -> tuple[str, str]:
    """Raises: ClawftError for what are no days, or too many."""
    try:
        until = date.fromisoformat(request.until) if request.until else date.today()
        since = date.fromisoformat(request.since) if request.since else until - timedelta(days=DAYS - 1)
    except (ValueError, OverflowError) as error:
        raise ClawftError("request-invalid", "Days are such as 2030-01-31") from error
    if not 0 <= (until - since).days < MAX_DAYS:
        raise ClawftError("request-invalid", f"A range ends after it began, and has at most {MAX_DAYS} days")
    return since.isoformat(), until.isoformat()


def _add_up(name: str, sums: Sequence[Sum | UsageSum]) -> UsageSum:
    return UsageSum(
        name=name,
        calls=sum(one.calls for one in sums),
        input_tokens=sum(one.input_tokens for one in sums),
        output_tokens=sum(one.output_tokens for one in sums),
        tokens=sum(one.tokens for one in sums),
        usd=sum(one.usd for one in sums),
        unpriced=sum(one.unpriced for one in sums),
    )


HANDLERS: dict[type[Request], Handler] = {GetUsage: get_usage}
