"""Without the part that runs in the background need, their commands say what to install, and all else works."""

import json
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


# One process does them all: most of what each takes is to import the rest.
_RUN = """
import json, sys
from clawft.cli import main

for words in json.loads(sys.argv[1]):
    sys.argv = ["weft", *words]
    try:
        main()
    except SystemExit as ended:
        print(chr(30), int(ended.code or 0), chr(30), end="", file=sys.stderr, flush=True)
"""


def test_every_command_that_needs_it_says_so(tmp_path: Path, child_env: dict[str, str]) -> None:
    (tmp_path / "sitecustomize.py").write_text(_BLOCK)
    (tmp_path / "lines").write_text('"a"\n')
    environ = child_env | {"PYTHONPATH": str(tmp_path)}
    commands = (*_NEED, *_DO_NOT)
    done = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps(commands)],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    said, codes = done.stderr.split(chr(30))[:-1:2], done.stderr.split(chr(30))[1::2]
    assert len(said) == len(codes) == len(commands)
    told = {
        words: text.partition("\n")[0] if int(code) else ""
        for words, text, code in zip(commands, said, codes, strict=True)
    }
    missing = "error[durable-missing]: Runs in the background need a part that is not installed"
    assert told == {**dict.fromkeys(_NEED, missing), **dict.fromkeys(_DO_NOT, "")}
