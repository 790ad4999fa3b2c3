"""The limit on requests: each strategy on a clock that the test moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.config.tools import RateLimit, RateLimitStrategy
from clawft.sandbox.rate_limit import RateLimiter


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def _limiter(strategy: str, clock: Clock, max_requests: int = 3, window_s: float = 10) -> RateLimiter:
    return RateLimiter(RateLimit(RateLimitStrategy(strategy), max_requests, window_s), clock)


@pytest.mark.parametrize("strategy", list(RateLimitStrategy))
def test_first_requests_go_at_once_and_the_next_waits(strategy: str) -> None:
    limiter = _limiter(strategy, Clock())

    assert [limiter.try_acquire() for _ in range(3)] == [0, 0, 0]
    assert limiter.try_acquire() > 0


def test_fixed_window_frees_all_at_its_end() -> None:
    clock = Clock()
    limiter = _limiter("fixed_window", clock)
    clock.now += 9
    assert [limiter.try_acquire() for _ in range(3)] == [0, 0, 0]
    assert limiter.try_acquire() == pytest.approx(1)

    clock.now += 1

    assert [limiter.try_acquire() for _ in range(3)] == [0, 0, 0]
    assert limiter.try_acquire() == pytest.approx(10)


def test_sliding_window_frees_each_request_when_it_is_old_enough() -> None:
    clock = Clock()
    limiter = _limiter("sliding_window", clock)
    for _ in range(3):
        assert limiter.try_acquire() == 0
        clock.now += 2

    assert limiter.try_acquire() == pytest.approx(4)
    clock.now += 4
    assert limiter.try_acquire() == 0
    assert limiter.try_acquire() == pytest.approx(2)


def test_token_bucket_allows_a_burst_and_then_a_steady_pace() -> None:
    clock = Clock()
    limiter = _limiter("token_bucket", clock, max_requests=5, window_s=10)

    assert [limiter.try_acquire() for _ in range(5)] == [0] * 5
    assert limiter.try_acquire() == pytest.approx(2)
    clock.now += 2
    assert limiter.try_acquire() == 0
    assert limiter.try_acquire() == pytest.approx(2)
    clock.now += 1000
    assert [limiter.try_acquire() for _ in range(5)] == [0] * 5
    assert limiter.try_acquire() == pytest.approx(2)


@given(
    strategy=st.sampled_from(list(RateLimitStrategy)),
    max_requests=st.integers(1, 7),
    window_s=st.floats(0.01, 10_000),
    start=st.floats(0, 1e7),
)
def test_who_waits_as_long_as_told_may_go(
    strategy: RateLimitStrategy, max_requests: int, window_s: float, start: float
) -> None:
    clock = Clock(start)
    limiter = RateLimiter(RateLimit(strategy, max_requests, window_s), clock)

    for _ in range(3 * max_requests):
        wait_s = limiter.try_acquire()
        if wait_s:
            clock.now += wait_s
            assert limiter.try_acquire() == 0


@given(
    strategy=st.sampled_from([RateLimitStrategy.SLIDING_WINDOW, RateLimitStrategy.FIXED_WINDOW]),
    steps=st.lists(st.integers(0, 5), max_size=60),
)
def test_no_window_gets_more_than_its_share(strategy: RateLimitStrategy, steps: list[int]) -> None:
    clock = Clock(0)
    limiter = RateLimiter(RateLimit(strategy, 3, 10), clock)
    gone: list[float] = []
    for step in steps:
        clock.now += step
        if limiter.try_acquire() == 0:
            gone.append(clock.now)

    share = 3 if strategy is RateLimitStrategy.SLIDING_WINDOW else 6  # two fixed windows may touch
    assert all(sum(start <= at < start + 10 for at in gone) <= share for start in gone)
