"""What a path means to a scan: nothing is left out, and nothing is scanned twice."""

import os
from pathlib import Path

import pytest

from clawft.scanner.batch import ScannedPath, find_enclosing_skill, find_targets


def _skill(folder: Path, file: str = "SKILL.md") -> Path:
    folder.mkdir(parents=True)
    (folder / file).write_text("---\nname: one\ndescription: d\n---\n")
    return folder


def test_skill_is_one_target_with_all_below_it(tmp_path: Path) -> None:
    skill = _skill(tmp_path / "one")
    _skill(skill / "examples" / "inner")

    assert find_targets(str(skill)) == [ScannedPath(str(skill))]
    assert find_targets(str(skill / "SKILL.md")) == [ScannedPath(str(skill))]


@pytest.mark.parametrize("file", ["skill.md", "Skill.MD", "skill.json"])
def test_other_spellings_and_legacy_skills_count(tmp_path: Path, file: str) -> None:
    skill = _skill(tmp_path / "skills" / "one", file)

    assert find_targets(str(tmp_path)) == [ScannedPath(str(skill))]


def test_folder_of_skills_is_each_of_them_in_order_and_the_rest(tmp_path: Path) -> None:
    deep = _skill(tmp_path / "z" / ".hidden" / "c" / "d" / "e" / "f" / "deep")
    first = _skill(tmp_path / "a")
    (tmp_path / "z" / "notes.txt").write_text("outside\n")

    assert find_targets(str(tmp_path)) == [
        ScannedPath(str(first)),
        ScannedPath(str(deep)),
        ScannedPath(str(tmp_path), (str(first), str(deep))),
    ]


def test_folder_with_nothing_outside_its_skills_has_no_rest(tmp_path: Path) -> None:
    skills = [_skill(tmp_path / name) for name in ("a", "b")]

    assert find_targets(str(tmp_path)) == [ScannedPath(str(one)) for one in skills]


def test_folder_without_skills_is_one_target(tmp_path: Path) -> None:
    assert find_targets(str(tmp_path)) == [ScannedPath(str(tmp_path))]


def test_file_is_a_target(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK")

    assert find_targets(str(tmp_path / "a.zip")) == [ScannedPath(str(tmp_path / "a.zip"))]


def test_named_link_is_followed_and_no_other(tmp_path: Path) -> None:
    skill = _skill(tmp_path / "real" / "one")
    (tmp_path / "box").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "box" / "link")

    assert find_targets(str(tmp_path / "box")) == [ScannedPath(str(tmp_path / "box"))]
    assert find_targets(str(tmp_path / "box" / "link")) == [ScannedPath(str(skill))]


@pytest.mark.parametrize("name", ["gone", "gone/SKILL.md", "nul\0"])
def test_missing_path_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises((OSError, ValueError)):
        find_targets(str(tmp_path / name))
    with pytest.raises(OSError, match="No such file"):
        find_targets("")


def test_file_belongs_to_the_nearest_skill_above_it(tmp_path: Path) -> None:
    outer = _skill(tmp_path / "outer")
    inner = _skill(outer / "inner")
    (inner / "scripts").mkdir()

    assert find_enclosing_skill(str(inner / "scripts" / "run.sh"), str(tmp_path)) == str(inner)
    assert find_enclosing_skill(str(outer / "README.md"), str(tmp_path)) == str(outer)
    assert find_enclosing_skill(str(tmp_path / "README.md"), str(tmp_path)) is None


def test_no_skill_is_looked_for_above_the_top(tmp_path: Path) -> None:
    outer = _skill(tmp_path / "outer")
    (outer / "work").mkdir()

    assert find_enclosing_skill(str(outer / "work" / "run.sh"), str(outer / "work")) is None
