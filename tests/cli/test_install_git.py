"""`weft skills install` from a git repository, and the life of such a skill after it."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories import SKILL, File, Repository

Weft = Callable[..., subprocess.CompletedProcess[str]]
FILES: dict[str, File] = {
    "skills/notes/SKILL.md": SKILL,
    "skills/other/SKILL.md": SKILL.replace(b"notes", b"other"),
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repo")


def test_a_skill_of_a_repository_is_installed_updated_and_verified(
    weft: Weft, repository: Repository, tmp_path: Path
) -> None:
    first = repository.commit(FILES)
    source = f"git+{repository.url}"
    several = weft("skills", "install", source, "--yes")
    assert (several.returncode, "error[several-skills]" in several.stderr) == (1, True)
    assert "notes (skills/notes), other (skills/other)" in several.stderr

    done = weft("skills", "install", source, "--skill", "notes", "--yes")
    assert (done.returncode, done.stdout) == (0, "Installed: notes 1.0.0\n"), done.stderr
    lock = tmp_path / "home" / ".clawft" / "skills.lock"
    assert f'commit = "{first}"' in lock.read_text()
    assert weft("skills", "verify").returncode == 0

    repository.commit({**FILES, "README.md": b"hi"})
    assert json.loads(weft("skills", "list", "--outdated", "--format", "json").stdout)["skills"] == []
    last = repository.commit({**FILES, "skills/notes/SKILL.md": SKILL + b"Then read it again.\n"})
    (outdated,) = json.loads(weft("skills", "list", "--outdated", "--format", "json").stdout)["skills"]
    assert (outdated["name"], outdated["newest_commit"]) == ("notes", last)
    updated = weft("skills", "update", "notes", "--yes")
    assert (updated.returncode, "+Then read it again." in updated.stderr) == (0, True)
    assert f'commit = "{last}"' in lock.read_text()
    assert weft("skills", "verify").returncode == 0


def test_a_repository_that_means_harm_is_refused_and_leaves_nothing(
    weft: Weft, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": SKILL, "secret": ("120000", b"/etc/passwd")})
    done = weft("skills", "install", f"git+{repository.url}", "--yes")
    assert (done.returncode, "error[archive-link]" in done.stderr) == (3, True)
    home = tmp_path / "home" / ".clawft"
    assert not (home / "skills.lock").exists()
    assert [*(home / "skills").glob("*"), *(home / "skills").glob(".*")] == []
    assert [one.name for one in (home / "installing").glob("*")] in ([], ["turn.lock"])


def test_a_commit_is_scanned_without_being_installed(weft: Weft, repository: Repository, tmp_path: Path) -> None:
    first = repository.commit(FILES)
    done = weft("skills", "scan", f"git+{repository.url}#{first}:skills/notes")
    assert done.returncode == 0, done.stderr
    assert first[:12] in done.stdout + done.stderr
    assert not (tmp_path / "home" / ".clawft" / "skills").exists()


def test_a_skill_goes_by_the_name_of_its_folder_where_none_says_so_itself(weft: Weft, repository: Repository) -> None:
    repository.commit({**FILES, "skills/letters/SKILL.md": SKILL.replace(b"notes", b"write-letters")})
    done = weft("skills", "install", f"git+{repository.url}", "--skill", "letters", "--yes")
    assert (done.returncode, done.stdout) == (0, "Installed: write-letters 1.0.0\n"), done.stderr


def test_a_bare_word_is_a_name_in_a_registry_and_the_folder_of_that_name_is_told_of(
    weft: Weft, project: Path, tmp_path: Path
) -> None:
    (project / "notes").mkdir()
    (project / "notes" / "SKILL.md").write_bytes(SKILL)
    config = tmp_path / "home" / ".clawft" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text('[registries.near]\nurl = "http://127.0.0.1:1"\ndefault = true\n')
    done = weft("skills", "install", "notes", "--yes")
    assert done.returncode == 1
    assert "notes is looked for in the registry near; the folder here is ./notes" in done.stderr
    assert weft("skills", "install", "./notes", "--yes").stdout == "Installed: notes 1.0.0\n"


def test_a_git_that_the_project_brings_is_not_run(
    weft: Weft, repository: Repository, project: Path, tmp_path: Path
) -> None:
    repository.commit(FILES)
    (project / "bin").mkdir()
    (project / "bin" / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/run\nexit 1\n")
    (project / "bin" / "git").chmod(0o755)
    search = f"{project}/bin:{os.environ['PATH']}"
    done = weft("skills", "install", f"git+{repository.url}", "--skill", "notes", "--yes", PATH=search)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "run").exists()
