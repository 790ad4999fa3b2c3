"""How many tokens a fork may use, with all that it forks itself."""

from collections.abc import Iterator
from contextlib import contextmanager

from clawft.errors import Refused

__all__ = ["Allowance", "Hold"]


class Hold:
    """One model call; whoever makes it says what it used."""

    used = 0


class Allowance:
    """Tokens of one conversation and those below it. `limit` None is no limit but those above."""

    def __init__(self, limit: int | None, above: "Allowance | None" = None) -> None:
        self.limit = limit
        self.taken = 0
        self._above = above

    @contextmanager
    def hold(self, worst: int) -> Iterator[Hold]:
        """Take what a call could use at worst; when it is over, what its hold says it used. Raises: Refused."""
        chain = tuple(self._chain())
        for one in chain:
            if one.limit is not None and one.taken + worst > one.limit:
                raise Refused(
                    "fork-budget",
                    f"agents.fork.max_tokens is {one.limit}: {one.taken} are spent, and this call could take {worst}",
                    hint="Raise agents.fork.max_tokens, or ask for less at once",
                )
        for one in chain:
            one.taken += worst
        call = Hold()
        try:
            yield call
        finally:
            for one in chain:
                one.taken += call.used - worst

    @property
    def left(self) -> int | None:
        """What the narrowest limit leaves; None where there is none."""
        left = [max(0, one.limit - one.taken) for one in self._chain() if one.limit is not None]
        return min(left, default=None)

    def spend(self, tokens: int) -> None:
        """Count what was used before, by a process that is gone."""
        for one in self._chain():
            one.taken += tokens

    def _chain(self) -> Iterator["Allowance"]:
        one: Allowance | None = self
        while one is not None:
            yield one
            one = one._above
