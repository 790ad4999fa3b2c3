"""The tools that a skill's frontmatter brings: what is read of them, and what is not."""

import pytest

from clawft.skills.parse.model import Skill, ToolDefinition
from clawft.skills.parse.skill import parse_skill_md


def parse(item: str) -> Skill:
    return parse_skill_md(f"---\nname: a\ndescription: d\ntools:\n  - {item}\n---\n", "a")


def said(skill: Skill) -> list[tuple[str, int]]:
    return [(one.code, one.line) for one in skill.diagnostics]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("[scripts/go.sh, --all, 3]", ("scripts/go.sh", "--all", "3")),
        ("scripts/go.sh --title 'two words'", ("scripts/go.sh", "--title", "two words")),
        ("scripts/go.sh a#b", ("scripts/go.sh", "a#b")),
    ],
)
def test_a_command_is_a_list_of_words_or_a_text_of_them(command: str, words: tuple[str, ...]) -> None:
    skill = parse(f"name: go\n    execution: Shell\n    command: {command}")
    assert skill.provided_tools == (ToolDefinition("go", command=words, execution="shell"),)
    assert said(skill) == []


@pytest.mark.parametrize(
    "command",
    ["3", "{a: b}", "[]", "[[a]]", "['']", '["a\\0b"]', '"a | b"', '"a; b"', '"a && b"', '"a > b"', '"a \'b"'],
)
def test_a_tool_whose_command_is_no_list_of_words_is_left_out(command: str) -> None:
    skill = parse(f"{{name: go, command: {command}}}")
    assert skill.provided_tools == ()  # and no file of its name takes the place
    assert said(skill) == [("wrong-type", 4)]


def test_an_execution_that_is_not_known_leaves_the_tool_out() -> None:
    skill = parse("{name: go, execution: java}")
    assert skill.provided_tools == ()
    assert said(skill) == [("wrong-type", 4)]


def test_an_unknown_key_of_a_tool_is_said() -> None:
    skill = parse("{name: go, title: Go, run: x}")
    assert skill.provided_tools == (ToolDefinition("go"),)
    assert said(skill) == [("unknown-field", 4)]
    assert "'run'" in skill.diagnostics[0].message
