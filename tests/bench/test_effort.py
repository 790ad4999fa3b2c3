import time

import pytest

from effort import within


def test_little_work_is_within_a_limit_and_waiting_is_no_work() -> None:
    with within(1):
        time.sleep(0.01)


def test_much_work_is_not() -> None:
    with pytest.raises(AssertionError, match="of processor time"), within(1e-6):
        sum(range(1_000_000))
