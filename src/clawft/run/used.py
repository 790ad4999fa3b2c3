"""Where tokens and money went: sums of what the ledger keeps, over a range of days, by day, model and session."""

from typing import Any, Literal

from clawft.messages import Usage
from clawft.run.database import Records

__all__ = ["Sum", "load_sums"]

_SUMS = """SELECT {1}, sum(calls), sum(input_tokens), sum(output_tokens), sum(usd), sum(unpriced) FROM {0}used
    WHERE day >= ?1 AND day <= ?2 GROUP BY {1} ORDER BY {2} LIMIT ?3"""
_MOST_FIRST = "sum(usd) DESC, sum(input_tokens + output_tokens) DESC, {0}"
_DAYS = "SELECT scope, tokens, usd FROM {0}spent WHERE scope >= ?1 AND scope <= ?2 ORDER BY scope LIMIT ?3"


class Sum(Usage, frozen=True, kw_only=True):
    """Of one day, model or session. `tokens` counts also what is known without its kind: of days before it was kept."""

    name: str
    calls: int
    tokens: int
    usd: float
    unpriced: int = 0  # calls of models whose price is not known


def load_sums(records: Records, by: Literal["day", "model", "session"], since: str, until: str, most: int) -> list[Sum]:
    """What was used from one day to another, both counted: days in order, else what cost most first.

    The tables of a ledger are there. Raises: ClawftError.
    """

    def select(statement: str, *values: Any) -> list[tuple[Any, ...]]:
        order = by if by == "day" else _MOST_FIRST.format(by)
        return records.execute(statement.format(records.prefix, by, order), (*values, most))

    sums = {row[0]: _sum(*row) for row in select(_SUMS, since, until)}
    for scope, tokens, usd in select(_DAYS, f"day:{since}", f"day:{until}") if by == "day" else ():
        day = scope.removeprefix("day:")
        if day not in sums:
            sums[day] = Sum(name=day, calls=0, input_tokens=0, output_tokens=0, tokens=int(tokens), usd=float(usd))
    return sorted(sums.values(), key=lambda one: one.name) if by == "day" else list(sums.values())


def _sum(name: str, calls: Any, taken: Any, given: Any, usd: Any, unpriced: Any) -> Sum:
    """A server sums whole numbers to numbers of another kind."""
    return Sum(
        name=name,
        calls=int(calls),
        input_tokens=int(taken),
        output_tokens=int(given),
        tokens=int(taken) + int(given),
        usd=float(usd),
        unpriced=int(unpriced),
    )
