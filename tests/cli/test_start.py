"""What a command that only looks must not load: it would be felt at every start."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"anyio", "asyncio", "bs4", "httpx2", "idna", "mcp", "re2", "sqlite3", "ssl", "tomlkit"}
CODE = """\
import sys
from clawft.cli import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    "line",
    [
        "--help",
        "skills list",
        "config path",
        "sessions list",
        "cron list",
        "agent --help",
        "scan --help",
        "scan rules",
        "skills scan",
    ],
)
def test_command_that_only_looks_loads_no_heavy_library(line: str, project: Path, child_env: dict[str, str]) -> None:
    plain = {name: value for name, value in child_env.items() if not name.startswith("COVERAGE_")}  # it loads sqlite3
    done = subprocess.run(
        [sys.executable, "-c", CODE, *line.split()],
        cwd=project,
        env=plain,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert not HEAVY & set(done.stderr.split())
    assert "clawft.cli.root" in done.stderr.split()
