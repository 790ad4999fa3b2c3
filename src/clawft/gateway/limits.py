"""How many messages of one sender are taken (R162). Pure: the time is an argument, and nothing is kept on disk."""

import math
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Protocol, TypeVar

from clawft.config.gateway import RateLimit

__all__ = ["FixedWindow", "Limiter", "SlidingWindow", "TokenBucket", "make_limiter"]

_Value = TypeVar("_Value")
MAX_SENDERS = 10_000  # that are remembered; of more, those who wrote longest ago begin anew


class Limiter(Protocol):
    """Counts what each sender writes."""

    def take(self, sender: str, now: float) -> float:
        """Count a message, and return 0; or how many seconds to wait until one is taken, and count nothing."""


class FixedWindow:
    """So many from one full window to the next. Cheapest; across the border of two there may be twice as many."""

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._known: OrderedDict[str, tuple[int, int]] = OrderedDict()  # which window, and how many in it

    def take(self, sender: str, now: float) -> float:
        window = math.floor(now / self._limit.window_s)
        last, count = self._known.get(sender, (window, 0))
        count = count if last == window else 0
        if count >= self._limit.messages:
            return max((window + 1) * self._limit.window_s - now, 0.001)
        _remember(self._known, sender, (window, count + 1))
        return 0.0


class SlidingWindow:
    """So many in any stretch of time as long as the window: each message is remembered until it is older."""

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._known: OrderedDict[str, deque[float]] = OrderedDict()

    def take(self, sender: str, now: float) -> float:
        times = self._known.get(sender) or deque()
        while times and times[0] <= now - self._limit.window_s:
            times.popleft()
        if len(times) >= self._limit.messages:
            return max(times[0] + self._limit.window_s - now, 0.001)
        times.append(now)
        _remember(self._known, sender, times)
        return 0.0


class TokenBucket:
    """An even pace, with bursts: a bucket of so many tokens, which is full again after a window."""

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._pace = limit.messages / limit.window_s
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when there were so many

    def take(self, sender: str, now: float) -> float:
        tokens, at = self._known.get(sender, (float(self._limit.messages), now))
        tokens = min(self._limit.messages, tokens + max(0.0, now - at) * self._pace)
        if tokens < 1 - 1e-9:  # what is counted in fractions is never exactly whole
            return (1 - tokens) / self._pace
        _remember(self._known, sender, (max(0.0, tokens - 1), now))
        return 0.0


_KINDS: dict[str, Callable[[RateLimit], Limiter]] = {
    "fixed_window": FixedWindow,
    "sliding_window": SlidingWindow,
    "token_bucket": TokenBucket,
}


def make_limiter(limit: RateLimit) -> Limiter:
    """A limiter that follows the settings."""
    return _KINDS[limit.strategy](limit)


def _remember(known: OrderedDict[str, _Value], sender: str, value: _Value) -> None:
    known[sender] = value
    known.move_to_end(sender)
    if len(known) > MAX_SENDERS:
        known.popitem(last=False)
