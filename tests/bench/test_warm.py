"""What is forked from a process that imported `weft` is as one that was started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from warm import WarmPopen, run_warm

WEFT = [sys.executable, "-m", "clawft"]


@pytest.mark.parametrize("words", [["--version"], ["nothing"], ["config", "path"], ["skills", "show", "no\udcff"]])
def test_it_says_and_ends_as_one_that_was_started(words: list[str], tmp_path: Path, child_env: dict[str, str]) -> None:
    warm = run_warm([*WEFT, *words], cwd=tmp_path, env=child_env)
    cold = subprocess.run([*WEFT, *words], cwd=tmp_path, env=child_env, capture_output=True, text=True, timeout=60)
    assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)


def test_it_reads_what_is_piped_in(tmp_path: Path, child_env: dict[str, str]) -> None:
    with WarmPopen[str](
        [*WEFT, "agent", "-m", "say"], cwd=tmp_path, env=child_env, stdin=-1, stdout=-1, text=True
    ) as process:
        out, _ = process.communicate("what is piped", timeout=60)
    assert process.returncode == 0
    assert out


def test_it_is_killed_as_a_process_of_its_own_and_session(tmp_path: Path, child_env: dict[str, str]) -> None:
    with WarmPopen[str](
        [*WEFT, "worker"], cwd=tmp_path, env=child_env, stderr=-1, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        assert "takes from" in process.stderr.readline()
        assert process.poll() is None
        assert os.getsid(process.pid) == process.pid
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.kill()
        assert process.wait(60) == -signal.SIGKILL


def test_what_needs_more_than_that_is_started(tmp_path: Path, child_env: dict[str, str]) -> None:
    done = run_warm([sys.executable, "-c", "import sys; print('clawft' in sys.modules)"], env=child_env, cwd=tmp_path)
    assert done.stdout == "False\n"
    done = run_warm([*WEFT, "--version"], env=child_env | {"PYTHONVERBOSE": "1"}, cwd=tmp_path)
    assert "import" in done.stderr
