"""What tests of `weft runs` share: a user whose runs a real worker did, and the command line in this process."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from clawft.cli import main
from clawft.jobs.run_state import Run, WorkerRow, now_text
from clawft.jobs.worker_registry import is_dead, this_host, this_mark
from runs_world import RunsWorld
from warm import run_warm
from world import ASKING

Call = Callable[..., tuple[int, str, str]]

MAKE = {"name": "exec_shell", "arguments": {"command": "touch made.txt"}}
STEPS: list[dict[str, Any]] = [
    {"expect": "asks", "text": "I need a file.", "tool_calls": [MAKE]},
    {"expect": "asks", "text": "There it is."},
    {"expect": "works", "text": "Looking. ", "tool_calls": [{"name": "list_directory", "arguments": {"path": "."}}]},
    {"expect": "works", "text": "All done."},
    {"expect": "breaks", "error": {"code": "provider-failed", "message": "It broke"}},
    {"expect": "sleeps", "text": "late", "delay_ms": 60_000},
]


class Watched(RunsWorld):
    """A user with a script of several kinds of runs."""

    def __init__(self, folder: Path, url: str = "") -> None:
        super().__init__(folder, STEPS, url=url, runs="lease_s = 1\npoll_s = 0.05\nidle_s = 2\n")
        self.environ |= ASKING

    def ask_for(self, *texts: str) -> list[str]:
        """Queue runs."""
        with self.runs() as runs:
            return [runs.start(self.request(text)) for text in texts]

    def do(self, *texts: str) -> list[str]:
        """Have runs done by a worker, as far as they come."""
        started = self.ask_for(*texts)
        worker = self.worker(4, "--until-idle")
        try:
            worker.wait(60)
        finally:
            worker.kill()
            worker.wait()
        return started

    def weft(self, *args: str) -> tuple[int, str, str]:
        """`weft runs ARGS…` in a process of its own."""
        words = [sys.executable, "-m", "clawft", "runs", *args]
        done = run_warm(words, cwd=self.project, env=self.environ)
        return done.returncode, done.stdout, done.stderr

    def get(self, run: str) -> Run:
        with self.runs() as runs:
            return runs.store.get(run)

    def pretend_worker(self) -> None:
        """Have this process counted as a worker, so that no other is started."""
        row = WorkerRow(
            id="here",
            host=this_host(),
            pid=os.getpid(),
            mark=this_mark(),
            queue="default",
            concurrency=1,
            started=now_text(),
            beat=0,
            seen=now_text(),
            stopping=False,
        )
        with self.runs() as runs:
            runs.store.roster.register_worker(row)

    def end_workers(self) -> None:
        """End what was started on demand."""
        if not (self.user_dir / "runs").exists():
            return
        with self.runs() as runs:
            pids = [row.pid for row in runs.store.roster.workers() if not is_dead(row)]
        pids += [int(one.read_text()) for one in (self.user_dir / "runs").glob("*.starting")]
        for pid in pids:
            if pid != os.getpid():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@pytest.fixture
def url() -> str:
    """Where runs are kept: a file, unless a test says otherwise."""
    return ""


@pytest.fixture
def world(tmp_path: Path, url: str) -> Iterator[Watched]:
    world = Watched(tmp_path, url)
    try:
        yield world
    finally:
        world.end_workers()


@pytest.fixture
def run(
    world: Watched,
    environ: MutableMapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Call:
    """`run("list")` is `weft runs list` of the world's user: exit code, stdout, stderr."""

    def run(*args: str) -> tuple[int, str, str]:
        for name in ("CLAWFT_HOME", "COLUMNS"):
            environ.pop(name, None)
        environ.update(world.environ)
        monkeypatch.chdir(world.project)
        monkeypatch.setattr(sys, "argv", ["weft", "runs", *args])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return run
