"""A user whose runs are done by real workers, on a file or a server, with a model that follows a script."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clawft.agent.run_request import RunRequest
from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from clawft.jobs.runs import Runs
from warm import WarmPopen

__all__ = ["RunsWorld"]


class RunsWorld:
    """`steps` are those of a script that answers by turn; `url` is a server, or none for a file."""

    def __init__(self, folder: Path, steps: Sequence[dict[str, Any]], *, url: str = "", runs: str = "") -> None:
        self.home = folder / "home"
        self.user_dir = self.home / ".clawft"
        self.project = folder / "project"
        for one in (self.user_dir, self.project):
            one.mkdir(parents=True, exist_ok=True)
        script = self.user_dir / "script.json"
        script.write_text(json.dumps({"by_turn": True, "steps": list(steps)}))
        database = f'database = "{url}"\n' if url else ""
        config = '[agents.defaults]\nmodel = "s/m"\n[memory]\nenabled = false\n'
        config += f'[providers.s]\nwire = "scripted"\nscript = "{script}"\n[runs]\n{database}{runs}'
        (self.user_dir / "config.toml").write_text(config)
        self.environ = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        if "COVERAGE_PROCESS_START" in os.environ:
            self.environ["COVERAGE_PROCESS_START"] = os.environ["COVERAGE_PROCESS_START"]

    @contextmanager
    def runs(self) -> Iterator[Runs]:
        runs = open_app_runs(open_app(self.environ, str(self.project)))
        try:
            yield runs
        finally:
            runs.close()

    def request(self, text: str, **more: Any) -> RunRequest:
        return RunRequest(kind="agent", cwd=str(self.project), project=str(self.project), text=text, **more)

    def start(self, fleet: str, count: int, **more: Any) -> list[str]:
        """Queue so many runs, whose messages are their numbers."""
        with self.runs() as runs:
            return runs.start_fleet(fleet, [(line, self.request(f"r{line}", **more)) for line in range(count)])

    @contextmanager
    def workers(self, count: int, concurrency: int, *options: str) -> Iterator[list[subprocess.Popen[bytes]]]:
        """Workers of their own processes, ended with the block."""
        started: list[subprocess.Popen[bytes]] = []
        try:
            started += [self.worker(concurrency, *options) for _ in range(count)]
            yield started
        finally:
            end_all(started)

    def worker(self, concurrency: int, *options: str) -> subprocess.Popen[bytes]:
        log = (self.user_dir / "workers.log").open("ab")
        command = (sys.executable, "-m", "clawft", "worker", "--concurrency", str(concurrency), *options)
        with log:
            return WarmPopen(command, cwd=self.project, env=self.environ, stdin=subprocess.DEVNULL, stderr=log)

    def wait_for_workers(self, count: int, wait_s: float = 30) -> None:
        with self.runs() as runs:
            deadline = time.monotonic() + wait_s
            while len(runs.store.roster.workers()) < count:
                if time.monotonic() > deadline:
                    raise SystemExit(f"error: the workers did not start:\n{self.log()}")
                time.sleep(0.05)

    def drain(self, fleet: str, count: int, wait_s: float) -> float:
        """How long it takes until so many runs of a fleet are over, from now."""
        begun = time.monotonic()
        with self.runs() as runs:
            while (counts := runs.store.counts(fleet)).get("done", 0) < count:
                if counts.get("failed") or time.monotonic() - begun > wait_s:
                    raise SystemExit(f"error: {counts} of {count} runs after {wait_s} s:\n{self.log()}")
                time.sleep(0.05)
        return time.monotonic() - begun

    def log(self) -> str:
        path = self.user_dir / "workers.log"
        return path.read_text()[-4000:] if path.exists() else ""


def end_all(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for one in processes:
        if one.poll() is None:
            one.send_signal(signal.SIGTERM)
    for one in processes:
        try:
            one.wait(60)
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()
