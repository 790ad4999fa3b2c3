"""`weft demo`: what a newcomer sees first."""

import subprocess
from collections.abc import Callable
from pathlib import Path

Weft = Callable[..., subprocess.CompletedProcess[str]]


def test_demo_shows_every_state_and_leaves_nothing_behind(weft: Weft, project: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    done = weft("demo", TMPDIR=str(temporary), CLAWFT_PROJECT="/nonexistent", CLAWFT_HOME="/nonexistent")

    assert (done.returncode, done.stderr) == (0, "")
    for state in ("ready", "manual", "ineligible", "shadowed", "broken", "untrusted:"):
        assert f" {state} " in done.stdout
    for command in (
        "skills trust --all --yes",
        "skills list",
        "skills why satellite",
        "skills validate",
        "skills fix",
        "skills render",
        "agent",
        "skills install",
        "skills verify",
    ):
        assert f"$ weft {command}" in done.stdout
    assert "OPEN ask for a review" in done.stdout  # the turn ran the skill's commands
    assert "`touch counted`: refused" in done.stdout  # and did not do what nobody allowed
    assert "secret-file-sent" in done.stdout  # a stranger's skill that attacks was refused
    assert "1 skill is as installed" in done.stdout
    assert "Traceback" not in done.stdout
    assert "error: " not in done.stdout
    assert list(temporary.iterdir()) == []
    assert list(project.iterdir()) == []
