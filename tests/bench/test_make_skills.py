"""The skills that are measured: the same each time, and shaped as they say."""

from pathlib import Path

import pytest

from folder import open_folder
from make_skills import SHARES, plan_skills, write_skills


def test_same_number_gives_the_same_files(tmp_path: Path) -> None:
    first, second = write_skills(tmp_path / "a", 30), write_skills(tmp_path / "b", 30)
    assert [Path(path).read_bytes() for path in first] == [Path(path).read_bytes() for path in second]
    assert [Path(path).parent.name for path in first] == [Path(path).parent.name for path in second]


def test_every_skill_is_usable(tmp_path: Path) -> None:
    write_skills(tmp_path / "skills", 200)
    found = open_folder(str(tmp_path / "skills"), str(tmp_path / "cache")).load().found
    assert [one.problem for one in found if one.problem] == []
    assert sum(bool(one.skill and one.skill.description) for one in found) == 200


@pytest.mark.parametrize("count", [100, 1000])
def test_shares_and_percentiles_hold_for_every_number(count: int) -> None:
    shapes = plan_skills(count)
    for trait, share in SHARES.items():
        assert sum(trait in shape.traits for shape in shapes) == round(share * count)
    bodies = sorted(shape.body_chars for shape in shapes)
    descriptions = sorted(shape.description_chars for shape in shapes)
    assert bodies[count // 2] == pytest.approx(3_000, rel=0.1)
    assert bodies[count * 9 // 10] == pytest.approx(11_000, rel=0.1)
    assert descriptions[count // 2] == pytest.approx(157, rel=0.1)
    assert descriptions[count * 9 // 10] == pytest.approx(363, rel=0.1)
