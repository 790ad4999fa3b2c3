"""`weft skills sync`: what is missing or changed comes back as the lock says, or nothing does."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.install.lockfile.file import load_lock, render_lock

Weft = Callable[..., subprocess.CompletedProcess[str]]


def write_skill(folder: Path, text: str = "Do it.") -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: d\n---\n{text}\n")
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_skill(tmp_path / "source" / "tool")


@pytest.fixture
def lock(project: Path) -> Path:
    return project / ".clawft" / "skills.lock"


@pytest.fixture
def tool(weft: Weft, project: Path, source: Path) -> Path:
    """A skill that is installed in the project."""
    done = weft("skills", "install", source, "--scope", "project", "--yes")
    assert done.returncode == 0, done.stderr
    return project / ".clawft" / "skills" / "tool"


def forget_copies(project: Path) -> None:
    """As on another machine: nothing was kept, nothing approved."""
    for name in ("approved", "approvals.json"):
        path = project.parent / "home" / ".clawft" / name
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)


def state_of(weft: Weft, name: str) -> str:
    listed = json.loads(weft("skills", "list", "--format", "json").stdout)["skills"]
    return str(next(one["state"] for one in listed if one["name"] == name))


def test_what_was_changed_is_shown_and_comes_back(weft: Weft, tool: Path, lock: Path, source: Path) -> None:
    before = lock.read_bytes()
    shutil.rmtree(source)  # this machine kept what was approved: nobody is asked for it
    (tool / "SKILL.md").write_text("other\n")
    (tool / "more").touch()
    dry = weft("skills", "sync", "--dry-run")
    assert (dry.returncode, dry.stdout) == (0, "Would be restored: tool\n")
    assert "+other" in dry.stderr
    assert (tool / "more").exists()
    assert weft("skills", "sync").returncode == 3  # nobody is there to say yes
    done = weft("skills", "sync", "--yes")
    assert (done.returncode, done.stdout) == (0, "Restored: tool\n")
    assert weft("skills", "verify").returncode == 0
    assert state_of(weft, "tool") == "ready"
    assert lock.read_bytes() == before


def test_frozen_installs_what_is_missing_but_approves_nothing(weft: Weft, tool: Path, lock: Path) -> None:
    lock.write_text("# mine\n" + lock.read_text())  # read all the same, and not written anew
    before = lock.read_bytes()
    shutil.rmtree(tool)
    forget_copies(lock.parent.parent)
    done = weft("skills", "sync", "--frozen")
    assert (done.returncode, done.stdout) == (0, "Installed: tool\n")
    assert "Not approved, so not used: tool" in done.stderr
    assert state_of(weft, "tool") == "untrusted"
    shutil.rmtree(tool)
    assert weft("skills", "sync", "--frozen", "--yes").returncode == 0
    assert state_of(weft, "tool") == "ready"
    assert lock.read_bytes() == before


def test_what_is_there_as_the_lock_says_is_approved_with_yes_and_named_without(
    weft: Weft, tool: Path, lock: Path
) -> None:
    forget_copies(lock.parent.parent)  # a fresh clone with its skills checked in
    before = lock.read_bytes()
    done = weft("skills", "sync", "--frozen")
    assert done.returncode == 0
    assert "Not approved, so not used: tool" in done.stderr
    assert state_of(weft, "tool") == "untrusted"
    done = weft("skills", "sync", "--frozen", "--yes")
    assert (done.returncode, done.stdout) == (0, "Approved: tool\n")
    assert "Would use" in done.stderr  # it is shown what is approved
    assert state_of(weft, "tool") == "ready"
    assert lock.read_bytes() == before
    (tool / "SKILL.md").write_text((tool / "SKILL.md").read_text() + "More.\n")
    assert "weft skills verify tool" in weft("skills", "why", "tool").stdout


def test_what_is_there_is_not_approved_unsigned_where_every_skill_is_to_be_signed(
    weft: Weft, tool: Path, lock: Path, project: Path
) -> None:
    forget_copies(project)
    config = project.parent / "home" / ".clawft" / "config.toml"
    config.write_text("[skills.security]\nrequire_signature = true\n")
    done = weft("skills", "sync", "--frozen", "--yes")
    assert "error[signature-missing]" in done.stderr
    assert state_of(weft, "tool") == "untrusted"


def test_what_the_lock_does_not_name_is_not_approved_by_it(weft: Weft, tool: Path, lock: Path) -> None:
    write_skill(tool.parent / "mine")
    assert weft("skills", "sync", "--frozen", "--yes").returncode == 0
    assert state_of(weft, "mine") == "untrusted"


@pytest.mark.parametrize("words", [("--frozen",), ("--yes",)])
def test_a_source_that_has_something_else_now_is_refused(
    weft: Weft, tool: Path, lock: Path, source: Path, words: tuple[str, ...]
) -> None:
    shutil.rmtree(tool)
    forget_copies(lock.parent.parent)
    (source / "SKILL.md").write_text((source / "SKILL.md").read_text() + "And more.\n")
    done = weft("skills", "sync", *words)
    assert done.returncode == 3
    assert "error[source-changed]" in done.stderr
    assert list(tool.parent.iterdir()) == []


def test_a_copy_for_another_client_is_as_good_as_the_source(weft: Weft, project: Path, source: Path) -> None:
    weft("skills", "install", source, "--scope", "project", "--to", "clawft", "--to", "claude", "--yes")
    shutil.rmtree(source)
    shutil.rmtree(project / ".claude" / "skills" / "tool")
    forget_copies(project)
    assert weft("skills", "sync", "--frozen").returncode == 0
    assert weft("skills", "verify").returncode == 0


def test_where_all_is_as_the_lock_says_nothing_is_done(weft: Weft, tool: Path) -> None:
    done = weft("skills", "sync")
    assert (done.returncode, done.stdout) == (0, "")
    assert "1 skill was as it says" in done.stderr


def test_without_a_lock_there_is_nothing_to_go_by(weft: Weft) -> None:
    done = weft("skills", "sync", "--frozen")
    assert done.returncode == 1
    assert "error[no-lock]" in done.stderr


def conflicting(lock: Path, change: Callable[[str], str]) -> str:
    """The lock as git leaves it when both sides have added something at its end."""
    text = lock.read_text()
    head, block = text.split("\n[", 1)
    return f"{head}\n<<<<<<< HEAD\n[{block}=======\n[{change(block)}>>>>>>> theirs\n"


def test_two_versions_that_git_left_are_joined_where_they_agree(
    weft: Weft, tool: Path, lock: Path, project: Path
) -> None:
    other = write_skill(project.parent / "source" / "other")
    before = lock.read_text()
    weft("skills", "install", other, "--scope", "project", "--yes")
    both = lock.read_bytes()
    (new,) = [one for one in load_lock(str(lock)).values() if one.name == "other"]
    theirs = "[" + render_lock([new]).split("\n[", 1)[1]
    head, ours = before.split("\n[", 1)
    lock.write_text(f"{head}\n<<<<<<< HEAD\n[{ours}=======\n{theirs}>>>>>>> theirs\n")
    assert weft("skills", "sync", "--frozen").returncode == 1
    done = weft("skills", "sync")
    assert done.returncode == 0, done.stderr
    assert "Joined two versions" in done.stderr
    assert lock.read_bytes() == both


def test_versions_that_do_not_agree_are_named_and_left(weft: Weft, tool: Path, lock: Path) -> None:
    text = conflicting(lock, lambda block: block.replace('verdict = "clean"', 'verdict = "suspicious"'))
    lock.write_text(text)
    done = weft("skills", "sync", "--yes")
    assert done.returncode == 1
    assert "error[lock-conflict]" in done.stderr
    assert "Decide about tool" in done.stderr
    assert "verdict" in done.stderr  # what they do not agree about
    assert lock.read_text() == text


def test_versions_of_two_owners_are_told_apart(weft: Weft, tool: Path, lock: Path) -> None:
    theirs = str(tool.parent.parent / "theirs")
    lock.write_text(conflicting(lock, lambda block: re.sub('url = ".*"', f'url = "{theirs}"', block)))
    done = weft("skills", "sync", "--yes")
    assert f" from {theirs}" in done.stderr
    assert "sha256:" in done.stderr


def test_what_was_installed_and_no_lock_names_any_more_goes_only_with_prune_and_a_yes(
    weft: Weft, tool: Path, lock: Path
) -> None:
    lock.write_text(lock.read_text().split("\n[", 1)[0])  # as another took it out, and git brought that
    assert weft("skills", "sync", "--yes").returncode == 0
    assert weft("skills", "sync", "--prune").returncode == 3
    assert "Would be removed: tool" in weft("skills", "sync", "--prune", "--dry-run").stdout
    assert tool.exists()
    done = weft("skills", "sync", "--prune", "--yes")
    assert (done.returncode, done.stdout) == (0, "Removed: tool\n")
    assert not tool.exists()


def test_what_somebody_made_or_changed_is_named_by_prune_and_stays(weft: Weft, tool: Path, lock: Path) -> None:
    mine = write_skill(tool.parent / "mine")
    assert weft("skills", "trust", "mine", "--yes").returncode == 0
    (tool / "SKILL.md").write_text("edited\n")
    lock.write_text(lock.read_text().split("\n[", 1)[0])
    done = weft("skills", "sync", "--prune", "--yes")
    assert (done.returncode, done.stdout) == (0, "")
    assert "mine" in done.stderr
    assert mine.exists()
    assert tool.exists()


def test_a_lock_that_names_a_folder_of_this_machine_gets_nothing_but_what_it_knows(
    weft: Weft, tool: Path, lock: Path, project: Path
) -> None:
    secret = write_skill(project.parent / "secret" / "tool", "my key")
    lock.write_text(lock.read_text().replace(str(project.parent / "source" / "tool"), str(secret)))
    shutil.rmtree(tool)
    forget_copies(project)
    assert weft("skills", "sync", "--frozen", "--yes").returncode == 3
    assert list(tool.parent.iterdir()) == []


def test_a_lock_that_lies_elsewhere_by_a_link_is_not_written(
    weft: Weft, tool: Path, lock: Path, tmp_path: Path
) -> None:
    text = conflicting(lock, lambda block: block)
    lock.write_text(text)
    lock.parent.rename(tmp_path / "elsewhere")
    lock.parent.symlink_to(tmp_path / "elsewhere")
    done = weft("skills", "sync", "--yes", "--scope", "project")
    assert done.returncode == 3
    assert "error[install-link]" in done.stderr
    assert lock.read_text() == text
