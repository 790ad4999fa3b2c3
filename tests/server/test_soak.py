"""A few seconds of what `make soak` does for half an hour; leaks need the half hour."""

import pytest

from soak_serve import main


def test_a_mixed_load_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = main(8, seed=11, pace=0.4, memory=False)
    assert not wrong, capsys.readouterr().out
