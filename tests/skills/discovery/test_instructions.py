"""Which instructions files count, in which order, and which cannot be read."""

from pathlib import Path

import pytest

from clawft.skills.discovery.instructions import load_instructions
from clawft.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    home, cwd = tmp_path / "home", tmp_path / "home" / "work" / "project" / "sub"
    cwd.mkdir(parents=True)
    (home / ".clawft").mkdir()
    (home / ".claude").mkdir()
    return Workspace(str(home), str(home / ".clawft"), str(cwd), str(cwd.parent), marked=True)


def texts(workspace: Workspace) -> list[tuple[str, bool]]:
    return [(one.text, one.own) for one in load_instructions(workspace)[0]]


def test_the_users_own_come_first_then_from_the_outside_in(workspace: Workspace) -> None:
    Path(workspace.user_dir, "AGENTS.md").write_text("mine")
    Path(workspace.home, ".claude", "CLAUDE.md").write_text("mine too")
    Path(workspace.home, "work", "AGENTS.md").write_text("outer")
    Path(workspace.project, "CLAUDE.md").write_text("project")
    Path(workspace.cwd, "AGENTS.md").write_text("inner")
    assert texts(workspace) == [
        ("mine", True), ("mine too", True), ("outer", False), ("project", False), ("inner", False),
    ]  # fmt: skip


def test_the_same_text_counts_once_and_an_empty_one_not_at_all(workspace: Workspace) -> None:
    Path(workspace.project, "AGENTS.md").write_text("same")
    Path(workspace.project, "CLAUDE.md").symlink_to("AGENTS.md")
    Path(workspace.cwd, "AGENTS.md").write_text(" \n")
    assert texts(workspace) == [("same", False)]


def test_what_stands_in_the_home_folder_itself_is_not_read(workspace: Workspace) -> None:
    Path(workspace.home, "AGENTS.md").write_text("not for every project")
    assert texts(workspace) == []


def test_what_cannot_be_read_is_said(workspace: Workspace) -> None:
    Path(workspace.project, "AGENTS.md").mkdir()
    Path(workspace.project, "CLAUDE.md").write_bytes(b"x" * 100_000)
    found, problems = load_instructions(workspace)
    assert found == ()
    assert [one.code for one in problems] == ["not-a-file", "file-too-large"]
