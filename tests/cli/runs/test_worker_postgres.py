"""A worker that is started while PostgreSQL is down waits for it; one that PostgreSQL refuses ends at once."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from postgres import Postgres, find_postgres
from warm import WarmPopen, run_warm

Start = Callable[..., "WarmPopen[str]"]
_BOUND_S = 60


@pytest.fixture
def server() -> Iterator[Postgres]:
    """A server of this test alone: it is stopped."""
    if find_postgres() is None:
        pytest.skip("PostgreSQL is not installed")
    with Postgres() as server:
        yield server


@pytest.fixture
def start(project: Path, child_env: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    started: list[WarmPopen[str]] = []

    def run(url: str, *words: str) -> "WarmPopen[str]":
        env = {**child_env, "CLAWFT_RUNS__DATABASE": url}
        with (tmp_path / "log").open("w") as log:
            process = WarmPopen[str](["weft", "worker", *words], cwd=project, env=env, stdout=log, stderr=log)
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait(timeout=_BOUND_S)


def _await_log(tmp_path: Path, text: str) -> str:
    deadline = time.monotonic() + _BOUND_S
    while text not in (log := (tmp_path / "log").read_text()):
        assert time.monotonic() < deadline, log
        time.sleep(0.02)
    return log


def test_a_worker_started_without_its_postgres_waits_and_does_the_run(
    server: Postgres, start: Start, project: Path, child_env: dict[str, str], tmp_path: Path
) -> None:
    url = server.url()
    env = {**child_env, "CLAWFT_RUNS__DATABASE": url, "CLAWFT_AGENTS__DEFAULTS__MODEL": "offline"}
    server.stop()
    worker = start(url)
    _await_log(tmp_path, "Waiting for it")

    server.start()
    _await_log(tmp_path, "The database of runs is back")
    _await_log(tmp_path, "takes from")
    asked = run_warm(["weft", "agent", "--background", "-m", "hello"], cwd=project, env=env)
    assert asked.returncode == 0, asked.stderr
    run = re.findall(r"[0-9a-z]+-[0-9a-z-]+", asked.stdout + asked.stderr)[0]
    watched = run_warm(["weft", "runs", "watch", run], cwd=project, env=env)
    worker.send_signal(signal.SIGTERM)

    assert (watched.returncode, worker.wait(timeout=_BOUND_S)) == (0, 0), watched.stderr
    log = (tmp_path / "log").read_text()
    assert (log.count("Waiting for it"), log.count("is back")) == (1, 1)


@pytest.mark.parametrize("how", ["--until-idle", "--on-demand"])
def test_a_worker_that_waits_for_its_postgres_ends_on_sigterm(
    server: Postgres, start: Start, tmp_path: Path, how: str
) -> None:
    url = server.url()
    server.stop()
    worker = start(url, how)
    _await_log(tmp_path, "Waiting for it")

    worker.send_signal(signal.SIGTERM)

    assert worker.wait(timeout=_BOUND_S) == 0
    assert _await_log(tmp_path, "stopped").count("Waiting for it") == 1


def test_a_worker_that_its_postgres_refuses_ends_at_once(server: Postgres, start: Start, tmp_path: Path) -> None:
    url = server.url()
    for wrong in (
        re.sub(r":[^:/@]+@", ":wrong@", url),
        re.sub(r":[^:/@]+@", "@", url),
        re.sub(r"/[^/]*$", "/nowhere", url),
        url.replace("postgresql", "mysql"),
    ):
        worker = start(wrong)
        try:
            assert worker.wait(timeout=_BOUND_S) == 1
        except subprocess.TimeoutExpired:
            pytest.fail(f"it waits: {(tmp_path / 'log').read_text()}")
        assert "error[runs-" in (tmp_path / "log").read_text()
