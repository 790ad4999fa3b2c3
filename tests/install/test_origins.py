"""Origins: what the user wrote is theirs; what came with something, or was brought by an installer, is a stranger's."""

import hashlib
import json
from pathlib import Path

import pytest

from clawft.app.app import App, open_app
from clawft.install.lockfile.file import render_lock
from clawft.install.lockfile.model import LockedSkill, SkillOrigin

CLAWHUB = {"version": 1, "skills": {"brought": {"version": "1.0.0", "installedAt": 1}}}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / ".clawft").mkdir(parents=True)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def _skill(folder: Path, name: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name or folder.name}\ndescription: d\n---\n\nDo it.\n")
    return folder


def _open(home: Path, project: Path, *dirs: str) -> App:
    quick = {"CLAWFT_SKILLS__SECURITY__SCAN_ON_LOAD": "false"}  # whose they are is all that is asked
    return open_app({"HOME": str(home), "PATH": "", **quick}, str(project), dirs)


def _why(home: Path, project: Path, *dirs: str) -> dict[str, str]:
    """Why each skill waits for an approval; nothing for one of the user's own."""
    app = _open(home, project, *dirs)
    return {
        one.name: one.reasons[0].message if one.state == "untrusted" else ""
        for one in app.skills
        if one.found.location.scope != "bundled"
    }


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "below", [".clawft/skills", ".agents/skills", ".claude/skills", "skills", ".skills", ".codex/skills"]
)
def test_whatever_folder_of_the_project_it_is_in_it_is_a_strangers(home: Path, project: Path, below: str) -> None:
    _skill(project / below / "theirs")
    assert _why(home, project) == {"theirs": "It comes with the project and is not approved"}


def test_a_command_of_the_project_is_a_strangers_and_one_of_the_user_is_not(home: Path, project: Path) -> None:
    _write(project / ".claude" / "commands" / "theirs.md", "---\ndescription: d\n---\nDo it.\n")
    _write(home / ".claude" / "commands" / "mine.md", "---\ndescription: d\n---\nDo it.\n")
    assert _why(home, project) == {"theirs": "It comes with the project and is not approved", "mine": ""}


@pytest.mark.parametrize("below", [".clawft/skills", ".clawft/workspace/skills", ".agents/skills", ".openclaw/skills"])
def test_what_the_user_wrote_by_hand_is_theirs(home: Path, project: Path, below: str) -> None:
    _skill(home / below / "mine")
    assert _why(home, project) == {"mine": ""}


def test_where_the_home_is_the_project_its_user_folders_and_extra_folders_are_the_users_own(home: Path) -> None:
    _skill(home / ".claude" / "skills" / "mine")
    _skill(home / "more" / "chosen")
    _write(home / ".clawft" / "config.toml", '[skills.load]\nextra_dirs = ["more"]\n')
    assert _why(home, home) == {"mine": "", "chosen": ""}


@pytest.mark.parametrize("lock", [".clawhub/lock.json", ".clawdhub/lock.json", ".skill-lock.json"])
def test_what_an_installer_noted_is_a_strangers_and_what_lies_beside_it_is_not(
    home: Path, project: Path, lock: str
) -> None:
    _skill(home / ".agents" / "skills" / "brought")
    _skill(home / ".agents" / "skills" / "mine")
    _write(home / ".agents" / lock, json.dumps(CLAWHUB))
    assert _why(home, project) == {"brought": "It was installed and is not approved", "mine": ""}


@pytest.mark.parametrize("noted", ["Brought By Hand", "pack:brought-by-hand", "owner/brought-by-hand"])
def test_what_was_noted_is_known_by_the_folder_that_installers_make_of_its_name(
    home: Path, project: Path, noted: str
) -> None:
    _skill(home / ".agents" / "skills" / "brought-by-hand")
    _write(home / ".agents" / ".skill-lock.json", json.dumps({"skills": {noted: {}}}))
    assert _why(home, project) == {"brought-by-hand": "It was installed and is not approved"}


def test_what_lies_within_a_folder_that_was_brought_is_a_strangers_too(home: Path, project: Path) -> None:
    _skill(home / ".agents" / "skills" / "brought" / "inner")
    _write(home / ".agents" / ".clawhub" / "lock.json", json.dumps(CLAWHUB))
    assert _why(home, project) == {"inner": "It was installed and is not approved"}


def test_a_link_to_what_was_brought_is_a_strangers_whatever_it_is_called(home: Path, project: Path) -> None:
    _skill(home / ".agents" / "skills" / "brought")
    _write(home / ".agents" / ".clawhub" / "lock.json", json.dumps(CLAWHUB))
    (home / ".agents" / "skills" / "other").symlink_to("brought")
    (home / ".claude").mkdir()
    (home / ".claude" / "skills").symlink_to("../.agents/skills")
    app = _open(home, project)
    found = [one for one in app.skills if one.found.location.scope == "user"]
    assert found
    assert {one.state for one in found} == {"untrusted"}


