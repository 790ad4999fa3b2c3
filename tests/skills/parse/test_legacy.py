"""The legacy form: `skill.json` and `prompt.md`."""

import pytest

from clawft.errors import YamlParse
from clawft.skills.parse.dialects import parse_legacy


def test_manifest_and_prompt_make_a_skill() -> None:
    skill = parse_legacy(
        '{"name": "research", "description": "Deep research", "version": "1.0.0", "variables": ["topic"],'
        ' "allowed_tools": ["read_file"], "user_invocable": true}',
        "\n  Research {{topic}}.\n",
        "research",
    )
    assert (skill.name, skill.description, skill.version) == ("research", "Deep research", "1.0.0")
    assert (skill.variables, skill.allowed_tools, skill.user_invocable) == (("topic",), ("read_file",), True)
    assert (skill.prompt, skill.format) == ("Research {{topic}}.", "legacy")


def test_what_is_missing_comes_from_folder_and_prompt() -> None:
    skill = parse_legacy("{}", "# Title\n\nDo the thing.\n", "my-skill")
    assert (skill.name, skill.description) == ("my-skill", "Do the thing.")


def test_missing_prompt_is_said() -> None:
    skill = parse_legacy('{"name": "a", "description": "d"}', None, "a", path="a/skill.json")
    assert skill.prompt is None
    assert [(found.code, found.where) for found in skill.diagnostics] == [("prompt-missing", "a/skill.json:1")]


def test_empty_prompt_is_no_missing_one() -> None:
    assert parse_legacy('{"name": "a", "description": "d"}', "", "a").diagnostics == ()


def test_metadata_is_read_as_in_the_other_form() -> None:
    skill = parse_legacy(
        '{"name": "a", "description": "d", "metadata": {"openclaw": {"requires": {"bins": ["x"]}}}}', "B", "a"
    )
    assert skill.requires.bins == ("x",)


def test_long_prompt_is_cut() -> None:
    assert parse_legacy('{"name": "a"}', "x" * 50, "a", max_prompt_bytes=10).prompt == "x" * 10


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        '"text"',
        "{'a': 1}",
        '{"a": 1,}',
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"a": "\\ud800"}',
    ],
    ids=lambda manifest: f"{manifest[:12]!r}",
)
def test_manifest_that_is_no_json_object_is_an_error_with_its_place(manifest: str) -> None:
    with pytest.raises(YamlParse, match="skill/a") as caught:
        parse_legacy(manifest, "Body", "a", path="a/skill.json")
    assert (caught.value.code, caught.value.diagnostic.where) == ("json-invalid", "a/skill.json:1")
