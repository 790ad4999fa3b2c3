"""What a newcomer stumbled over, once: pipes beside a message, titles, what is left behind."""

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def script(child_env: dict[str, str]) -> Callable[..., None]:
    """Let the default model answer from a script of these steps."""

    def write(*steps: dict[str, Any]) -> None:
        user = Path(child_env["HOME"], ".clawft")
        user.mkdir(exist_ok=True)
        (user / "script.json").write_text(json.dumps({"steps": steps, "loop": True}))
        provider = f'[providers.s]\nwire = "scripted"\nscript = "{user}/script.json"\n'
        (user / "config.toml").write_text(f'[agents.defaults]\nmodel = "s/one"\n{provider}')

    return write


def test_what_is_piped_in_is_added_to_the_message(
    project: Path, child_env: dict[str, str], script: Callable[..., None]
) -> None:
    script({"text": "Reviewed.", "expect": r"Review this\n\n<stdin>\n\+ a new line\n</stdin>"})
    done = subprocess.run(
        ["weft", "agent", "-m", "Review this"], input="+ a new line", cwd=project, env=child_env,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == "Reviewed.\n"


def test_a_pipe_that_nobody_writes_to_is_left_alone(
    project: Path, child_env: dict[str, str], script: Callable[..., None]
) -> None:
    script({"text": "Answered."})
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            ["weft", "agent", "-m", "hi"], stdin=reading, cwd=project, env=child_env,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(reading)
        os.close(writing)
    assert done.stdout == "Answered.\n"
    assert "nothing came through the pipe" in done.stderr


def test_a_turn_that_never_began_leaves_no_session(weft: Weft, script: Callable[..., None]) -> None:
    script({"text": "x"})
    assert weft("agent", "-m", "hi", "--model", "nowhere/x").returncode == 1
    assert json.loads(weft("sessions", "list", "--format", "json").stdout)["sessions"] == []


def test_a_session_begun_by_a_skill_is_titled_by_its_name(weft: Weft, script: Callable[..., None]) -> None:
    script({"text": "x"})
    weft("skills", "run", "review-diff", "HEAD~1")
    (session,) = json.loads(weft("sessions", "list", "--format", "json").stdout)["sessions"]
    assert session["title"] == "/review-diff HEAD~1"


def test_what_follows_a_skills_name_are_its_arguments_whatever_they_look_like(
    weft: Weft, script: Callable[..., None]
) -> None:
    script({"text": "ok", "expect": "^/review-diff --yes --model offline"})
    assert weft("skills", "run", "review-diff", "--yes", "--model", "offline").stdout == "ok\n"


def test_a_new_session_of_a_given_key_is_said_to_be_new(weft: Weft, script: Callable[..., None]) -> None:
    script({"text": "x"})
    assert "session: mine (new)" in weft("agent", "-m", "hi", "-s", "mine").stderr
    assert "session: " not in weft("agent", "-m", "hi", "-s", "mine").stderr


def test_a_command_that_fails_says_its_exit_code(weft: Weft, script: Callable[..., None]) -> None:
    script({"tool_calls": [{"name": "exec_shell", "arguments": {"command": "ls nowhere"}}]}, {"text": "x"})
    lines = weft("agent", "-m", "hi").stderr.splitlines()
    assert lines[:2] == ["· exec_shell ls nowhere", "✗ exec_shell ls nowhere: exit code 2"]


def test_a_removed_session_takes_its_saved_output_along(
    weft: Weft, script: Callable[..., None], project: Path, child_env: dict[str, str]
) -> None:
    (project / "long.txt").write_text("line\n" * 20_000)
    script({"tool_calls": [{"name": "exec_shell", "arguments": {"command": "cat long.txt"}}]}, {"text": "x"})
    weft("agent", "-m", "hi", "-s", "mine")
    saved = Path(child_env["HOME"], ".clawft", "output", "mine")
    assert list(saved.iterdir())
    weft("sessions", "remove", "mine", "--yes")
    assert not saved.exists()


def test_what_is_kept_is_for_the_user_alone(
    weft: Weft, script: Callable[..., None], project: Path, child_env: dict[str, str]
) -> None:
    (project / "long.txt").write_text("line\n" * 20_000)
    script({"tool_calls": [{"name": "exec_shell", "arguments": {"command": "cat long.txt"}}]}, {"text": "x"})
    user = Path(child_env["HOME"], ".clawft")
    weft("agent", "-m", "hi")
    given = {user, user / "config.toml", user / "script.json", user / "cache", *(user / "cache").iterdir()}
    for path in set(user.rglob("*")) - given:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
