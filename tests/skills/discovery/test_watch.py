"""The watcher: what it tells of, what it keeps quiet about, and what it does without."""

import os
import queue
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawft.errors import ClawftError
from clawft.skills.discovery.watch import ChangeKind, FolderWatcher, ReportChanges, WatchedPaths, find_remote

WAIT_S = 60.0


class Heard:
    """What a watcher told."""

    def __init__(self) -> None:
        self.told: queue.SimpleQueue[dict[str, ChangeKind] | ClawftError] = queue.SimpleQueue()
        self.tell: ReportChanges = self.told.put

    def wait_for(self, path: Path) -> ChangeKind:
        """What is told of a path; everything before is passed over."""
        while True:
            told = self.told.get(timeout=WAIT_S)
            assert isinstance(told, dict), told
            if str(path) in told:
                return told[str(path)]

    def passed_over(self, mark: Path) -> set[str]:
        """What is told until a file comes that is made now, in a folder that is watched."""
        mark.write_text("")
        names: set[str] = set()
        while True:
            told = self.told.get(timeout=WAIT_S)
            assert isinstance(told, dict), told
            names |= {os.path.basename(path) for path in told}
            if str(mark) in told:
                return names - {mark.name}


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".claude" / "skills"


@pytest.fixture
def heard(skills: Path, tmp_path: Path) -> Iterator[Heard]:
    (tmp_path / "home").mkdir()
    found = Heard()
    config = tmp_path / "home" / ".clawft" / "config.toml"
    watcher = FolderWatcher(WatchedPaths(frozenset({str(skills)}), frozenset({str(config)})), found.tell)
    watcher.start()
    yield found
    watcher.stop()


def _write(path: Path, text: str = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_folder_that_is_not_there_yet_is_seen_to_come_and_then_watched(heard: Heard, skills: Path) -> None:
    file = _write(skills / "one" / "SKILL.md")
    assert heard.wait_for(skills.parent) == "added"
    file.write_text("edited")
    assert heard.wait_for(file) == "modified"


def test_a_folder_that_vanishes_and_comes_back_is_still_watched(heard: Heard, skills: Path) -> None:
    _write(skills / "one" / "SKILL.md")
    heard.wait_for(skills.parent)
    shutil.rmtree(skills.parent)
    assert heard.wait_for(skills.parent) == "deleted"
    file = _write(skills / "one" / "SKILL.md")
    heard.wait_for(skills.parent)
    file.write_text("edited")
    assert heard.wait_for(file) == "modified"


def test_a_file_that_an_editor_replaces_at_once_is_told_of(heard: Heard, skills: Path) -> None:
    file = _write(skills / "one" / "SKILL.md")
    heard.wait_for(skills.parent)
    os.replace(_write(skills / "one" / "SKILL.md.new", "edited"), file)
    assert heard.wait_for(file) == "added"


def test_folders_that_come_are_watched_however_deep_they_are(heard: Heard, skills: Path) -> None:
    _write(skills / "mark")
    heard.wait_for(skills.parent)
    file = _write(skills / "group" / "one" / "scripts" / "run.sh")
    assert heard.wait_for(skills / "group") == "added"
    file.write_text("edited")
    assert heard.wait_for(file) == "modified"


def test_a_folder_that_is_renamed_is_told_of_by_both_names_and_stays_watched(heard: Heard, skills: Path) -> None:
    _write(skills / "one" / "SKILL.md")
    heard.wait_for(skills.parent)
    (skills / "one").rename(skills / "two")
    assert heard.wait_for(skills / "two") == "added"
    (skills / "two" / "SKILL.md").write_text("edited")
    assert heard.wait_for(skills / "two" / "SKILL.md") == "modified"


def test_a_folder_may_be_a_link_and_is_watched_by_its_own_name(heard: Heard, skills: Path, tmp_path: Path) -> None:
    real = _write(tmp_path / "dotfiles" / "one" / "SKILL.md")
    skills.parent.mkdir()
    skills.symlink_to(tmp_path / "dotfiles")
    heard.wait_for(skills.parent)
    real.write_text("edited")
    assert heard.wait_for(skills / "one" / "SKILL.md") == "modified"


def test_a_link_inside_leads_nowhere(heard: Heard, skills: Path, tmp_path: Path) -> None:
    outside = _write(tmp_path / "outside" / "deep" / "file")
    skills.mkdir(parents=True)
    (skills / "link").symlink_to(tmp_path / "outside")
    heard.wait_for(skills.parent)
    outside.write_text("edited")
    assert "file" not in heard.passed_over(skills / "mark")


def test_what_editors_and_git_write_for_themselves_is_not_told_of(heard: Heard, skills: Path) -> None:
    _write(skills / "one" / "SKILL.md")
    heard.wait_for(skills.parent)
    for name in (".SKILL.md.swp", "SKILL.md~", ".#SKILL.md", "#SKILL.md#", "4913", ".git/index", "__pycache__/a.pyc"):
        _write(skills / "one" / name)
    assert heard.passed_over(skills / "one" / "mark") == set()


def test_what_else_happens_in_a_folder_above_is_not_told_of(heard: Heard, skills: Path) -> None:
    _write(skills / "mark")
    heard.wait_for(skills.parent)
    _write(skills.parent.parent / "history", "typed")
    assert heard.passed_over(skills / "other") == set()


def test_a_single_file_is_seen_to_come_and_to_change(heard: Heard, tmp_path: Path) -> None:
    file = _write(tmp_path / "home" / ".clawft" / "config.toml")
    heard.wait_for(file.parent)
    file.write_text("edited")
    assert heard.wait_for(file) == "modified"


def test_more_folders_than_can_be_watched_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.skills.discovery.watch.MAX_FOLDERS", 3)
    for name in "abcd":
        (tmp_path / name).mkdir()
    with pytest.raises(ClawftError) as caught:
        FolderWatcher(WatchedPaths(frozenset({str(tmp_path)}), frozenset()), Heard().tell).start()
    assert caught.value.code == "watch-limit"


def test_without_the_package_that_is_said(tmp_path: Path) -> None:
    """In a process of its own: what is imported once is not imported again."""
    program = (
        "import sys; sys.modules['watchfiles'] = None\n"
        "from clawft.skills.discovery.watch import WatchedPaths, FolderWatcher\n"
        f"FolderWatcher(WatchedPaths(frozenset({{{str(tmp_path)!r}}}), frozenset()), print).start()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert "ClawftError: The package watchfiles is not installed" in done.stderr


def test_a_folder_on_another_machine_is_known_by_its_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path}/net nfs4 rw 0 0\n")
    inside = str(tmp_path / "net" / "skills")
    assert find_remote([str(tmp_path), inside], str(mounts)) == inside
    assert find_remote([str(tmp_path)], str(mounts)) == ""
