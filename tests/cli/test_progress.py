"""The line that tells how far a scan is: only for a terminal, only when it takes long, and gone at the end."""

import time

import pytest

from clawft.cli.output import ScanProgress, scan_progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the time is, to be set."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_what_is_done_soon_is_not_told(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    tell = ScanProgress()
    for done in range(1, 4):
        clock[0] += 0.1
        tell(done, 3)
    assert capsys.readouterr().err == ""


def test_what_takes_long_is_told_now_and_then_and_wiped(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    tell = ScanProgress()
    tell(1, 9)
    clock[0] += 1
    tell(2, 9)
    tell(3, 9)  # too soon
    clock[0] += 1
    tell(4, 9)
    tell(9, 9)
    shown = capsys.readouterr().err.split("\r")  # what is no terminal gets no escapes
    assert [one.rpartition(": ")[2] for one in shown] == ["", "2 of 9", "4 of 9 (2 s)", ""]


def test_without_a_terminal_nothing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert scan_progress() is None
    assert capsys.readouterr().err == ""
