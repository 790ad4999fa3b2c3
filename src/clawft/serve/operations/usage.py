"""What models cost and how skills are used, as it is told of."""

from collections.abc import Sequence
from contextlib import closing
from datetime import date, timedelta
from typing import Literal

from anyio import to_thread
from msgspec import structs

from clawft.app import App
from clawft.describe.usage import describe_uses
from clawft.errors import ClawftError
from clawft.protocol.base import Request
from clawft.protocol.usage import GetUsage, UsageAnswer, UsageBudget, UsageSum
from clawft.run.ledger import Ledger
from clawft.run.used import load_sums
from clawft.serve.caller import Call
from clawft.serve.daemon import Daemon, Handler
from clawft.wiring import open_usage

__all__ = ["HANDLERS"]

DAYS = 30
MAX_DAYS = 3_700
MAX_SKILLS = 500


async def get_usage(daemon: Daemon, _call: Call, request: GetUsage) -> UsageAnswer:
    """Raises: ClawftError."""
    app = daemon.app
    return await to_thread.run_sync(lambda: _load(app, request), limiter=daemon.reading)


def _load(app: App, request: GetUsage) -> UsageAnswer:
    since, until = _parse_range(request)
    budget = app.config.agents.budget
    with closing(open_usage(app)) as records:
        Ledger(records, budget, records.now)  # makes the tables, and those of older files fit

        def load(by: Literal["day", "model", "session"], most: int) -> tuple[UsageSum, ...]:
            found = load_sums(records, by, since, until, most)
            return tuple(UsageSum(**structs.asdict(one)) for one in found)

        days = load("day", MAX_DAYS)
        return UsageAnswer(
            since=since,
            until=until,
            total=_add_up(days),
            days=days,
            models=load("model", request.limit),
            sessions=load("session", request.limit),
            skills=tuple(describe_uses(app)[:MAX_SKILLS]),
            budget=UsageBudget(**structs.asdict(budget)),
        )


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


def _add_up(days: Sequence[UsageSum]) -> UsageSum:
    return UsageSum(
        name="",
        calls=sum(one.calls for one in days),
        input_tokens=sum(one.input_tokens for one in days),
        output_tokens=sum(one.output_tokens for one in days),
        tokens=sum(one.tokens for one in days),
        usd=sum(one.usd for one in days),
        unpriced=sum(one.unpriced for one in days),
    )


HANDLERS: dict[type[Request], Handler] = {GetUsage: get_usage}
