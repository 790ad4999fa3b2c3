"""Room for work at a time, shared fairly: whoever has least at work is next, however much others have waiting."""

from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

__all__ = ["Slots"]


class Slots:
    """So many at a time. Callers are told apart by their names; each one's own work is begun in order."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[anyio.Event]] = {}

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """One of them, until the block ends."""
        await self._take(name)
        try:
            yield
        finally:
            self._give_back(name)

    async def _take(self, name: str) -> None:
        if self._free:
            self._free -= 1
            self._taken[name] += 1
            return
        turn = anyio.Event()
        self._waiting.setdefault(name, deque()).append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():  # it came, and nobody is there any more
                self._give_back(name)
            else:
                self._leave(name, turn)
            raise

    def _give_back(self, name: str) -> None:
        # The one that gives it back still counts as having it: else it would be its turn again.
        following = min(self._waiting, key=lambda one: self._taken[one], default=None)  # of several, who waits longest
        self._taken[name] -= 1
        if not self._taken[name]:
            del self._taken[name]
        if following is None:
            self._free += 1
            return
        turn = self._waiting[following][0]
        self._leave(following, turn)
        self._taken[following] += 1
        turn.set()

    def _leave(self, name: str, turn: anyio.Event) -> None:
        queue = self._waiting.pop(name)
        queue.remove(turn)
        if queue:
            self._waiting[name] = queue
