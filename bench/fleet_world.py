"""A user with a skill and a model that follows a script, for fleets."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clawft.jobs.worker_registry import is_dead
from runs_world import RunsWorld
from warm import WarmPopen

__all__ = ["FleetWorld"]

STEPS: list[dict[str, Any]] = [
    {"text": "", "expect": "broken", "error": {"code": "provider-failed", "message": "It broke"}},
    {"text": "Seen {asked}", "delay_ms": 60},
]


class FleetWorld(RunsWorld):
    """Runs `weft` in the project."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, STEPS, runs="lease_s = 2\npoll_s = 0.05\n")
        skill = self.user_dir / "skills" / "greet"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text("---\nname: greet\ndescription: Greets.\n---\n\nGreet $ARGUMENTS.\n")

    def begin(self, *args: str) -> subprocess.Popen[str]:
        return WarmPopen(
            [sys.executable, "-m", "clawft", *args],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def weft(self, *args: str) -> tuple[int, str, str]:
        process = self.begin(*args)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return process.returncode, out, err

    def end_workers(self) -> None:
        """End workers that were started on demand, since the other one died."""
        with self.runs() as runs:
            for row in runs.store.roster.workers():
                if not is_dead(row):
                    os.kill(row.pid, signal.SIGKILL)

    def write(self, name: str, *lines: Any) -> str:
        text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
        (self.project / name).write_text(text)
        return name

    def read(self, name: str) -> list[dict[str, Any]]:
        path = self.project / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def break_off(self, process: subprocess.Popen[str], how: signal.Signals, when: Callable[[], bool]) -> str:
        """Signal a process as soon as something is so; what it said."""
        deadline = time.monotonic() + 60
        try:
            while not when() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(how)
            return process.communicate(timeout=60)[1]
        finally:
            process.kill()
