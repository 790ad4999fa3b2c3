"""What model calls cost, and the budgets that stop one before it is made. One record for all sessions: of this machine,
or of all that share a database."""

from collections.abc import Callable
from datetime import datetime
from random import SystemRandom
from typing import Any, Literal

from msgspec import Struct

from clawft.config.agents import Budget
from clawft.errors import Refused
from clawft.messages import Usage
from clawft.run.database import Records

__all__ = ["Ledger", "Price"]

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
    What was used is kept by day, session and model as well, for who wants to see where it went (`run/used.py`).
    """

    def __init__(self, records: Records, budget: Budget, now: Callable[[], datetime]) -> None:
        self.budget = budget
        self.now = now
        self.records = records
        self._booked: list[tuple[str, str, Usage]] = []
        records.prepare(*(one.format(records.prefix) for one in _TABLES))
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
                self._add("day", day, sum(one.total_tokens for one in sums.values()), 0.0)
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
