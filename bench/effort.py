"""How much work something is, whatever the machine: for tests that promise that little is done."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["measure", "within"]

_USUAL_S = 0.025  # what the reference takes on the machine whose seconds are meant


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail where the body takes more processor time, in seconds of the usual machine.

    Time that other processes take does not count, and on a slower machine the limit is longer.
    """
    began = time.process_time()
    yield
    spent = time.process_time() - began
    assert spent < seconds or spent < seconds * _slowness(), f"{spent:.2f} s of processor time"


def measure(action: Callable[[], object], times: int = 5) -> float:
    """Return the least processor time of several tries, in seconds of the usual machine."""
    return min(_take(action) for _ in range(times)) / _slowness()


def _slowness() -> float:
    return max(1.0, _take(_count) / _USUAL_S)


def _take(action: Callable[[], object]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


def _count() -> int:
    total = 0
    for number in range(1_000_000):
        total += number % 7
    return total
