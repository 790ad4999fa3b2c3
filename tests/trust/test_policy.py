"""Strangers: what was approved is used as it was approved, and nothing else."""

import os
from pathlib import Path

import pytest

from clawft.app.app import App, open_app
from clawft.errors import Refused
from clawft.scanner.findings import Power
from clawft.skills.discovery.digest import compute_digest, open_copy
from clawft.trust.approvals import make_approval

TEXT = "---\nname: guest\ndescription: d\n---\n\n{}\n"


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "skills" / "guest"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(TEXT.format("Say hello."))
    (folder / "run.sh").write_text("echo hello\n")
    return folder


@pytest.fixture
def app(tmp_path: Path, skill: Path) -> App:
    (tmp_path / "home").mkdir()
    quick = {"CLAWFT_SKILLS__SECURITY__SCAN_ON_LOAD": "false"}  # whether it attacks is not asked here
    return open_app({"HOME": str(tmp_path / "home"), "PATH": "", **quick}, str(tmp_path / "project"))


def _approve(app: App, skill: Path) -> None:
    """As the user does, without a look at it."""
    digest = compute_digest(str(skill)).value
    app.approvals.record([make_approval("skill", str(skill), digest, "guest", Power(network=("a.example",)))])


def _state(app: App) -> tuple[str, str]:
    one = app.refresh().get_skill("guest")
    return one.state, one.reasons[0].message if one.reasons else ""


def _refused(app: App) -> Refused:
    with pytest.raises(Refused) as caught:
        app.load_usable(app.get_skill("guest").found)
    return caught.value


def test_what_nobody_approved_is_not_handed_out(app: App) -> None:
    assert _state(app) == ("untrusted", "It comes with the project and is not approved")
    error = _refused(app)
    assert (error.code, error.exit_code) == ("skill-untrusted", 3)
    assert error.hint == "Look at it, then: weft skills trust guest"


def test_what_was_approved_is_handed_out_with_the_power_that_was_seen(app: App, skill: Path) -> None:
    _approve(app, skill)
    usable = app.load_usable(app.get_skill("guest").found)
    assert (usable.is_untrusted, usable.granted) == (True, Power(network=("a.example",)))
    assert usable.digest == compute_digest(str(skill)).value
    assert usable.skill.prompt == "Say hello."


def test_the_users_own_is_handed_out_without_a_grant(app: App, skill: Path, tmp_path: Path) -> None:
    own = tmp_path / "home" / ".clawft" / "skills" / "guest"
    own.parent.mkdir(parents=True)
    skill.rename(own)
    usable = app.load_usable(app.get_skill("guest").found)
    assert (usable.is_untrusted, usable.granted) == (False, None)


@pytest.mark.parametrize("change", ["text", "script", "new", "removed", "mode"])
def test_any_change_of_the_folder_takes_the_approval_away(app: App, skill: Path, change: str) -> None:
    _approve(app, skill)
    if change == "text":
        (skill / "SKILL.md").write_text(TEXT.format("Say something else."))
    elif change == "script":
        (skill / "run.sh").write_text("echo hallo\n")
    elif change == "new":
        (skill / "new.md").touch()
    elif change == "removed":
        (skill / "run.sh").unlink()
    else:
        (skill / "run.sh").chmod(0o755)
    state, why = _state(app)
    assert state == "untrusted"
    assert why.startswith("It changed since it was approved on 20")


def test_a_skill_that_changes_after_it_was_listed_is_refused_when_it_is_used(app: App, skill: Path) -> None:
    _approve(app, skill)
    found = app.get_skill("guest").found
    assert app.get_skill("guest").state == "ready"
    (skill / "run.sh").write_text("echo hallo\n")
    with pytest.raises(Refused) as caught:
        app.load_usable(found)
    assert caught.value.code == "skill-untrusted"
    assert "it changed since it was approved" in str(caught.value)


def test_an_approval_that_is_taken_back_counts_at_the_next_use(app: App, skill: Path) -> None:
    _approve(app, skill)
    found = app.get_skill("guest").found
    app.load_usable(found)
    app.reviewer.revoke(app.approvals.load())
    assert _refused(app).code == "skill-untrusted"


