"""What authors write for another skill that theirs needs."""

import pytest

from clawft.skills.parse.dependencies import SkillDependency, compare_versions, is_met, parse_dependency
from clawft.skills.parse.skill import parse_skill_md


@pytest.mark.parametrize(
    ("text", "need"),
    [
        ("notes", SkillDependency("notes")),
        ("@acme/notes", SkillDependency("notes", "acme")),
        ("acme/notes", SkillDependency("notes", "acme")),
        ("skill:notes", SkillDependency("notes")),
        ("notes@1.2.3", SkillDependency("notes", "", "==1.2.3")),
        ("@acme/notes@1.2.3", SkillDependency("notes", "acme", "==1.2.3")),
        ("notes >= 1.2, <2", SkillDependency("notes", "", ">=1.2,<2")),
        ("notes>=1.2 <2", SkillDependency("notes", "", ">=1.2,<2")),
        ("notes ^1.2", SkillDependency("notes", "", "^1.2")),
        ("notes *", SkillDependency("notes")),
        ("gh (external)", None),
        ("../notes", None),
        ("notes;rm", None),
        ("https://example.com/notes", None),
        ("", None),
        ("n" * 300, None),
    ],
)
def test_one_need_is_read_or_is_none(text: str, need: SkillDependency | None) -> None:
    assert parse_dependency(text) == need


@pytest.mark.parametrize(
    ("bounds", "kept", "broken"),
    [
        (">=1.2,<2", ["1.2", "1.10.0"], ["1.1.9", "2.0", "2.0.1"]),
        ("^1.2", ["1.2.0", "1.9"], ["1.1", "2.0.0", "2.0.0-rc"]),
        ("^0.3.1", ["0.3.1", "0.3.9"], ["0.4.0", "0.3.0"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.3.0"]),
        ("~1", ["1.0", "1.9"], ["2.0"]),
        ("==1.0", ["1.0.0", "v1.0"], ["1.0.1", "1.0-rc"]),
        ("!=1.0", ["1.1"], ["1.0"]),
        (">1.0-rc", ["1.0"], ["1.0-rc", "0.9"]),
        ("", ["0.1", ""], []),
    ],
)
def test_versions_keep_their_bounds(bounds: str, kept: list[str], broken: list[str]) -> None:
    assert [one for one in kept if not is_met(bounds, one)] == []
    assert [one for one in broken if is_met(bounds, one)] == []


def test_a_version_that_is_not_known_breaks_no_bound() -> None:
    assert is_met(">=2", "")


def test_numbers_count_by_value() -> None:
    assert compare_versions("1.9", "1.10") > 0
    assert compare_versions("1.0.0", "1") == 0
    assert compare_versions("2.0", "2.0-beta") < 0


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("requires: {skills: [notes, '@acme/mail>=2']}", ("notes", "@acme/mail>=2")),
        ("requires: {skills: {notes: '>=1.0', mail: 2.1}}", ("notes>=1.0", "mail==2.1")),
        ("requires: {skills: [{name: notes, version: ^1.0}, {name: mail, optional: true}]}", ("notes^1.0",)),
        ("metadata: {openclaw: {requires: {skills: notes}}}", ("notes",)),
    ],
)
def test_required_skills_are_read_in_every_form(written: str, read: tuple[str, ...]) -> None:
    skill = parse_skill_md(f"---\nname: a\ndescription: d\n{written}\n---\n", "a")
    assert (skill.requires.skills, skill.diagnostics) == (read, ())


def test_dependencies_may_be_a_mapping_and_leave_out_what_is_no_skill() -> None:
    text = "dependencies: [{name: numpy, type: pip}, {name: notes, version: '>=1'}, mail]"
    skill = parse_skill_md(f"---\nname: a\ndescription: d\n{text}\n---\n", "a")
    assert skill.dependencies == ("notes>=1", "mail")
