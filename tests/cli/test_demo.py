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
    for state in ("ready", "manual", "ineligible", "shadowed", "broken"):
        assert f" {state} " in done.stdout
    for command in ("list", "why satellite", "validate", "fix", "render"):
        assert f"$ weft skills {command}" in done.stdout
    assert "Traceback" not in done.stdout
    assert "error: " not in done.stdout
    assert list(temporary.iterdir()) == []
    assert list(project.iterdir()) == []
