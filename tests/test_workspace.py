"""Where the user is: home, the user folder and the project root."""

import os
from pathlib import Path

import pytest

from clawft.workspace import Workspace, find_workspace, resolve_path


def test_project_is_the_nearest_folder_upwards_with_a_marker(tmp_path: Path) -> None:
    inner = tmp_path / "project" / "src" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "project" / ".clawft").mkdir()
    found = find_workspace({"HOME": str(tmp_path / "home")}, str(inner))
    assert (found.project, found.marked) == (str(tmp_path / "project"), True)


def test_inner_marker_wins_over_outer_one(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    (inner / ".clawft").mkdir(parents=True)
    (tmp_path / "outer" / ".clawft").mkdir()
    assert find_workspace({"HOME": str(tmp_path / "home")}, str(inner)).project == str(inner)


def test_git_folder_marks_no_project(tmp_path: Path) -> None:
    inner = tmp_path / "repository" / "src"
    inner.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    found = find_workspace({"HOME": str(tmp_path / "home")}, str(inner))
    assert (found.project, found.marked) == (str(inner), False)


def test_file_called_like_the_marker_marks_no_project(tmp_path: Path) -> None:
    (tmp_path / ".clawft").touch()
    assert not find_workspace({"HOME": str(tmp_path / "home")}, str(tmp_path)).marked


def test_user_folder_marks_no_project(tmp_path: Path) -> None:
    (tmp_path / ".clawft").mkdir()
    (tmp_path / "work").mkdir()
    found = find_workspace({"HOME": str(tmp_path)}, str(tmp_path / "work"))
    assert (found.project, found.marked) == (str(tmp_path / "work"), False)


def test_user_folder_reached_through_a_link_marks_no_project(tmp_path: Path) -> None:
    (tmp_path / "real" / ".clawft").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert not find_workspace({"HOME": str(tmp_path / "link")}, str(tmp_path / "real")).marked


def test_variable_names_the_project_and_beats_the_marker(tmp_path: Path) -> None:
    (tmp_path / "here" / ".clawft").mkdir(parents=True)
    environ = {"HOME": str(tmp_path / "home"), "CLAWFT_PROJECT": str(tmp_path / "there")}
    found = find_workspace(environ, str(tmp_path / "here"))
    assert (found.project, found.marked) == (str(tmp_path / "there"), True)


def test_relative_project_variable_starts_at_the_current_folder(tmp_path: Path) -> None:
    found = find_workspace({"HOME": "/home/x", "CLAWFT_PROJECT": "../other"}, str(tmp_path / "here"))
    assert found.project == str(tmp_path / "other")


def test_empty_project_variable_counts_as_unset(tmp_path: Path) -> None:
    found = find_workspace({"HOME": str(tmp_path / "home"), "CLAWFT_PROJECT": ""}, str(tmp_path))
    assert (found.project, found.marked) == (str(tmp_path), False)


def test_user_folder_is_in_the_home_folder(tmp_path: Path) -> None:
    found = find_workspace({"HOME": str(tmp_path)}, str(tmp_path))
    assert (found.home, found.user_dir) == (str(tmp_path), str(tmp_path / ".clawft"))


def test_variable_moves_the_user_folder(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "CLAWFT_HOME": str(tmp_path / "elsewhere")}
    assert find_workspace(environ, str(tmp_path)).user_dir == str(tmp_path / "elsewhere")


def test_windows_home_is_understood(tmp_path: Path) -> None:
    assert find_workspace({"USERPROFILE": str(tmp_path)}, str(tmp_path)).home == str(tmp_path)


def test_root_without_a_marker_is_the_end_of_the_search() -> None:
    assert find_workspace({"HOME": "/home/x"}, "/").project == "/"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/u/work/skills/a", "skills/a"),
        ("/home/u/work", "."),
        ("/home/u/workshop", "~/workshop"),
        ("/home/u/.clawft/skills/a", "~/.clawft/skills/a"),
        ("/home/user2/x", "/home/user2/x"),
        ("/opt/skills", "/opt/skills"),
    ],
)
def test_path_is_shortened_as_people_write_it(path: str, shown: str) -> None:
    assert Workspace("/home/u", "/home/u/.clawft", "/home/u/work", "/home/u/work").shorten(path) == shown


def test_path_is_shortened_from_the_root_folder() -> None:
    assert Workspace("/root", "/root/.clawft", "/", "/").shorten("/opt/skills") == "opt/skills"


def test_empty_home_is_the_home_of_the_account() -> None:
    assert find_workspace({"HOME": ""}, "/w").home == find_workspace({}, "/w").home != "/"


def test_relative_path_starts_at_the_workspace() -> None:
    resolved = resolve_path("skills/research", "/home/user/.clawft/workspace", "/home/user")

    assert resolved == "/home/user/.clawft/workspace/skills/research"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_marker_of_another_account_marks_no_project_and_is_named(tmp_path: Path) -> None:
    marker, inner = tmp_path / ".clawft", tmp_path / "a" / "b"
    marker.mkdir()
    inner.mkdir(parents=True)
    os.chown(marker, 12345, 12345)
    found = find_workspace({"HOME": str(tmp_path / "home")}, str(inner))
    assert (found.project, found.marked, found.ignored) == (str(inner), False, str(marker))
    assert find_workspace({"HOME": str(tmp_path / "home")}, str(tmp_path)).ignored == ""

    (tmp_path / "a" / ".clawft").mkdir()
    found = find_workspace({"HOME": str(tmp_path / "home")}, str(inner))
    assert (found.project, found.ignored) == (str(tmp_path / "a"), "")