def test_an_approval_is_of_one_place(app: App, skill: Path, tmp_path: Path) -> None:
    _approve(app, skill)
    other = tmp_path / "project" / ".claude" / "skills" / "guest"
    other.parent.mkdir(parents=True)
    skill.rename(other)
    assert _state(app)[0] == "untrusted"


def test_what_is_read_through_a_link_is_covered_by_no_approval(app: App, skill: Path) -> None:
    (skill / "SKILL.md").rename(skill / "real.md")
    (skill / "SKILL.md").symlink_to("real.md")
    app.approvals.record([make_approval("skill", str(skill), "", "guest")])
    assert _state(app)[0] == "untrusted"
    assert "no digest of it to approve" in str(_refused(app))


def test_a_programs_copy_is_what_was_approved_or_none(app: App, skill: Path, tmp_path: Path) -> None:
    _approve(app, skill)
    digest = app.load_usable(app.get_skill("guest").found).digest
    with open_copy(str(skill), digest, str(tmp_path / "copies")) as copy:
        (skill / "run.sh").write_text("echo swapped\n")
        assert Path(copy, "run.sh").read_text() == "echo hello\n"
    assert os.listdir(tmp_path / "copies") == []
    with pytest.raises(Refused) as caught, open_copy(str(skill), digest, str(tmp_path / "copies")):
        pytest.fail("what was swapped ran")
    assert caught.value.code == "skill-changed"
    assert os.listdir(tmp_path / "copies") == []


def test_without_a_digest_there_is_no_copy(skill: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused), open_copy(str(skill), "", str(tmp_path / "copies")):
        pytest.fail("it ran")


def test_for_one_run_all_of_the_project_is_taken_as_it_is_first_seen(app: App, skill: Path) -> None:
    app.run_trust.project = True
    assert _state(app) == ("ready", "")
    assert app.load_usable(app.get_skill("guest").found).granted == Power()
    (skill / "run.sh").write_text("echo hallo\n")
    assert _state(app) == ("untrusted", "It changed since this run began")
    assert app.approvals.load() == (), "nothing of it stays"


def test_what_is_trusted_for_a_run_is_the_projects_only(app: App, tmp_path: Path) -> None:
    brought = tmp_path / "home" / ".agents" / "skills" / "brought"
    brought.mkdir(parents=True)
    (brought / "SKILL.md").write_text("---\nname: brought\ndescription: d\n---\nHello.\n")
    (tmp_path / "home" / ".agents" / ".skill-lock.json").write_text('{"skills": {"brought": {}}}')
    app.run_trust.project = True
    states = {one.name: one.state for one in app.skills if one.found.location.scope != "bundled"}
    assert states == {"guest": "ready", "brought": "untrusted"}


def test_one_skill_may_be_approved_for_a_run(app: App) -> None:
    app.reviewer.approve_for_run(app.reviewer.review(app.get_skill("guest").found))
    assert _state(app) == ("ready", "")
    assert open_app(app.environ, app.workspace.cwd).get_skill("guest").state == "untrusted"


def test_approvals_that_cannot_be_read_leave_all_untrusted_and_say_why(app: App, skill: Path) -> None:
    _approve(app, skill)
    Path(app.approvals.path).write_text("{")
    state, why = _state(app)
    assert state == "untrusted"
    assert why.startswith("It comes with the project, and approvals.json is damaged")
    assert _refused(app).code == "skill-untrusted"


def test_a_list_without_a_decision_reads_no_skill_whole(app: App, skill: Path) -> None:
    with open(skill / "huge.bin", "wb") as file:
        file.truncate(1 << 40)  # to read it would take for ever
    assert _state(app)[0] == "untrusted"


def test_what_is_too_large_for_a_digest_cannot_be_approved(app: App, skill: Path) -> None:
    _approve(app, skill)
    with open(skill / "huge.bin", "wb") as file:
        file.truncate(1 << 40)
    assert _state(app)[0] == "untrusted"
    assert "too much to take a digest of" in str(_refused(app))
