"""The diagnostic value, the exceptions that carry one, and the guess at what a wrong name meant."""

import msgspec
import pytest

from clawft.errors import (
    ClawftError,
    Diagnostic,
    Edit,
    MissingFrontmatter,
    NotFound,
    SkillLoadError,
    Unreadable,
    YamlParse,
    find_close,
)


def test_where_is_path_and_line() -> None:
    assert Diagnostic("x", "note", "m", "a/SKILL.md", 3).where == "a/SKILL.md:3"


def test_where_without_a_line_is_the_path_alone() -> None:
    assert Diagnostic("x", "note", "m", "a/SKILL.md").where == "a/SKILL.md"


def test_error_carries_its_diagnostic() -> None:
    edit = Edit(0, 1, "x")
    error = ClawftError("some-code", "It broke", path="f", line=2, hint="Mend it", fix=(edit,))
    assert error.diagnostic == Diagnostic("some-code", "error", "It broke", "f", 2, "Mend it", (edit,))
    assert (error.code, error.hint, str(error), error.exit_code) == ("some-code", "Mend it", "It broke", 1)


@pytest.mark.parametrize("kind", [NotFound, Unreadable, SkillLoadError, MissingFrontmatter, YamlParse])
def test_every_error_is_caught_as_one_family(kind: type[ClawftError]) -> None:
    with pytest.raises(ClawftError, match="message"):
        raise kind("code", "message")


@pytest.mark.parametrize("kind", [MissingFrontmatter, YamlParse])
def test_load_errors_of_a_skill_share_a_class(kind: type[ClawftError]) -> None:
    assert issubclass(kind, SkillLoadError)


def test_diagnostic_without_place_or_hint_is_three_keys_of_json() -> None:
    encoded = msgspec.json.decode(msgspec.json.encode(Diagnostic("x", "warning", "m")))
    assert encoded == {"code": "x", "severity": "warning", "message": "m"}


def test_close_name_is_found() -> None:
    assert find_close("reserch", ["research", "review", "deploy"]) == "research"


def test_name_far_from_all_others_has_no_close_one() -> None:
    assert find_close("zzz", ["research", "review"]) is None


def test_nothing_is_close_when_nothing_is_known() -> None:
    assert find_close("research", iter(())) is None
