"""Real workers on real runs, and what is done to them: started, killed, paused; and what came of it, counted outside.

The model is a server on loopback, which counts what it is asked. A command of a run adds one line to a file, with its
time. So every step that has an effect is seen by somebody who does not believe the database.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import sqlalchemy as sa

import clawft
from clawft.agent.run_request import RunRequest
from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from clawft.jobs.engine import RecordedStep
from clawft.jobs.run_state import PendingQuestion, Run
from clawft.jobs.runs import Runs
from warm import WarmPopen
from wire import Asked, Reply, WireServer

__all__ = ["COMMANDS", "Chaos", "Effect", "Process", "answer", "make_command", "ten_steps", "until"]

T = TypeVar("T")
Effect = tuple[str, str, float]  # of which run, which one, when
Script = Callable[[str, int], Reply]
COMMANDS = {"2.0": "a", "3.0": "b"}  # of `ten_steps`: where in the conversation each is


def until(look: Callable[[], T | None], seconds: float, what: str = "") -> T:
    """What `look` gives as soon as it is something. Raises: AssertionError when it takes too long."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {seconds:g} seconds: {what or look}"
        time.sleep(0.02)
    return found


def make_command(label: str, name: str, before: str = "", after: str = "") -> dict[str, Any]:
    """A call of a command that adds one line, and must not be made twice."""
    line = f"date '+{label} {name} %s%N' >> effects.txt"
    return {"name": "exec_shell", "arguments": {"command": "; ".join(filter(None, (before, line, after)))}}


def answer(*calls: dict[str, Any], text: str = "", wait_s: float = 0.0) -> Reply:
    made = tuple((f"call_{at}", one["name"], json.dumps(one["arguments"])) for at, one in enumerate(calls))
    return Reply(text=(text,) if text else (), calls=made, wait_s=wait_s)


def ten_steps(label: str, place: int, wait_s: float = 0.0) -> Reply:
    """A turn of five answers and five calls, two of which must not be repeated."""
    calls: tuple[tuple[dict[str, Any], ...], ...] = (
        ({"name": "read_file", "arguments": {"path": "note.txt"}},),
        (make_command(label, "a"),),
        (
            make_command(label, "b"),
            {"name": "write_file", "arguments": {"path": f"out/{label}.txt", "content": label}},
        ),
        ({"name": "list_directory", "arguments": {"path": "out"}},),
    )
    if place < len(calls):
        return answer(*calls[place], wait_s=wait_s)
    return answer(text=f"{label} is done", wait_s=wait_s)