def test_what_one_installer_copies_to_every_client_is_a_strangers_in_each(home: Path, project: Path) -> None:
    _write(home / ".agents" / ".skill-lock.json", json.dumps(CLAWHUB))
    (home / ".agents" / "skills").mkdir()
    _skill(home / ".claude" / "skills" / "brought")
    _skill(home / ".claude" / "skills" / "mine")
    assert _why(home, project) == {"brought": "It was installed and is not approved", "mine": ""}


def test_what_another_installer_brought_elsewhere_says_nothing_of_a_skill_of_the_same_name(
    home: Path, project: Path
) -> None:
    _write(home / ".openclaw" / ".clawhub" / "lock.json", json.dumps(CLAWHUB))
    (home / ".openclaw" / "skills").mkdir()
    _skill(home / ".clawft" / "skills" / "brought")
    assert _why(home, project) == {"brought": ""}


@pytest.mark.parametrize(
    "lock", ["", "{", "[]", "{}", '{"skills": []}', "[" * 50_000, None], ids=["0", "1", "2", "3", "4", "deep", "link"]
)
def test_where_a_lock_cannot_be_read_anything_may_have_been_brought(
    home: Path, project: Path, lock: str | None
) -> None:
    _skill(home / ".agents" / "skills" / "mine")
    _skill(home / ".clawft" / "skills" / "elsewhere")
    path = _write(home / ".agents" / ".clawhub" / "lock.json", lock or "")
    if lock is None:
        path.unlink()
        path.symlink_to(_write(home / "lock.json", '{"skills": {}}'))
    assert _why(home, project) == {"mine": "It was installed and is not approved", "elsewhere": ""}


def test_a_lock_of_nothing_makes_no_stranger(home: Path, project: Path) -> None:
    _skill(home / ".agents" / "skills" / "mine")
    _write(home / ".agents" / ".clawhub" / "lock.json", '{"skills": {}}')
    assert _why(home, project) == {"mine": ""}


def test_extra_folders_are_the_users_choice_unless_they_lie_in_the_project(home: Path, project: Path) -> None:
    _skill(home / "more" / "mine")
    _skill(project / "vendor" / "theirs")
    (home / "linked").symlink_to(project / "third")
    _skill(project / "third" / "hidden")
    extra = '["~/more", "vendor", "~/linked"]'
    _write(home / ".clawft" / "config.toml", f"[skills.load]\nextra_dirs = {extra}\n")
    strange = "It comes with the project and is not approved"
    assert _why(home, project) == {"mine": "", "theirs": strange, "hidden": strange}


def test_what_came_with_the_program_needs_no_approval(home: Path, project: Path) -> None:
    app = _open(home, project)
    bundled = [one.found for one in app.skills if one.found.location.scope == "bundled"]
    assert bundled
    assert not any(app.trust_policy.requires_approval(one) for one in bundled)


def test_a_folder_that_is_named_is_a_strangers_though_it_may_be_looked_at(home: Path, project: Path) -> None:
    _skill(home / "downloads" / "odd")
    app = _open(home, project, str(home / "downloads"))
    (odd,) = app.skills
    assert odd.state == "ready"
    assert app.trust_policy.requires_approval(odd.found)
    objection = app.trust_policy.check_use(odd.found)
    assert objection is not None
    assert objection.message == "It comes with the folder and is not approved"
    assert objection.hint == f"Look at it, then: weft skills trust odd --dir {home}/downloads"


def _lock_of(*names: str) -> str:
    none = "sha256:" + hashlib.sha256().hexdigest()
    return render_lock([LockedSkill(name, SkillOrigin("clawhub", "https://clawhub.ai"), none, {}) for name in names])


@pytest.mark.parametrize("below", [".clawft/skills", ".agents/skills", ".claude/skills", ".openclaw/skills"])
def test_what_our_lock_names_was_installed(home: Path, project: Path, below: str) -> None:
    _skill(home / below / "brought")
    _skill(home / below / "mine")
    _write(home / ".clawft" / "skills.lock", _lock_of("brought", "gone"))
    assert _why(home, project) == {"brought": "It was installed and is not approved", "mine": ""}


def test_a_lock_that_somebody_wrote_otherwise_is_read_all_the_same(home: Path, project: Path) -> None:
    _skill(home / ".clawft" / "skills" / "brought")
    _skill(home / ".clawft" / "skills" / "mine")
    _write(home / ".clawft" / "skills.lock", _lock_of("brought").replace("[skill.brought]", "[ skill . 'brought' ]"))
    assert _why(home, project) == {"brought": "It was installed and is not approved", "mine": ""}


@pytest.mark.parametrize("text", ["no lock", "<<<<<<< HEAD\n=======\n>>>>>>> x\n"])
def test_while_our_lock_cannot_be_read_anything_may_have_been_installed(home: Path, project: Path, text: str) -> None:
    _skill(home / ".clawft" / "skills" / "mine")
    _write(home / ".clawft" / "skills.lock", _lock_of("brought") + text)
    assert _why(home, project) == {"mine": "It was installed and is not approved"}
