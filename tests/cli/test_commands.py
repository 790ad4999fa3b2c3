"""Claude's commands on the command line: they are listed, shown, explained, rendered and run like skills."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]

FIX = """---
description: Fix an issue
argument-hint: "[issue] [priority]"
allowed-tools: Read, Bash(gh:*)
---

Fix issue $1 with priority $2. All: $ARGUMENTS
State: !`gh issue view $1`
See @docs/issues.md.
"""


@pytest.fixture
def command(project: Path) -> Path:
    path = project / ".claude" / "commands" / "gh" / "fix.md"
    path.parent.mkdir(parents=True)
    path.write_text(FIX)
    return path


def test_command_is_listed_with_its_format_and_state(weft: Weft, command: Path) -> None:
    assert weft("skills", "trust", "gh-fix", "--yes").returncode == 0
    row = next(line for line in weft("skills", "list").stdout.splitlines() if "gh-fix" in line)
    assert row.split() == ["✓", "gh-fix", "Fix", "an", "issue", "ready", "project", "command"]

    skills = json.loads(weft("skills", "list", "--format", "json").stdout)["skills"]
    mine = next(one for one in skills if one["name"] == "gh-fix")
    assert (mine["format"], mine["layer"], mine["path"]) == ("command", ".claude/commands", str(command))
    assert (mine["display_name"], mine["allowed_tools"]) == ("gh:fix", ["Read", "Bash(gh:*)"])
    assert mine["digest"].startswith("sha256:")


def test_show_and_why_tell_of_a_command(weft: Weft, command: Path) -> None:
    assert weft("skills", "trust", "gh-fix", "--yes").returncode == 0
    shown = weft("skills", "show", "gh-fix").stdout

    assert "Format: command\n" in shown
    assert "Scope: project (.claude/commands/gh/fix.md)\n" in shown
    assert "Placeholders: 1, 2, ARGUMENTS\n" in shown
    assert "A turn runs this command in the sandbox where its mode allows that, and else asks:" in shown
    assert "If there is such a file, a turn attaches it: docs/issues.md\n" in shown
    assert "a person may start it as gh-fix" in weft("skills", "why", "gh-fix").stdout


def test_render_fills_in_what_claude_would(weft: Weft, command: Path) -> None:
    done = weft("skills", "render", "gh-fix", "12", "high")

    assert done.stdout == (
        "Fix issue 12 with priority high. All: 12 high\nState: !`gh issue view $1`\nSee @docs/issues.md.\n"
    )


def test_skill_of_the_same_name_comes_first(weft: Weft, project: Path, command: Path) -> None:
    skill = project.parent / "home" / ".claude" / "skills" / "gh-fix" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: gh-fix\ndescription: As a skill\n---\n\nThe skill.\n")

    assert weft("skills", "render", "gh-fix").stdout == "The skill.\n"
    assert "Fix issue" in weft("skills", "render", "project:gh-fix").stdout


def test_command_without_a_description_is_for_people_only(weft: Weft, project: Path, command: Path) -> None:
    (project / ".claude" / "commands" / "plain.md").write_text("Say hello.\n")

    assert weft("skills", "trust", "plain", "--yes").returncode == 0

    assert "plain is manual" in weft("skills", "why", "plain").stdout
    assert weft("skills", "run", "plain").returncode == 0


def test_validate_reads_commands_and_fix_leaves_them_as_they_are(weft: Weft, command: Path) -> None:
    command.write_text("---\nargument-hint: [a] [b]\n---\nDo $1.\n")

    assert "warning[yaml-unquoted]" in weft("skills", "validate", "gh-fix").stdout
    assert weft("skills", "fix", "gh-fix", "--write").stdout == ""
    assert command.read_text() == "---\nargument-hint: [a] [b]\n---\nDo $1.\n"
    assert "error[spec-file]" in weft("skills", "validate", "--strict", "gh-fix").stdout


def test_model_is_given_the_command_alone(weft: Weft, project: Path, command: Path) -> None:
    (command.parent / "other.md").write_text("---\ndescription: Another\n---\nNot this.\n")
    script = project.parent / "answers.json"
    script.write_text(json.dumps({"steps": [{"expect": "Fix issue 12 with priority high", "text": "Fixed."}]}))
    config = project.parent / "home" / ".clawft" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'[agents.defaults]\nmodel = "s/x"\n[providers.s]\nwire = "scripted"\nscript = "{script}"\n')

    assert weft("skills", "trust", "--all", "--yes").returncode == 0

    done = weft("skills", "run", "--session", "one", "gh-fix", "12", "high")

    assert (done.returncode, done.stdout) == (0, "Fixed.\n")
    said = weft("sessions", "show", "one").stdout
    assert "/gh-fix 12 high" in said
    assert "Base directory" not in said
    assert "other.md" not in said


def test_known_commands_need_no_parser(weft: Weft, project: Path, command: Path, child_env: dict[str, str]) -> None:
    code = """
import os, sys, time
now = time.time_ns
time.time_ns = lambda: now() + 3600 * 10**9  # what changed within the last moments is not cached
from clawft.app.app import open_app
print(any(one.name == "gh-fix" for one in open_app(os.environ, os.getcwd()).skills), "ryaml" in sys.modules)
"""
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], cwd=project, env=child_env, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]

    assert runs == [["True", "True"], ["True", "False"]]


def test_folder_of_commands_that_cannot_be_read_is_said(
    project: Path, command: Path, child_env: dict[str, str], unprivileged: list[str]
) -> None:
    command.parent.chmod(0)
    try:
        words = [*unprivileged, "weft", "skills", "list"]
        done = subprocess.run(words, cwd=project, env=child_env, capture_output=True, text=True, check=True, timeout=60)
    finally:
        command.parent.chmod(0o700)

    assert ".claude/commands/gh: warning[unreadable]: The folder cannot be read" in done.stderr