class Process:
    """A worker in a process of its own. What it says is kept."""

    def __init__(self, words: Sequence[str], cwd: Path, env: dict[str, str], log: Path) -> None:
        self._log = log
        with open(log, "wb") as file:
            self.popen: WarmPopen[bytes] = WarmPopen(
                words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
            )
        self.pid = self.popen.pid

    @property
    def said(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def is_ready(self) -> bool:
        assert self.popen.poll() is None, f"the worker ended: {self.said}"
        return "takes from" in self.said

    def wait_to_say(self, text: str, seconds: float = 20) -> str:
        """All that it said, as soon as this is in it."""
        until(lambda: text in self.said, seconds, f"{text}, but: {self.said}")
        return self.said

    def send(self, number: signal.Signals) -> None:
        self.popen.send_signal(number)

    def kill(self) -> None:
        """SIGKILL of the process alone: what it started must see to itself."""
        self.popen.kill()
        self.popen.wait(30)

    def wait(self, seconds: float = 40) -> int:
        return self.popen.wait(seconds)

    def close(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait(30)


class Chaos:
    """A user with a project, a model server, a database of runs, and workers. All that was started ends with it."""

    def __init__(self, folder: Path, *, script: Script = ten_steps, runs: str = "", env: dict[str, str] | None = None):
        self.folder = folder
        self.home, self.project = folder / "home", folder / "project"
        self.user_dir = self.home / ".clawft"
        self.user_dir.mkdir(parents=True)
        (self.project / "out").mkdir(parents=True)
        (self.project / "note.txt").write_text("a note\n")
        self.effects_file = self.project / "effects.txt"
        self._script = script
        self._settings = runs
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
        coverage = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        same = {"PYTHONPATH": str(Path(clawft.__file__).parents[1])}  # what is imported here is what the workers are
        self.env = {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", **same, **coverage, **(env or {})}
        self.calls: list[tuple[str, int, float]] = []  # of the model: which run, which answer, when
        self.processes: list[Process] = []
        self.runs_by_label: dict[str, str] = {}
        self._runs: Runs | None = None

    def __enter__(self) -> Self:
        self.server = WireServer(self._reply)
        self.server.__enter__()
        provider = f'[providers.local]\nwire = "openai"\nbase_url = "{self.server.url}"\n'
        runs = f"[runs]\nlease_s = 2\npoll_s = 0.05\n{self._settings}\n" if "lease_s" not in self._settings else ""
        runs = runs or f"[runs]\npoll_s = 0.05\n{self._settings}\n"
        (self.user_dir / "config.toml").write_text(
            f'[agents.defaults]\nmodel = "local/m"\nmode = "ask"\n{runs}{provider}'
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.processes:
            process.close()
        if self._runs is not None:
            self._runs.close()
        self.server.__exit__(kind, error, trace)

    # the model

    def _reply(self, asked: Asked) -> Reply:
        messages = asked.body["messages"]
        since = max(at for at, one in enumerate(messages) if one["role"] == "user")
        place = sum(one["role"] == "assistant" for one in messages[since:])
        label = _text_of(messages[since]["content"])
        self.calls.append((label, place, time.time()))
        return self._script(label, place)

    # runs

    @property
    def runs(self) -> Runs:
        if self._runs is None:
            self._runs = open_app_runs(open_app(self.env, str(self.project)))
        return self._runs

    def start(self, *labels: str, yes: bool = True) -> list[str]:
        """Runs, told apart by what they are asked."""
        for label in labels:
            request = RunRequest(kind="agent", cwd=str(self.project), project=str(self.project), text=label, yes=yes)
            self.runs_by_label[label] = self.runs.start(request)
        return [self.runs_by_label[label] for label in labels]

    def get(self, label: str) -> Run:
        return self.runs.store.get(self.runs_by_label[label])

    def questions(self, label: str = "", *, open_only: bool = True) -> tuple[PendingQuestion, ...]:
        return self.runs.store.questions(self.runs_by_label.get(label, ""), open_only=open_only)

    def recorded(self, label: str) -> list[RecordedStep]:
        return self.runs.recorded(self.get(label))

    def wait_for(self, label: str, *statuses: str, seconds: float = 30) -> Run:
        wanted = statuses or ("done",)

        def look() -> Run | None:
            run = self.get(label)
            return run if run.status in wanted else None

        try:
            return until(look, seconds, f"{label} {wanted}")
        except AssertionError as error:
            logs = "\n".join(f"{one.pid}: {one.said}" for one in self.processes)
            raise AssertionError(f"{error}; it is {self.get(label)}\n{logs}") from None

    # workers

    def work(self, *words: str, prefix: Sequence[str] = (), env: dict[str, str] | None = None) -> Process:
        """Start a worker; it takes runs a while later."""
        command = [*prefix, sys.executable, "-m", "clawft", "worker", *words]
        log = self.folder / f"worker-{len(self.processes)}.log"
        process = Process(command, self.folder, {**self.env, **(env or {})}, log)
        self.processes.append(process)
        return process

    def work_now(self, *words: str, prefix: Sequence[str] = (), env: dict[str, str] | None = None) -> Process:
        """A worker that takes runs when this comes back."""
        process = self.work(*words, prefix=prefix, env=env)
        until(lambda: process.is_ready, 40, "the worker is ready")
        return process

    def pause(self, process: Process) -> None:
        """Stop a worker, but not in the middle of a write to a file: that would hold up everyone."""
        path = self.user_dir / "runs" / "runs.sqlite"
        while True:
            process.send(signal.SIGSTOP)
            connection = sqlite3.connect(path, timeout=0.2, isolation_level=None)
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
                return
            except sqlite3.OperationalError:
                process.send(signal.SIGCONT)
            finally:
                connection.close()

    # what came of it

    @property
    def effects(self) -> list[Effect]:
        """What the commands did, one line each."""
        if not self.effects_file.exists():
            return []
        lines = [line.split() for line in self.effects_file.read_text().splitlines()]
        return [(label, name, int(at) / 1e9) for label, name, at in lines]

    def count(self, label: str = "") -> Counter[tuple[str, str]]:
        """How often each command had its effect."""
        return Counter((run, name) for run, name, _ in self.effects if label in ("", run))

    def recorded_at(self) -> dict[tuple[str, str], float]:
        """When each step of each run was recorded, by run and place."""
        database = self.runs.database
        table = "operation_outputs" if database.dialect.name == "sqlite" else "dbos.operation_outputs"
        query = f"SELECT workflow_uuid, function_name, min(completed_at_epoch_ms) FROM {table} GROUP BY 1, 2"
        with database.connect() as connection:
            rows = connection.execute(sa.text(query)).all()
        found: dict[tuple[str, str], float] = {}
        for workflow, name, at in rows:
            key = (str(workflow).rpartition(".")[0], str(name))
            found[key] = min(at / 1000, found.get(key, at / 1000))
        return found


def _text_of(content: str | list[dict[str, Any]]) -> str:
    text = content if isinstance(content, str) else "".join(one.get("text", "") for one in content)
    return text.strip()
