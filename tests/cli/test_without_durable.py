"""Without the part that runs in the background need, their commands say what to install, and all else works."""

import subprocess
import sys
from pathlib import Path

_BLOCK = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
gone = ("dbos", "psycopg", "sqlalchemy")
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in gone else find(name, *more)
"""
# One for each way in which commands come to it.
_NEED = (
    ("runs", "list"),
    ("worker",),
    ("gateway",),
    ("gateway", "status"),
    ("cron", "run", "--once"),
    ("fleet", "list"),
    ("fleet", "run", "--skill", "vet-skill", "--inputs", "lines"),
    ("agent", "--background", "-m", "x"),
)
_DO_NOT = (("fleet", "list", "--help"), ("cron", "list"), ("doctor",))


def test_every_command_that_needs_it_says_so(tmp_path: Path, child_env: dict[str, str]) -> None:
    (tmp_path / "sitecustomize.py").write_text(_BLOCK)
    (tmp_path / "lines").write_text('"a"\n')
    environ = child_env | {"PYTHONPATH": str(tmp_path)}
    told: dict[tuple[str, ...], str] = {}
    for words in (*_NEED, *_DO_NOT):
        command = [sys.executable, "-m", "clawft", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=False
        )
        told[words] = done.stderr.partition("\n")[0] if done.returncode else ""
    missing = "error[durable-missing]: Runs in the background need a part that is not installed"
    assert told == {**dict.fromkeys(_NEED, missing), **dict.fromkeys(_DO_NOT, "")}
