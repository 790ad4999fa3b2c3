"""Complexity and score: from 0 to 1, and in the order one would expect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.loop import score_turn
from clawft.agent.model_choice import measure_complexity


def test_harder_requests_score_higher() -> None:
    easy = measure_complexity("hi")
    middle = measure_complexity("Explain why the tests fail, then fix them.")
    hard = measure_complexity(
        "Analyse the architecture, design a migration plan and compare the trade-offs:\n"
        "1. First read the code\n2. Then refactor it\n3. Finally review the security\n```py\nx = 1\n```"
        + "detail "
        * 200
    )
    assert easy < middle < hard


@given(st.text(max_size=2000), st.integers(0, 10_000), st.integers(0, 50))
def test_complexity_is_between_zero_and_one(text: str, history: int, images: int) -> None:
    assert 0 <= measure_complexity(text, history, images) <= 1


@pytest.mark.parametrize(
    ("stop", "answered", "calls", "failed", "expected"),
    [
        ("done", True, 0, 0, 1.0),
        ("done", True, 4, 2, 0.8),
        ("done", False, 0, 0, 0.4),
        ("max_iterations", False, 3, 3, 0.0),
        ("length", True, 0, 0, 0.6),
    ],
)
def test_a_turn_is_scored_by_its_answer_its_end_and_its_tools(
    stop: str, answered: bool, calls: int, failed: int, expected: float
) -> None:
    assert score_turn(stop, answered, calls, failed) == expected
