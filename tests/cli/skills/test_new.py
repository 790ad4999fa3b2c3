"""`weft skills new`: what it writes is right at once, and what is there stays."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]
RUN = {"python": ["python3", "count.py"], "shell": ["sh", "count.sh"], "node": ["node", "count.mjs"]}


@pytest.mark.parametrize("script", [None, "python", "shell", "node"])
def test_a_new_skill_is_as_the_specification_has_it_and_clean(weft: Weft, project: Path, script: str | None) -> None:
    more = ["--with-script", script] if script else []
    done = weft("skills", "new", "word-count", "--dir", ".", "--description", "Counts words. Use for: lengths", *more)
    assert done.returncode == 0
    checked = json.loads(weft("skills", "validate", "--strict", "word-count", "--format", "json").stdout)
    assert [(one["ok"], one["diagnostics"]) for one in checked["files"]] == [(True, [])]
    packed = json.loads(weft("skills", "pack", "word-count", "--dry-run", "--format", "json").stdout)
    assert (packed["verdict"], packed["diagnostics"], packed["left_out"]) == ("clean", [], [])
    assert [one["executable"] for one in packed["files"]] == [False, True][: 1 + bool(script)]
    command = RUN.get(script or "")
    if command and shutil.which(command[0]):
        (project / "text").write_text("one two\nthree\n")
        counted = subprocess.run(
            [command[0], f"word-count/scripts/{command[1]}", "text"],
            cwd=project,
            capture_output=True,
            check=True,
            timeout=30,
        )
        assert json.loads(counted.stdout) == {"lines": 2, "words": 3, "characters": 14}


def test_it_is_made_where_skills_are_looked_for(weft: Weft, project: Path, tmp_path: Path) -> None:
    weft("skills", "new", "mine")
    (project / ".clawft").mkdir()
    weft("skills", "new", "ours", "--scope", "project")
    assert (tmp_path / "home" / ".clawft" / "skills" / "mine" / "SKILL.md").is_file()
    assert (project / ".clawft" / "skills" / "ours" / "SKILL.md").is_file()
    listed = json.loads(weft("skills", "list", "--format", "json").stdout)
    assert {"mine", "ours"} <= {one["name"] for one in listed["skills"]}


def test_a_description_that_nobody_wrote_is_told_of_when_it_is_checked_and_packed(weft: Weft) -> None:
    weft("skills", "new", "fresh", "--dir", ".")
    checked = weft("skills", "validate", "--strict", "fresh")
    assert (checked.returncode, "fresh/SKILL.md: warning[skill-unfinished]" in checked.stdout) == (0, True)
    done = weft("skills", "pack", "fresh", "--dry-run")
    assert (done.returncode, "warning[skill-unfinished]" in done.stderr) == (0, True)


def test_nothing_is_overwritten(weft: Weft, project: Path) -> None:
    (project / "mine").mkdir()
    (project / "mine" / "SKILL.md").write_text("my own")
    done = weft("skills", "new", "mine", "--dir", ".")
    assert (done.returncode, "error[skill-exists]" in done.stderr) == (3, True)
    assert (project / "mine" / "SKILL.md").read_text() == "my own"
    (project / "other").symlink_to(project / "elsewhere")
    assert weft("skills", "new", "other", "--dir", ".").returncode == 3
    assert sorted(os.listdir(project)) == ["mine", "other"]


@pytest.mark.parametrize("name", ["Word Count", "../evil", "a--b", "-a", "ä", "a" * 65, "con/x"])
def test_a_name_that_no_skill_can_have_is_not_made(weft: Weft, project: Path, name: str) -> None:
    done = weft("skills", "new", "--dir", ".", "--", name)
    assert (done.returncode, "error[skill-name]" in done.stderr) == (1, True)
    assert os.listdir(project) == []


def test_a_description_is_kept_as_it_was_typed(weft: Weft, project: Path) -> None:
    typed = 'Says "hi": to all # of them, {really} \\ yes'
    weft("skills", "new", "greeter", "--dir", ".", "--description", typed)
    shown = json.loads(weft("skills", "validate", "greeter", "--strict", "--format", "json").stdout)
    assert shown["ok"] is True
    listed = json.loads(weft("skills", "list", "--dir", "greeter", "--format", "json").stdout)
    assert [one["description"] for one in listed["skills"]] == [typed]
