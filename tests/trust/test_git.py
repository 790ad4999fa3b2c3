"""Looking with git must not run what a stranger's repository names."""

import subprocess
from pathlib import Path

import pytest

from clawft.git import find_unsafe_git_setting, list_tracked


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", folder], check=True, timeout=60)
    return folder


def test_a_fresh_repository_names_no_program(repository: Path) -> None:
    (repository / "deep" / "er").mkdir(parents=True)
    assert find_unsafe_git_setting(str(repository / "deep" / "er")) == ""


def test_no_repository_names_no_program(tmp_path: Path) -> None:
    assert find_unsafe_git_setting(str(tmp_path)) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[diff "pwn"]\n\tcommand = ./evil\n', "diff.command"),
        ('[diff "pwn"]\n\ttextconv=./evil\n', "diff.textconv"),
        ("[diff]\n  External = ./evil\n", "diff.external"),
        ("[core] fsmonitor = ./evil\n", "core.fsmonitor"),
        ("[gpg]\nprogram = ./evil\n", "gpg.program"),
        ('[filter "x"]\nclean = ./evil\n', "filter.clean"),
        ('[filter "x"]\nprocess = ./evil\n', "filter.process"),
        ("[log]\nshowSignature\n", "log.showsignature"),
        ("[include]\npath = ../evil\n", "include.path"),
        ('[diff "a]b"] command = ./evil\n', "line 6 of its config"),
        ('[a] [diff "x"] command = ./evil\n', "line 6 of its config"),
        ('[diff "x"]\n\r command = ./evil\n', "line 7 of its config"),
        ("[core]\nbare = false\\\nx\n", "line 7 of its config"),
        ("[core]\nworktree = /home\n", "core.worktree"),
        ('[remote "x"]\npromisor = true\n', "remote.promisor"),
        ('[includeIf "gitdir:/"]\npath = ../evil\n', "includeif.path"),
    ],
)
def test_what_would_start_a_program_is_named(repository: Path, text: str, found: str) -> None:
    with open(repository / ".git" / "config", "a") as file:
        file.write(text)
    assert find_unsafe_git_setting(str(repository)) == found


def test_a_worktree_is_judged_by_the_repository_it_belongs_to(repository: Path, tmp_path: Path) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "-C", repository, *who, "commit", "-q", "--allow-empty", "-m", "x"], check=True, timeout=60)
    subprocess.run(["git", "-C", repository, "worktree", "add", "-q", tmp_path / "tree"], check=True, timeout=60)
    assert find_unsafe_git_setting(str(tmp_path / "tree")) == ""
    with open(repository / ".git" / "config", "a") as file:
        file.write("[diff]\nexternal = ./evil\n")
    assert find_unsafe_git_setting(str(tmp_path / "tree")) == "diff.external"


def test_a_config_that_cannot_be_read_counts_as_a_program(repository: Path) -> None:
    (repository / ".git" / "config").unlink()
    (repository / ".git" / "config").symlink_to("/dev/zero")
    assert find_unsafe_git_setting(str(repository)) == "config cannot be read"


def test_settings_that_people_have_are_harmless(repository: Path) -> None:
    with open(repository / ".git" / "config", "ab") as file:
        file.write(b'\r\n# mine\r\n[remote "origin"]\r\n\turl = https://example.com/a.git\r\n')
        file.write(b'\tfetch = +refs/heads/*:refs/remotes/origin/*\n[User] Name = a b\n; end\n[branch "a/b-c"]\n')
    assert find_unsafe_git_setting(str(repository)) == ""


def test_a_folder_that_git_passes_over_does_not_hide_the_repository_above(repository: Path) -> None:
    (repository / "deep" / ".git").mkdir(parents=True)
    (repository / ".git" / "config").write_text("[diff]\nexternal = ./evil\n")
    assert find_unsafe_git_setting(str(repository / "deep")) == "diff.external"


def test_a_hook_that_looking_would_run_is_named(repository: Path) -> None:
    (repository / ".git" / "hooks").mkdir(exist_ok=True)
    (repository / ".git" / "hooks" / "post-index-change").write_text("#!/bin/sh\n./evil\n")
    assert find_unsafe_git_setting(str(repository)) == "post-index-change"


def test_a_repository_inside_is_named_since_git_looks_into_it(repository: Path) -> None:
    inner = repository / "inner"
    subprocess.run(["git", "init", "-q", inner], check=True, timeout=60)
    _commit(inner)
    (repository / "plain").write_text("x")
    assert find_unsafe_git_setting(str(repository)) == ""  # nobody looks into one that is not added
    _git(repository, "-c", "advice.addEmbeddedRepo=false", "add", ".")
    assert find_unsafe_git_setting(str(repository)) == "submodule inner"


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_form_of_index_is_read(repository: Path, version: str) -> None:
    for number in range(30):
        (repository / f"file{'x' * number}").write_text("x")
    _git(repository, "add", ".")
    _git(repository, "update-index", "--index-version", version)
    assert find_unsafe_git_setting(str(repository)) == ""
    listed = subprocess.run(["git", "ls-files"], cwd=repository, check=True, capture_output=True, text=True, timeout=60)
    assert [entry.path for entry in list_tracked(str(repository))] == listed.stdout.splitlines()


def test_an_index_that_is_split_or_broken_is_named(repository: Path) -> None:
    (repository / "file").write_text("x")
    _git(repository, "add", ".")
    _git(repository, "update-index", "--split-index")
    assert find_unsafe_git_setting(str(repository)) == "index"
    (repository / ".git" / "index").write_bytes(b"DIRC\0\0\0\2\0\0\0\5abc")
    assert find_unsafe_git_setting(str(repository)) == "index"


def test_a_repository_that_takes_its_content_from_elsewhere_is_named(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", other], check=True, timeout=60)
    inside = repository / ".git"
    (inside / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n")
    assert find_unsafe_git_setting(str(repository)) == "alternates"
    (inside / "objects" / "info" / "alternates").unlink()
    (inside / "commondir").write_text(f"{other}/.git\n")
    assert find_unsafe_git_setting(str(repository)) == "commondir"
    (inside / "commondir").unlink()
    (inside / "objects" / "pack").rmdir()
    (inside / "objects" / "pack").symlink_to(other / ".git" / "objects" / "pack")
    assert find_unsafe_git_setting(str(repository)) == "'pack' is a link"
    inside.rename(tmp_path / "moved")
    inside.write_text(f"gitdir: {other}/.git\n")
    assert find_unsafe_git_setting(str(repository)) == ".git leads elsewhere"
    inside.unlink()
    inside.symlink_to(other / ".git")
    assert find_unsafe_git_setting(str(repository)) == ".git is a link"


def test_a_made_up_worktree_of_another_repository_is_named(repository: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "fake").mkdir(parents=True)
    (folder / ".git").write_text("gitdir: fake\n")
    (folder / "fake" / "gitdir").write_text(f"{folder}/.git\n")
    (folder / "fake" / "commondir").write_text(f"{repository}/.git\n")
    assert find_unsafe_git_setting(str(folder)) == ".git leads elsewhere"


def test_a_folder_of_the_form_of_a_repository_is_judged_as_one(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "bare"], check=True, timeout=60)
    assert find_unsafe_git_setting(str(tmp_path / "bare")) == ""
    (tmp_path / "bare" / "config").write_text("[core]\nfsmonitor = ./evil\n")
    assert find_unsafe_git_setting(str(tmp_path / "bare")) == "core.fsmonitor"


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, timeout=60)


def _commit(folder: Path) -> None:
    _git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "x")
