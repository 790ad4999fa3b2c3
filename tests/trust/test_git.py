"""Looking with git must not run what a stranger's repository names."""

import subprocess
from pathlib import Path

import pytest

from clawft.trust.git import find_git_program


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", folder], check=True, timeout=60)
    return folder


def test_a_fresh_repository_names_no_program(repository: Path) -> None:
    (repository / "deep" / "er").mkdir(parents=True)
    assert find_git_program(str(repository / "deep" / "er")) == ""


def test_no_repository_names_no_program(tmp_path: Path) -> None:
    assert find_git_program(str(tmp_path)) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[diff "pwn"]\n\tcommand = ./evil\n', "command"),
        ('[diff "pwn"]\n\ttextconv=./evil\n', "textconv"),
        ("[diff]\n  External = ./evil\n", "external"),
        ("[core] fsmonitor = ./evil\n", "fsmonitor"),
        ("[gpg]\nprogram = ./evil\n", "program"),
        ('[filter "x"]\nclean = ./evil\n', "clean"),
        ('[filter "x"]\nprocess = ./evil\n', "process"),
        ("[log]\nshowSignature\n", "showsignature"),
        ("[include]\npath = ../evil\n", "include"),
        ('[includeIf "gitdir:/"]\npath = ../evil\n', "include"),
    ],
)
def test_what_would_start_a_program_is_named(repository: Path, text: str, found: str) -> None:
    with open(repository / ".git" / "config", "a") as file:
        file.write(text)
    assert find_git_program(str(repository)) == found


def test_a_worktree_is_judged_by_the_repository_it_belongs_to(repository: Path, tmp_path: Path) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "-C", repository, *who, "commit", "-q", "--allow-empty", "-m", "x"], check=True, timeout=60)
    subprocess.run(["git", "-C", repository, "worktree", "add", "-q", tmp_path / "tree"], check=True, timeout=60)
    assert find_git_program(str(tmp_path / "tree")) == ""
    with open(repository / ".git" / "config", "a") as file:
        file.write("[diff]\nexternal = ./evil\n")
    assert find_git_program(str(tmp_path / "tree")) == "external"


def test_a_config_that_cannot_be_read_counts_as_a_program(repository: Path) -> None:
    (repository / ".git" / "config").unlink()
    (repository / ".git" / "config").symlink_to("/dev/zero")
    assert find_git_program(str(repository)) == "config cannot be read"
