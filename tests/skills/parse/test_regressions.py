"""Files that were once read or mended wrongly."""

import pytest

from clawft.skills.parse.dialects import parse_legacy
from clawft.skills.parse.model import Skill
from clawft.skills.parse.skill import parse_skill_md
from clawft.skills.parse.validation import fix_skill_md


def _parse(frontmatter: str, body: str = "Body.", folder: str = "a") -> Skill:
    return parse_skill_md(f"---\n{frontmatter}\n---\n\n{body}\n", folder)


def _mend(text: str, folder: str = "a") -> str:
    return fix_skill_md(text.encode(), folder).data.decode()


def test_indented_frontmatter_keeps_its_description_when_a_name_is_added() -> None:
    mended = parse_skill_md(_mend("---\n  description: d\n  license: MIT\n---\nBody\n", "my-dir"), "my-dir")
    assert (mended.name, mended.description, mended.license) == ("my-dir", "d", "MIT")


def test_mending_never_widens_what_a_skill_may_use() -> None:
    text = "---\nname: a\ndescription: d\nallowed_tools: {x: y}\nallowedTools: Read\n---\n"
    before, after = parse_skill_md(text, "a"), parse_skill_md(_mend(text), "a")
    assert after.allowed_tools == before.allowed_tools != ()


def test_empty_name_is_filled_in_where_it_stands() -> None:
    assert _mend("---\nname:\ndescription: d\ntags: [a,\n  b]\n---\n") == (
        "---\nname: a\ndescription: d\ntags: [a,\n  b]\n---\n"
    )


def test_quoted_brackets_are_mended_once_and_for_all() -> None:
    fixed = fix_skill_md(f'---\nname: a\ndescription: d\nfoo: "{"[" * 65}"\n---\n'.encode(), "a")
    assert len(fixed.applied) <= 1


@pytest.mark.parametrize("written", ["Bash(git", "Bash(echo (x))", "Bash (git:*)", "{x: y}", "3.5e"])
def test_tool_list_that_cannot_be_read_grants_no_whole_tool(written: str) -> None:
    assert "Bash" not in _parse(f"name: a\ndescription: d\nallowed-tools: {written}").allowed_tools


def test_tools_that_can_be_read_stay_beside_one_that_cannot() -> None:
    assert _parse("name: a\ndescription: d\nallowed-tools: Read, Bash(git").allowed_tools == ("Read",)
    assert _parse("name: a\ndescription: d\nallowed-tools: [Bash(git add:*), Read]").allowed_tools == (
        "Bash(git add:*)",
        "Read",
    )


def test_list_of_forbidden_tools_that_cannot_be_read_forbids_all() -> None:
    assert _parse("name: a\ndescription: d\ndisallowed-tools: {x: y}").disallowed_tools == ("*",)


def test_control_characters_in_a_description_are_removed_and_said() -> None:
    skill = _parse('name: a\ndescription: "x\\e[2J\\u202ey"')
    assert skill.description == "x[2Jy"
    assert [found.code for found in skill.diagnostics] == ["control-character"]


def test_key_in_another_case_gives_its_own_line() -> None:
    skill = _parse("version: 1\ndescription: d\nName: Foo Bar")
    assert [found.line for found in skill.diagnostics if found.code == "name-not-canonical"] == [4]


def test_requirement_inside_a_block_gives_the_line_of_the_block() -> None:
    skill = _parse("name: a\ndescription: d\nversion: 1\nrequires: {moon: x}")
    assert [(found.code, found.line) for found in skill.diagnostics] == [("unknown-requirement", 5)]


def test_crlf_text_is_read_without_being_decoded_first() -> None:
    assert parse_skill_md("---\r\nname: a\r\ndescription: d\r\n---\r\nBody\r\n", "a").diagnostics == ()


def test_version_inside_metadata_stays_as_written() -> None:
    assert _parse("name: a\ndescription: d\nmetadata: {version: 1.10}").version == "1.10"


def test_argument_hint_in_brackets_is_taken_as_written() -> None:
    skill = _parse("name: a\ndescription: d\nargument-hint: [topic]")
    assert (skill.argument_hint, skill.diagnostics) == ("[topic]", ())


def test_legacy_manifest_gets_no_edits_meant_for_yaml() -> None:
    assert not any(found.fix for found in parse_legacy("{}", "Body", "a").diagnostics)


def test_metadata_keys_that_are_no_texts_become_texts() -> None:
    skill = _parse("name: a\ndescription: d\nmetadata: {true: b, 2: {3: c}}")
    assert skill.metadata == {"True": "b", "2": {"3": "c"}}
    assert skill.diagnostics == ()


def test_body_line_is_where_the_prompt_begins() -> None:
    assert parse_skill_md("---\nname: a\ndescription: d\n---\n\n\nBody\n", "a").body_line == 7
    assert parse_skill_md("\n\nBody only\n", "a").body_line == 3


def test_frontmatter_without_its_first_line_is_opened_and_not_doubled() -> None:
    text = "name: nostart\ndescription: Forgot the dashes.\n---\n\nBody.\n"
    assert _mend(text, "nostart") == "---\n" + text


def test_header_in_a_fence_and_an_empty_file_are_not_mended_by_guessing() -> None:
    assert _mend("```yaml\nname: a\n```\n\nBody\n") == "```yaml\nname: a\n```\n\nBody\n"
    assert _mend("") == ""


def test_misspelt_description_is_meant_as_one() -> None:
    skill = _parse("name: a\ndescripton: It does.")
    assert (skill.description, [found.code for found in skill.diagnostics]) == (
        "It does.",
        ["unknown-field", "key-spelling"],
    )


def test_quote_that_is_never_closed_is_left_out() -> None:
    assert _parse('name: a\ndescription: "Unclosed quote').description == "Unclosed quote"


def test_tab_that_strict_readers_refuse_is_said() -> None:
    skill = _parse("name: a\ndescription:\td")
    assert [(found.code, found.line) for found in skill.diagnostics] == [("tab-character", 3)]


def test_list_of_tools_that_is_never_closed_grants_only_what_is_certain() -> None:
    assert _parse("name: a\ndescription: d\nallowed-tools: [Read, Grep").allowed_tools == ("Grep",)
