"""A rate limit on requests, counted in one of three ways. It counts; the caller waits."""

from collections import deque
from collections.abc import Callable

from clawft.config.tools import RateLimit, RateLimitStrategy

# Clocks are floats: who waited as long as told is not sent back for a rounding error.
_SLACK_S = 1e-6


class RateLimiter:
    """Counts requests against `[tools.web.rate_limit]` on a clock that never goes back."""

    def __init__(self, settings: RateLimit, clock: Callable[[], float]) -> None:
        self._max = settings.max_requests
        self._window_s = settings.window_s
        self._clock = clock
        self._take = {
            RateLimitStrategy.FIXED_WINDOW: self._take_fixed,
            RateLimitStrategy.SLIDING_WINDOW: self._take_sliding,
            RateLimitStrategy.TOKEN_BUCKET: self._take_token,
        }[settings.strategy]
        self._started, self._used = clock(), 0
        self._times: deque[float] = deque()
        self._tokens, self._filled = float(self._max), self._started

    def try_acquire(self) -> float:
        """0 if a request may go now, and it is counted; else the seconds to wait before asking again."""
        return self._take(self._clock())

    def left(self) -> int:
        """Return the number of requests that were still allowed when the last one was counted."""
        return int(min(self._tokens, self._max - self._used, self._max - len(self._times)) + _SLACK_S)

    def _take_fixed(self, now: float) -> float:
        """Allow a fixed number in each window; all are free again at its end."""
        if now - self._started >= self._window_s - _SLACK_S:
            self._started, self._used = now, 0
        if self._used >= self._max:
            return self._started + self._window_s - now
        self._used += 1
        return 0.0

    def _take_sliding(self, now: float) -> float:
        """Allow a fixed number in any stretch of the window's length."""
        while self._times and now - self._times[0] >= self._window_s - _SLACK_S:
            self._times.popleft()
        if len(self._times) >= self._max:
            return self._times[0] + self._window_s - now
        self._times.append(now)
        return 0.0

    def _take_token(self, now: float) -> float:
        """A bucket that is full at first and fills evenly: a burst, then a steady pace."""
        per_s = self._max / self._window_s
        self._tokens = min(float(self._max), self._tokens + (now - self._filled) * per_s)
        self._filled = now
        missing_s = (1.0 - self._tokens) / per_s
        if missing_s > _SLACK_S:
            return missing_s
        self._tokens -= 1.0
        return 0.0
