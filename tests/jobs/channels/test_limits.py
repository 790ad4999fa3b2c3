"""Rate limits of senders. How requests are counted is tested in tests/sandbox/test_limit.py."""

import pytest

from clawft.config.tools import RateLimit, RateLimitStrategy
from clawft.jobs.channels import admission as limits
from clawft.jobs.channels.admission import SenderLimits


def make(strategy: RateLimitStrategy, most: int) -> SenderLimits:
    return SenderLimits(RateLimit(strategy, most, 10), lambda: 0.0)


@pytest.mark.parametrize("strategy", list(RateLimitStrategy))
def test_each_sender_is_counted_alone(strategy: RateLimitStrategy) -> None:
    senders = make(strategy, 2)
    assert [senders.take(who) == 0 for who in "aaabbb"] == [True, True, False, True, True, False]


@pytest.mark.parametrize("strategy", list(RateLimitStrategy))
def test_many_senders_take_a_bounded_amount_of_memory(
    strategy: RateLimitStrategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_SENDERS", 3)
    senders = make(strategy, 1)
    for number in range(10):
        assert senders.take(str(number)) == 0
    assert senders.take("9") > 0
    assert senders.take("0") == 0  # who wrote longest ago was forgotten
