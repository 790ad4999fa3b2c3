"""Progress of a long scan: a line on a terminal that is taken away again, and nothing anywhere else."""

import io
import sys
from collections.abc import MutableMapping

import pytest

from clawft.cli.scan import _Progress
from clawft.scanner import Coverage, Power, Report

REPORT = Report("/a", "a\x1b[2J", "", "clean", 0.9, (), Power(), Coverage())


class _Stream(io.StringIO):
    """What stderr is: a terminal or not."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def _run(monkeypatch: pytest.MonkeyPatch, *, terminal: bool = True, total: int = 3, slow: bool = True) -> str:
    stream = _Stream(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    progress = _Progress(total)
    if slow:
        progress.due = 0
    progress.step(REPORT)
    progress.clear()
    progress.clear()
    return stream.getvalue()


def test_terminal_sees_how_far_it_is_and_then_nothing(
    monkeypatch: pytest.MonkeyPatch, environ: MutableMapping[str, str]
) -> None:
    environ["TERM"] = "xterm"

    assert _run(monkeypatch) == "\r\x1b[K1 of 3 scanned: a\ufffd[2J\r\x1b[K"


def test_quick_scans_single_ones_pipes_and_dumb_terminals_get_nothing(
    monkeypatch: pytest.MonkeyPatch, environ: MutableMapping[str, str]
) -> None:
    environ["TERM"] = "xterm"
    assert _run(monkeypatch, slow=False) == ""
    assert _run(monkeypatch, total=1) == ""
    assert _run(monkeypatch, terminal=False) == ""

    environ["TERM"] = "dumb"
    assert _run(monkeypatch) == ""
