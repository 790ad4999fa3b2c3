"""Places where a client would run a command, and the look-alikes that are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.skills.render.prompt import DynamicPlace, find_dynamic
from effort import within


def test_line_that_starts_with_an_exclamation_mark_is_a_command() -> None:
    template = "# Context\n\n!gh pr view $ARGUMENTS --json title\n\nEnd"
    (found,) = find_dynamic(template)
    assert (found.line, found.command) == (3, "gh pr view $ARGUMENTS --json title")
    assert template[found.start : found.end] == "!gh pr view $ARGUMENTS --json title"


def test_inline_command_in_backticks_is_found_after_space_and_at_the_start() -> None:
    template = "Branch: !`git branch` and !`date`\n!`pwd` here"
    assert [(found.line, found.command) for found in find_dynamic(template)] == [
        (1, "git branch"),
        (1, "date"),
        (2, "pwd"),
    ]
    assert [template[found.start : found.end] for found in find_dynamic(template)] == [
        "!`git branch`",
        "!`date`",
        "!`pwd`",
    ]


def test_fence_marked_with_an_exclamation_mark_is_one_command_of_many_lines() -> None:
    template = "Before\n```!\ngit status\ngit log\n```\nAfter"
    (found,) = find_dynamic(template)
    assert found == DynamicPlace(7, 34, 2, "git status\ngit log")
    assert template[found.start : found.end].startswith("```!")


@pytest.mark.parametrize(
    "template",
    [
        "![a picture](x.png)",
        "!",
        "! spaced out",
        "!= is not equal",
        "!!important",
        "  !indented",
        "Stop!now",
        "Wow! `code` here",
        "word!`not this`",
        "!`",
        "!``",
        "```\n!ls\n```",
        "```bash\n!`ls`\necho !x\n```",
        "~~~\n!ls\n~~~",
        "````\n```\n!ls\n```\n````",
        "```\n!ls",
        "no mark at all",
        "",
    ],
)
def test_look_alike_is_no_command(template: str) -> None:
    assert find_dynamic(template) == ()


def test_command_after_a_closed_fence_is_found() -> None:
    (found,) = find_dynamic("```\n!no\n```\n!yes")
    assert (found.line, found.command) == (4, "yes")


def test_fence_is_closed_only_by_its_own_kind() -> None:
    assert find_dynamic("```\n~~~\n!no\n```\n!yes")[0].command == "yes"


@given(st.text(alphabet=st.sampled_from("!`~ \nab["), max_size=60))
def test_places_are_in_order_and_apart_and_within_the_text(template: str) -> None:
    position = 0
    for found in find_dynamic(template):
        assert position <= found.start < found.end <= len(template)
        assert "!" in template[found.start : found.end]
        assert found.line == template.count("\n", 0, found.start) + 1
        position = found.end


@pytest.mark.parametrize(
    "template",
    ["!`" * 500_000, " !`a" * 200_000, "```!\n" * 100_000, "!a\n" * 100_000, "`" * 500_000 + "!", "!" * 500_000],
    ids=lambda template: f"{template[:6]!r}",
)
@pytest.mark.unmeasured
def test_hostile_template_takes_bounded_time(template: str) -> None:
    with within(5):
        find_dynamic(template)
