"""Rate limits: three ways to count (R162), by a clock that is an argument."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.config.gateway import RateLimit, RateLimitStrategy
from clawft.gateway import limits
from clawft.gateway.limits import make_limiter

STRATEGIES: tuple[RateLimitStrategy, ...] = ("fixed_window", "sliding_window", "token_bucket")


def taken(strategy: RateLimitStrategy, times: list[float], messages: int = 3, window_s: float = 10) -> list[bool]:
    limiter = make_limiter(RateLimit(strategy, messages, window_s))
    return [limiter.take("a", now) == 0 for now in times]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_so_many_are_taken_at_once_and_no_more(strategy: RateLimitStrategy) -> None:
    assert taken(strategy, [0, 0, 0, 0, 0]) == [True, True, True, False, False]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_sender_is_counted_alone(strategy: RateLimitStrategy) -> None:
    limiter = make_limiter(RateLimit(strategy, 1, 10))
    assert [limiter.take(who, 0) == 0 for who in "aabb"] == [True, False, True, False]


def test_a_fixed_window_begins_anew_at_its_border() -> None:
    assert taken("fixed_window", [8, 8, 8, 9, 10, 10, 10, 10]) == [True, True, True, False, True, True, True, False]


def test_a_sliding_window_looks_back_from_now() -> None:
    assert taken("sliding_window", [8, 8, 9, 10, 17, 18, 18, 18]) == [True, True, True, False, False, True, True, False]


def test_a_token_bucket_keeps_an_even_pace_after_a_burst() -> None:
    times = [0.0, 0, 0, 1, 3.4, 3.4, 7, 100, 100, 100, 100]
    assert taken("token_bucket", times) == [
        True, True, True, False, True, False, True, True, True, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(gaps=st.lists(st.floats(0, 30), max_size=40), messages=st.integers(1, 5), window_s=st.floats(0.5, 20))
def test_who_waits_as_long_as_was_said_is_taken(
    strategy: RateLimitStrategy, gaps: list[float], messages: int, window_s: float
) -> None:
    limiter = make_limiter(RateLimit(strategy, messages, window_s))
    now = 1000.0
    for gap in gaps:
        now += gap
        wait_s = limiter.take("a", now)
        assert 0 <= wait_s <= window_s + 0.001
        if wait_s:
            now += wait_s + 1e-6
            assert limiter.take("a", now) == 0


@pytest.mark.parametrize("strategy", ["sliding_window", "token_bucket"])
@given(gaps=st.lists(st.floats(0, 3), max_size=60))
def test_no_window_holds_more_than_a_burst_and_what_its_pace_allows(
    strategy: RateLimitStrategy, gaps: list[float]
) -> None:
    limiter = make_limiter(RateLimit(strategy, 4, 10))
    now, times = 0.0, []
    for gap in gaps:
        now += gap
        if not limiter.take("a", now):
            times.append(now)
    most = 4 if strategy == "sliding_window" else 8
    assert all(sum(start <= one < start + 10 for one in times) <= most for start in times)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_clock_that_is_put_back_does_no_lasting_harm(strategy: RateLimitStrategy) -> None:
    limiter = make_limiter(RateLimit(strategy, 1, 10))
    assert limiter.take("a", 1000) == 0
    limiter.take("a", 0)
    assert limiter.take("a", 1011) == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_senders_take_a_bounded_amount_of_memory(
    strategy: RateLimitStrategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_SENDERS", 3)
    limiter = make_limiter(RateLimit(strategy, 1, 10))
    for number in range(10):
        assert limiter.take(str(number), 0) == 0
    assert limiter.take("9", 0) > 0
    assert limiter.take("0", 0) == 0  # the oldest was forgotten
