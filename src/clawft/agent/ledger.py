"""The costs of model calls: prices, budgets that stop a call before it is made, requests per minute, and sums by
day, model and session.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from random import SystemRandom, uniform
from typing import Any, Literal

import anyio
from msgspec import Struct

from clawft.agent.records import UsageRecords, work_on
from clawft.config.agents import BudgetSettings
from clawft.errors import ClawftError, Refused
from clawft.messages import Usage

_TABLES = (
    """CREATE TABLE IF NOT EXISTS {0}call(
    id BIGINT PRIMARY KEY, day TEXT NOT NULL, session TEXT NOT NULL, model TEXT NOT NULL,
    input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, usd DOUBLE PRECISION, settled INTEGER NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS {0}spent(
    scope TEXT PRIMARY KEY, tokens BIGINT NOT NULL, usd DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS {0}used(
    day TEXT NOT NULL, session TEXT NOT NULL, model TEXT NOT NULL, calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, usd DOUBLE PRECISION NOT NULL,
    unpriced BIGINT NOT NULL, PRIMARY KEY(day, session, model))""",
)
_RESERVE = """INSERT INTO {0}call(id, day, session, model, input_tokens, output_tokens, usd, settled)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)"""
_BOOK = _RESERVE.replace(", 0)", ", 1)")
_SETTLE = "DELETE FROM {0}call WHERE id = ?1 RETURNING day, session, model, input_tokens + output_tokens, usd"
_USE = """INSERT INTO {0}used(day, session, model, calls, input_tokens, output_tokens, usd, unpriced)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT(day, session, model) DO UPDATE SET
    calls = {0}used.calls + excluded.calls, input_tokens = {0}used.input_tokens + excluded.input_tokens,
    output_tokens = {0}used.output_tokens + excluded.output_tokens, usd = {0}used.usd + excluded.usd,
    unpriced = {0}used.unpriced + excluded.unpriced"""
_ADD = """INSERT INTO {0}spent(scope, tokens, usd) VALUES (?1, ?2, ?3) ON CONFLICT(scope)
    DO UPDATE SET tokens = {0}spent.tokens + excluded.tokens, usd = {0}spent.usd + excluded.usd RETURNING tokens, usd"""
_ALL = "SELECT coalesce(sum(tokens), 0), coalesce(sum(usd), 0) FROM {0}spent WHERE scope LIKE 'day:%'"
# A record from before there were sums: it kept calls that were settled.
_SUM_UP = """INSERT INTO {0}spent(scope, tokens, usd) SELECT '{1}:' || {1}, sum(input_tokens + output_tokens),
    coalesce(sum(usd), 0) FROM {0}call GROUP BY {1}"""
_ANY_ID = SystemRandom()  # the same on no two machines


class Price(Struct, frozen=True):
    """US dollars for a million tokens."""

    input_usd: float
    output_usd: float

    def of(self, usage: Usage) -> float:
        return (usage.input_tokens * self.input_usd + usage.output_tokens * self.output_usd) / 1_000_000


class Ledger:
    """Every call is reserved at its worst, then settled at what it was, and gone but for the sums. A reservation that a
    crash left behind counts as spent: a budget errs on the safe side.

    Sums are kept by session and by day. Who adds to one holds it until the end of the transaction, so that two
    processes never both take the last cent. The day, which all want, comes last and is held for the shortest time.
    What was used is kept by day, session and model as well, for who wants to see where it went.
    """

    def __init__(self, records: UsageRecords, budget: BudgetSettings, now: Callable[[], datetime]) -> None:
        self.budget = budget
        self.now = now
        self.records = records
        self._booked: list[tuple[str, str, Usage]] = []
        records.prepare(*(table.format(records.prefix) for table in _TABLES))
        if not self._execute("SELECT 1 FROM {0}spent LIMIT 1") and self._execute("SELECT 1 FROM {0}call LIMIT 1"):
            self._sum_up()

    def reserve(self, session: str, model: str, worst: Usage, price: Price | None) -> int:
        """Make room for a call. Raises: Refused when a budget would be exceeded, or cannot be reckoned."""
        if (
            price is None
            and worst.total_tokens
            and (self.budget.per_day_usd, self.budget.per_session_usd) != (None, None)
        ):
            raise Refused(
                "budget-unknown",
                f"A budget in dollars is set, but the price of {model} is not known",
                hint=f"Set input_usd_per_mtok and output_usd_per_mtok for {model}, or a budget in tokens",
            )
        usd = price.of(worst) if price else 0.0
        reservation = _ANY_ID.getrandbits(62)
        with self.records.transaction():
            day = self.now().date().isoformat()
            self._execute(_RESERVE, reservation, day, session, model, worst.input_tokens, worst.output_tokens, usd)
            self._check("session", self._add("session", session, worst.total_tokens, usd), worst.total_tokens, usd)
            self._check("day", self._add("day", day, worst.total_tokens, usd), worst.total_tokens, usd)
        return reservation

    def book(self, session: str, model: str, usage: Usage) -> None:
        """Take note of a call that costs nothing, and for which no room was made; `write_booked` writes it down."""
        self._booked.append((session, model, usage))

    def write_booked(self) -> None:
        """Write down the calls that cost nothing: they come in great numbers, so many at once."""
        sums: dict[tuple[str, str], Usage] = {}
        calls: dict[tuple[str, str], int] = {}
        booked, self._booked = self._booked, []
        for session, model, usage in booked:
            sums[session, model] = sums.get((session, model), Usage()).merge(usage)
            calls[session, model] = calls.get((session, model), 0) + 1
        if not sums:
            return
        try:
            with self.records.transaction():
                day = self.now().date().isoformat()
                for (session, model), used in sums.items():
                    tokens = (used.input_tokens, used.output_tokens)
                    self._execute(_BOOK, _ANY_ID.getrandbits(62), day, session, model, *tokens, None)
                    self._execute(_USE, day, session, model, calls[session, model], *tokens, 0.0, 0)
                    self._add("session", session, used.total_tokens, 0.0)
                self._add("day", day, sum(sum_.total_tokens for sum_ in sums.values()), 0.0)
        except BaseException:
            self._booked += booked
            raise

    def settle(self, reservation: int, usage: Usage, price: Price | None) -> None:
        """Replace a reservation by what was used, once."""
        cost = price.of(usage) if price else None
        with self.records.transaction():
            for day, session, model, tokens, usd in self._execute(_SETTLE, reservation):
                more = (usage.total_tokens - tokens, (cost or 0.0) - (usd or 0.0))
                used = (usage.input_tokens, usage.output_tokens, cost or 0.0)
                self._execute(_USE, day, session, model, 1, *used, int(price is None and usage.total_tokens > 0))
                self._add("session", session, *more)
                self._add("day", day, *more)

    def spent(self, *, day: str = "", session: str = "") -> tuple[int, float]:
        """Tokens and dollars of a session, of a day, or of all there is."""
        self.write_booked()
        if session:
            rows = self._execute("SELECT tokens, usd FROM {0}spent WHERE scope = ?1", f"session:{session}")
        elif day:
            rows = self._execute("SELECT tokens, usd FROM {0}spent WHERE scope = ?1", f"day:{day}")
        else:
            rows = self._execute(_ALL)
        tokens, usd = rows[0] if rows else (0, 0.0)
        return int(tokens), float(usd)

    def _execute(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.records.execute(statement.format(self.records.prefix), values)

    def _add(self, kind: str, name: str, tokens: int, usd: float) -> tuple[int, float]:
        """The sum with more in it, and nobody else's before the transaction ends."""
        ((all_tokens, all_usd),) = self._execute(_ADD, f"{kind}:{name}", tokens, usd)
        return all_tokens, all_usd

    def _sum_up(self) -> None:
        with self.records.transaction():
            if not self._execute("SELECT 1 FROM {0}spent LIMIT 1"):  # nobody else did meanwhile
                for column in ("day", "session"):
                    self.records.execute(_SUM_UP.format(self.records.prefix, column))

    def _check(self, kind: Literal["session", "day"], spent: tuple[int, float], tokens: int, usd: float) -> None:
        """Raises: Refused when a sum, with this call in it, is more than a budget."""
        limits = (
            (f"per_{kind}_tokens", spent[0], tokens, ""),
            (f"per_{kind}_usd", round(spent[1], 9), usd, "$"),
        )
        for name, total, more, unit in limits:
            limit: float | None = getattr(self.budget, name)
            if limit is not None and more and total > limit:
                raise Refused(
                    "budget-exceeded",
                    f"agents.budget.{name} is {unit}{limit:g}: {unit}{round(total - more, 9):g} is spent,"
                    f" and this call could take {unit}{more:g}",
                    hint=f"Raise agents.budget.{name}, or use a cheaper model",
                )


_AHEAD_S = 10.0
_TABLE = "CREATE TABLE IF NOT EXISTS {0}pace(provider TEXT PRIMARY KEY, next DOUBLE PRECISION NOT NULL)"
# Who writes to a row has it for itself until the end of the transaction.
_HOLD = "INSERT INTO {0}pace(provider, next) VALUES (?1, 0) ON CONFLICT(provider) DO UPDATE SET next = {0}pace.next"
_READ = "SELECT next FROM {0}pace WHERE provider = ?1"
_MOVE = "UPDATE {0}pace SET next = ?2 WHERE provider = ?1"


class TokenHold:
    """The tokens reserved for one model call; the caller sets `used` to what the call used."""

    used = 0


class TokenAllowance:
    """Tokens of one conversation and those below it. `limit` None is no limit but those above."""

    def __init__(self, limit: int | None, above: "TokenAllowance | None" = None) -> None:
        self.limit = limit
        self.taken = 0
        self._above = above

    @contextmanager
    def hold(self, worst: int) -> Iterator[TokenHold]:
        """Take what a call could use at worst; when it is over, what its hold says it used. Raises: Refused."""
        chain = tuple(self._chain())
        for allowance in chain:
            if allowance.limit is not None and allowance.taken + worst > allowance.limit:
                raise Refused(
                    "fork-budget",
                    f"agents.fork.max_tokens is {allowance.limit}: {allowance.taken} are spent, "
                    f"and this call could take {worst}",
                    hint="Raise agents.fork.max_tokens, or ask for less at once",
                )
        for allowance in chain:
            allowance.taken += worst
        call = TokenHold()
        try:
            yield call
        finally:
            for allowance in chain:
                allowance.taken += call.used - worst

    @property
    def left(self) -> int | None:
        """The tokens left under the narrowest limit; None if there is no limit."""
        left = [max(0, allowance.limit - allowance.taken) for allowance in self._chain() if allowance.limit is not None]
        return min(left, default=None)

    def spend(self, tokens: int) -> None:
        """Count what was used before, by a process that is gone."""
        for allowance in self._chain():
            allowance.taken += tokens

    def _chain(self) -> Iterator["TokenAllowance"]:
        allowance: TokenAllowance | None = self
        while allowance is not None:
            yield allowance
            allowance = allowance._above


class RequestSlot(Struct, frozen=True):
    """The time until a request may be sent, in seconds from now; or, if it is not `taken`, until to ask again."""

    wait_s: float
    taken: bool


class RequestPace:
    """The next moment of each provider, in the record that holds the costs too."""

    def __init__(self, records: UsageRecords, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock
        records.prepare(_TABLE.format(records.prefix))

    async def wait(
        self, provider: str, per_minute: float, tell: Callable[[float], None], warn: Callable[[ClawftError], None]
    ) -> None:
        """Returns when the next request may be sent. `tell` hears of each wait, in seconds; `warn` of what is away."""
        while True:
            slot = await work_on(self._records, lambda: self.take(provider, per_minute), warn)
            if slot.wait_s:
                tell(slot.wait_s)
                await anyio.sleep(slot.wait_s)
            if slot.taken:
                return

    def take(self, provider: str, per_minute: float) -> RequestSlot:
        """Take the next moment, unless that is too far ahead. Raises: ClawftError."""
        every_s = 60 / per_minute
        ahead_s = max(_AHEAD_S, every_s)
        with self._records.transaction():
            self._records.execute(_HOLD.format(self._records.prefix), (provider,))
            now = self._clock()  # only now: others may have held it for long
            ((moment,),) = self._records.execute(_READ.format(self._records.prefix), (provider,))
            wait_s = max(moment - now, 0.0)
            if wait_s > ahead_s + every_s:  # nobody can have taken that: the clock was put back
                wait_s = ahead_s
            if wait_s > ahead_s:
                return RequestSlot(ahead_s * uniform(0.4, 0.8), taken=False)  # not all at once
            self._records.execute(_MOVE.format(self._records.prefix), (provider, now + wait_s + every_s))
        return RequestSlot(wait_s, taken=True)


_SUMS = """SELECT {1}, sum(calls), sum(input_tokens), sum(output_tokens), sum(usd), sum(unpriced) FROM {0}used
    WHERE day >= ?1 AND day <= ?2 GROUP BY {1} ORDER BY {2} LIMIT ?3"""
_MOST_FIRST = "sum(usd) DESC, sum(input_tokens + output_tokens) DESC, {0}"
_DAYS = "SELECT scope, tokens, usd FROM {0}spent WHERE scope >= ?1 AND scope <= ?2 ORDER BY scope LIMIT ?3"


class LedgerSum(Usage, frozen=True, kw_only=True):
    """The usage of one day, model or session. `tokens` also counts tokens of unknown kind, from days before the kind
    was recorded."""

    name: str
    calls: int
    tokens: int
    usd: float
    unpriced: int = 0  # calls of models whose price is not known


def load_sums(
    records: UsageRecords, by: Literal["day", "model", "session"], since: str, until: str, most: int
) -> list[LedgerSum]:
    """Load the usage between two days, both included: days in order, otherwise the most expensive first.

    The tables of the ledger must exist. Raises: ClawftError.
    """

    def select(statement: str, *values: Any) -> list[tuple[Any, ...]]:
        order = by if by == "day" else _MOST_FIRST.format(by)
        return records.execute(statement.format(records.prefix, by, order), (*values, most))

    sums = {row[0]: _sum(*row) for row in select(_SUMS, since, until)}
    for scope, tokens, usd in select(_DAYS, f"day:{since}", f"day:{until}") if by == "day" else ():
        day = scope.removeprefix("day:")
        if day not in sums:
            sums[day] = LedgerSum(
                name=day, calls=0, input_tokens=0, output_tokens=0, tokens=int(tokens), usd=float(usd)
            )
    return sorted(sums.values(), key=lambda one: one.name) if by == "day" else list(sums.values())


def _sum(name: str, calls: Any, taken: Any, generated: Any, usd: Any, unpriced: Any) -> LedgerSum:
    """A server sums whole numbers to numbers of another kind."""
    return LedgerSum(
        name=name,
        calls=int(calls),
        input_tokens=int(taken),
        output_tokens=int(generated),
        tokens=int(taken) + int(generated),
        usd=float(usd),
        unpriced=int(unpriced),
    )
