"""What `make test` ends with, from a run of pytest on a small project."""

import subprocess
import sys
from pathlib import Path

import pytest

import tally

TOOLS = Path(tally.__file__).parent
TESTS = """
import os
import pytest

@pytest.fixture
def broken(): assert False

@pytest.mark.parametrize("n", range(3))
def test_passes(n): pass

def test_fails(): assert False

def test_cannot_begin(broken): pass

@pytest.mark.skip(reason="no")
def test_is_skipped(): pass

def test_ends_its_process():
    if "PYTEST_XDIST_WORKER" in os.environ: os._exit(3)
    assert False
"""


@pytest.mark.parametrize("args", [[], ["-p", "xdist", "-n", "1"]], ids=["one process", "xdist"])
def test_errors_and_lost_processes_count_as_failed(tmp_path: Path, child_env: dict[str, str], args: list[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest]\npythonpath = ['{TOOLS}']\n")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tally"]\n')
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
    env = {**child_env, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 1, done.stdout + done.stderr
    assert (tmp_path / ".cache" / "tests.txt").read_text() == "tests: 3 passed, 3 failed, 1 skipped\n"
