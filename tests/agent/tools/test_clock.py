"""A deadline that waits for people."""

import math

import anyio
import pytest

from clawft.sandbox.process import PausableClock

pytestmark = pytest.mark.anyio


async def test_a_stopped_clock_has_no_deadline_and_goes_on_with_what_was_left() -> None:
    with anyio.move_on_after(100) as scope:
        clock = PausableClock(scope)
        with clock.stopped():
            assert scope.deadline == math.inf
        assert 99 < scope.deadline - anyio.current_time() <= 100


async def test_a_clock_that_two_stopped_goes_on_when_both_let_it() -> None:
    with anyio.move_on_after(100) as scope:
        clock = PausableClock(scope)
        first, second = clock.stopped(), clock.stopped()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert scope.deadline == math.inf
        second.__exit__(None, None, None)
        assert 99 < scope.deadline - anyio.current_time() <= 100
