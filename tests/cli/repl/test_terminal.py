"""`weft agent` as a process on a real terminal: a pty, and a whole session in tmux."""

import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from on_pty import OnPty
from terminal import CTRL_D

WAIT_S = 60.0
Start = Callable[..., OnPty]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".clawft").mkdir(parents=True)
    return folder


@pytest.fixture
def script(child_env: dict[str, str]) -> Callable[..., None]:
    """Let the default model answer from a script of these steps."""

    def write(*steps: dict[str, Any]) -> None:
        user = Path(child_env["HOME"], ".clawft")
        user.mkdir(exist_ok=True)
        (user / "script.json").write_text(json.dumps({"steps": steps}))
        provider = f'[providers.s]\nwire = "scripted"\nscript = "{user}/script.json"\n'
        (user / "config.toml").write_text(f'[agents.defaults]\nmodel = "s/one"\n{provider}')

    return write


@pytest.fixture
def start(child_env: dict[str, str], project: Path) -> Start:
    """`weft agent` with these words and variables."""

    def run(*words: str, **env: str) -> OnPty:
        return OnPty(["weft", "agent", *words], {**child_env, "TERM": "xterm-256color", **env}, project)

    return run


def test_conversation_on_a_pty_ends_with_how_to_resume(start: Start, script: Callable[..., None]) -> None:
    script({"text": "Four."})
    with start() as weft:
        weft.wait_for(">")
        weft.type("two and two?\r")
        weft.wait_for("Four.")
        weft.wait_for(">")
        weft.type(CTRL_D)
        weft.wait_for("To go on with this: weft agent --session ")
        assert weft.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_a_turn_in_order(start: Start, script: Callable[..., None], number: signal.Signals) -> None:
    script({"text": "Never.", "delay_ms": 60_000})
    with start() as weft:
        weft.wait_for(">")
        weft.type("hello\r")
        weft.wait_for("thinking")
        weft.process.send_signal(number)
        weft.wait_for("To go on with this")
        assert weft.wait() == 128 + number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_a_prompt_in_order(start: Start, script: Callable[..., None], number: signal.Signals) -> None:
    script({"text": "Here."})
    with start() as weft:
        weft.wait_for(">")
        weft.process.send_signal(number)
        assert weft.wait() == 128 + number
        assert b"Traceback" not in weft.written


def test_interrupt_by_a_signal_is_a_ctrl_c(start: Start, script: Callable[..., None]) -> None:
    script({"text": "Never.", "delay_ms": 60_000})
    with start() as weft:
        weft.wait_for(">")
        weft.type("hello\r")
        weft.wait_for("thinking")
        weft.process.send_signal(signal.SIGINT)
        weft.wait_for("stopped")
        weft.wait_for(">")
        weft.process.send_signal(signal.SIGINT)
        weft.wait_for("To go on with this")
        assert weft.wait() == 0


def test_dumb_terminal_gets_no_escape_codes(start: Start, script: Callable[..., None]) -> None:
    script({"text": "# Title\n\nIt is **bold**."})
    with start(TERM="dumb") as weft:
        weft.wait_for(">")
        weft.type("hello\r")
        weft.wait_for("It is bold.")
        weft.wait_for(">")
        weft.type(CTRL_D)
        assert weft.wait() == 0
        assert b"\x1b" not in weft.written


def test_no_color_writes_no_colour(start: Start, script: Callable[..., None]) -> None:
    script({"text": "# Title\n\nIt is **bold**."})
    with start(NO_COLOR="1") as weft:
        weft.wait_for(">")
        weft.type("hello\r")
        weft.wait_for("Title")
        weft.wait_for(">")
        weft.type(CTRL_D)
        assert weft.wait() == 0
        assert b"\x1b[3" not in weft.written


def test_pipe_instead_of_a_terminal_is_one_turn(
    child_env: dict[str, str], project: Path, script: Callable[..., None]
) -> None:
    script({"text": "Four."})
    done = subprocess.run(
        ["weft", "agent"], input="2+2?", env=child_env, cwd=project, capture_output=True, text=True, timeout=WAIT_S
    )
    assert (done.returncode, done.stdout) == (0, "Four.\n")


class Tmux:
    """One pane. What it shows is looked at whenever something was written to it."""

    def __init__(self, folder: Path, env: dict[str, str], cwd: Path) -> None:
        self._env = {**env, "TMUX_TMPDIR": str(folder), "TERM": "xterm-256color"}
        self._fifo = str(folder / "written")
        os.mkfifo(self._fifo)
        self._written = os.open(self._fifo, os.O_RDWR | os.O_NONBLOCK)
        self.run("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", str(cwd), "sh")
        self.run("pipe-pane", f"cat > {self._fifo}")

    def run(self, *words: str) -> str:
        words = ("tmux", *words)
        return subprocess.run(words, env=self._env, check=True, capture_output=True, text=True, timeout=WAIT_S).stdout

    def type(self, text: str, *keys: str) -> None:
        self.run("send-keys", "-l", text)
        if keys:
            self.run("send-keys", *keys)

    def wait_for(self, text: str, count: int = 1) -> str:
        """The pane, as soon as it shows a text so many times."""
        deadline = time.monotonic() + WAIT_S
        while (shown := self.run("capture-pane", "-p")).count(text) < count:
            left = deadline - time.monotonic()
            assert left > 0, f"There is no {text!r} in the pane:\n{shown}"
            if select.select([self._written], [], [], min(left, 1))[0]:
                os.read(self._written, 1 << 16)
        return shown

    def close(self) -> None:
        self.run("kill-server")
        os.close(self._written)


@pytest.fixture
def tmux(tmp_path: Path, child_env: dict[str, str], project: Path) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    pane = Tmux(tmp_path, child_env, project)
    try:
        yield pane
    finally:
        pane.close()


def test_whole_session_in_a_terminal_emulator(tmux: Tmux, script: Callable[..., None]) -> None:
    script(
        {
            "text": "# Sum\n\nIt is **four**, and this sentence is long enough to wrap at forty columns.",
            "expect": "two",
        },
        {"text": "Never.", "delay_ms": 60_000, "expect": "wait"},
        {"text": "We spoke of four.", "expect": "what"},
    )
    tmux.type("weft agent", "Enter")
    tmux.wait_for("/help\n>")
    tmux.type("two and two?", "Enter")
    shown = tmux.wait_for("It is four, and")
    assert "**" not in shown
    tmux.wait_for("\n>", 2)
    tmux.run("resize-window", "-x", "40", "-y", "24")
    tmux.type("wait a long time", "Enter")
    tmux.wait_for("thinking")
    tmux.run("send-keys", "C-c")
    tmux.wait_for("stopped")
    tmux.wait_for("\n>", 3)
    tmux.type("/exit", "Enter")
    tmux.wait_for("To go on with this")
    tmux.type("clear; weft agent --continue", "Enter")
    tmux.wait_for("· session")
    tmux.wait_for("\n>")
    tmux.type("what was it?", "Enter")
    tmux.wait_for("We spoke of four.")
    tmux.wait_for("\n>", 2)
    tmux.run("send-keys", "C-d")
    tmux.wait_for("To go on with this")
