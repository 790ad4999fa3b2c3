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


def test_skills_that_were_scanned_before_need_no_scanner(project: Path, child_env: dict[str, str]) -> None:
    skill = project / "skills" / "one"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: one\ndescription: Greets\n---\n\nSay hello.\n")
    words = [sys.executable, "-c", CODE, "skills", "list"]
    runs = [
        subprocess.run(words, cwd=project, env=child_env, capture_output=True, text=True, timeout=60, check=True)
        for _ in range(2)
    ]
    scanner = {"clawft.scanner.engine", "clawft.scanner.rules", "clawft.scanner.processes"}
    assert [bool(scanner & set(one.stderr.split())) for one in runs] == [True, False]
    assert runs[0].stdout == runs[1].stdout
