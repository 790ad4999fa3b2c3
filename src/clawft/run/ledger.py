"""What model calls cost, and the budgets that stop one before it is made. One SQLite file for all sessions."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from clawft.config.agents import Budget
from clawft.errors import Refused
from clawft.messages import Usage
from clawft.run.database import Database

__all__ = ["Ledger", "Price"]

_TABLE = """CREATE TABLE IF NOT EXISTS call(
    id INTEGER PRIMARY KEY, day TEXT NOT NULL, session TEXT NOT NULL, model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, usd REAL, settled INTEGER NOT NULL)"""
_INDEX = "CREATE INDEX IF NOT EXISTS call_by_day ON call(day, session)"
_INSERT = (
    "INSERT INTO call(day, session, model, input_tokens, output_tokens, usd, settled) VALUES (?, ?, ?, ?, ?, ?, 0)"
)


class Price(Struct, frozen=True):
    """US dollars for a million tokens."""

    input_usd: float
    output_usd: float

    def of(self, usage: Usage) -> float:
        return (usage.input_tokens * self.input_usd + usage.output_tokens * self.output_usd) / 1_000_000


class Ledger:
    """Every call is reserved at its worst, then settled at what it was. A reservation that a crash left behind counts
    as spent: a budget errs on the safe side."""

    def __init__(self, path: str, budget: Budget, now: Callable[[], datetime]) -> None:
        self.budget = budget
        self.now = now
        self._database = Database(path, _TABLE, _INDEX)

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
        day = self.now().date().isoformat()
        with self._database.transaction():  # two processes must not both take the last cent
            self._check(day, session, worst.total_tokens, usd)
            row = (day, session, model, worst.input_tokens, worst.output_tokens, usd)
            made = self._database.execute(_INSERT, row).lastrowid
        return made or 0

    def settle(self, reservation: int, usage: Usage, price: Price | None) -> float | None:
        """Replace a reservation by what was used; the cost, if a price is known."""
        cost = price.of(usage) if price else None
        self._database.execute(
            "UPDATE call SET input_tokens = ?, output_tokens = ?, usd = ?, settled = 1 WHERE id = ?",
            (usage.input_tokens, usage.output_tokens, cost, reservation),
        )
        return cost

    def spent(self, *, day: str = "", session: str = "") -> tuple[int, float]:
        """Tokens and dollars of a day, of a session, or of all there is."""
        rows = self._database.execute(
            "SELECT coalesce(sum(input_tokens + output_tokens), 0), coalesce(sum(usd), 0) FROM call"
            " WHERE (?1 = '' OR day = ?1) AND (?2 = '' OR session = ?2)",
            (day, session),
        )
        tokens, usd = rows.fetchone()
        return tokens, usd

    def close(self) -> None:
        self._database.close()

    def _check(self, day: str, session: str, tokens: int, usd: float) -> None:
        budget = self.budget
        today, here = self.spent(day=day), self.spent(session=session)
        limits = (
            ("per_day_tokens", budget.per_day_tokens, today[0], tokens, ""),
            ("per_session_tokens", budget.per_session_tokens, here[0], tokens, ""),
            ("per_day_usd", budget.per_day_usd, today[1], usd, "$"),
            ("per_session_usd", budget.per_session_usd, here[1], usd, "$"),
        )
        for name, limit, spent, more, unit in limits:
            if limit is not None and more and spent + more > limit:
                raise Refused(
                    "budget-exceeded",
                    f"agents.budget.{name} is {unit}{limit:g}: {unit}{spent:g} is spent,"
                    f" and this call could take {unit}{more:g}",
                    hint=f"Raise agents.budget.{name}, or use a cheaper model",
                )
