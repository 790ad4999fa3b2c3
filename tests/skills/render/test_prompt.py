"""The prompt of a skill, from its text and its arguments; golden cases in tests/golden/render."""

from pathlib import Path

import pytest

from clawft.skills.parse.model import Skill
from clawft.skills.parse.skill import parse_skill_md
from clawft.skills.render.prompt import render_skill
from clawft.skills.render.template import PromptArguments, TemplateVariables, split_arguments

GOLDEN = Path(__file__).parents[2] / "golden" / "render"
FIXED = TemplateVariables(session_id="session-1", skill_dir="/skills/golden", project_dir="/project")


@pytest.mark.parametrize("case", sorted(folder.name for folder in GOLDEN.iterdir()))
def test_golden_case(case: str) -> None:
    folder = GOLDEN / case
    skill = parse_skill_md((folder / "SKILL.md").read_text("utf-8"), case)
    arguments = split_arguments((folder / "args.txt").read_text("utf-8").removesuffix("\n"))
    rendered = render_skill(skill, arguments, FIXED)
    assert rendered.text == (folder / "expected.txt").read_text("utf-8").removesuffix("\n")


def test_named_arguments_come_from_the_skill() -> None:
    skill = Skill(name="a", prompt="From $source to {{target}}", arguments=("source", "target"))
    assert render_skill(skill, split_arguments("x y"), FIXED).text == "From x to y"


def test_variables_of_the_skill_serve_as_names_where_it_has_no_arguments() -> None:
    skill = Skill(name="a", prompt="About ${topic}", variables=("topic",))
    assert render_skill(skill, split_arguments("bees"), FIXED).text == "About bees"


def test_command_is_left_as_text_and_said_with_its_line() -> None:
    skill = Skill(name="a", prompt="Status of $ARGUMENTS\n\n!gh pr view $ARGUMENTS\n")
    rendered = render_skill(skill, split_arguments("12; rm -rf /"), FIXED, "a/SKILL.md")
    assert rendered.text == "Status of 12; rm -rf /\n\n!gh pr view $ARGUMENTS\n"
    (found,) = rendered.diagnostics
    assert (found.code, found.severity, found.line) == ("dynamic-context", "note", 3)
    assert found.where.startswith("a/SKILL.md:")


def test_argument_that_looks_like_a_command_is_not_taken_for_one() -> None:
    rendered = render_skill(Skill(name="a", prompt="Look:\n$ARGUMENTS"), PromptArguments("!rm -rf /", ("!rm",)), FIXED)
    assert rendered.text == "Look:\n!rm -rf /"
    assert rendered.diagnostics == ()


def test_arguments_are_appended_once_after_everything() -> None:
    rendered = render_skill(Skill(name="a", prompt="One\n!date\nTwo"), split_arguments("x"), FIXED)
    assert rendered.text == "One\n!date\nTwo\n\nARGUMENTS: x"


def test_placeholder_before_or_after_a_command_counts_for_the_whole() -> None:
    for prompt in ("$ARGUMENTS\n!date\nTwo", "One\n!date\n$ARGUMENTS"):
        assert "ARGUMENTS:" not in render_skill(Skill(name="a", prompt=prompt), split_arguments("x"), FIXED).text


def test_skill_without_a_body_gives_its_arguments_alone() -> None:
    assert render_skill(Skill(name="a"), split_arguments("x"), FIXED).text == "\n\nARGUMENTS: x"
    assert render_skill(Skill(name="a"), PromptArguments(), FIXED).text == ""


def test_files_that_a_text_mentions_are_said_with_what_a_turn_would_do() -> None:
    text = "Look at @src/main.py,\nwrite to me@example.com, @alice.\n!`ls` and @./x.md and @types/node."
    said = render_skill(
        Skill(name="c", format="command", prompt=text), PromptArguments(), TemplateVariables(), "p"
    ).diagnostics

    assert [(one.code, one.line, one.message.rpartition(": ")[2]) for one in said] == [
        ("dynamic-context", 1, "src/main.py"),
        ("dynamic-context", 3, "ls"),
        ("dynamic-context", 3, "./x.md"),
        ("dynamic-context", 3, "types/node"),
    ]
    assert "If there is such a file, a turn attaches it" in said[0].message
    in_skill = render_skill(Skill(name="s", prompt=text), PromptArguments(), TemplateVariables(), "p").diagnostics
    assert len(in_skill) == 3  # `@types/node` is the name of a package, in a skill


def test_number_in_a_command_is_filled_in_but_not_in_a_skill() -> None:
    arguments = PromptArguments("x", ("x",))
    command, skill = Skill(name="c", format="command", prompt="Do $1"), Skill(name="s", prompt="Do $1")

    assert render_skill(command, arguments, TemplateVariables()).text == "Do x"
    assert render_skill(skill, arguments, TemplateVariables()).text == "Do $1\n\nARGUMENTS: x"


def test_what_a_turn_would_do_with_a_command_is_said() -> None:
    prompt = "!git log ${0} {{x}} $1\n!`rm {baseDir}/x` and\n!echo $(id)\n```!\ngit log\ngit push\n```"
    skill = Skill(name="a", prompt=prompt, arguments=("x",))

    def said(*prefixes: str) -> list[str]:
        rendered = render_skill(skill, PromptArguments(), FIXED, "a/SKILL.md", prefixes)
        return [one.message for one in rendered.diagnostics]

    allowed, unlisted, odd, block = said("git log")
    assert allowed.startswith("A turn runs this command and puts its output in its place: git log")
    assert "refuses to run this command: 'rm' is not in skills.security.allowed_command_prefixes" in unlisted
    assert "refuses to run this command: command substitution" in odd
    assert "'git push' is not in" in block
    assert {"where its mode allows that, and else asks" in one for one in said()} == {True}
