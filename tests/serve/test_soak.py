"""A minute of what `make soak` does for half an hour."""

import pytest

from soak_serve import main


def test_a_minute_of_mixed_load_loses_nothing_and_leaks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = main(60, seed=11, pace=0.2)
    assert not wrong, capsys.readouterr().out
