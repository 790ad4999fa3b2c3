"""Values in a command are words: nothing in an argument is ever read by a shell."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import Refused
from clawft.skills.render.prompt import fill_command
from clawft.skills.render.shell import parse_line
from clawft.skills.render.template import PromptArguments, TemplateVariables, split_arguments

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
NASTY = st.text(st.sampled_from("'\"\\$`(){};|&<>\n \t!#*?[]~=-ab"), max_size=20)
# A template, and what stands before and after the argument in the word it becomes.
PLACES = [
    ("printf '%s\\0' $ARGUMENTS", "", ""),
    ("printf '%s\\0' \"$ARGUMENTS\"", "", ""),
    ("printf '%s\\0' '$ARGUMENTS'", "", ""),
    ("printf '%s\\0' --title=$ARGUMENTS", "--title=", ""),
    ("printf '%s\\0' a\"b $ARGUMENTS\"'c'", "ab ", "c"),
    ("printf '%s\\0' 'it is \"'$ARGUMENTS'\"'", 'it is "', '"'),
    ("printf '%s\\0' \\\\$ARGUMENTS", "\\", ""),
    ('printf \'%s\\0\' "\\"$ARGUMENTS\\""', '"', '"'),
    ("printf '%s\\0' ${ARG}$ARGUMENTS", "", ""),
]


def run(line: str) -> bytes:
    return subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True, timeout=60, env={}).stdout


@pytest.mark.parametrize(("template", "before", "after"), PLACES)
@given(text=st.one_of(TEXT, NASTY))
def test_any_argument_is_exactly_one_word(template: str, before: str, after: str, text: str) -> None:
    filled = fill_command(template, PromptArguments(text), TemplateVariables())
    assert run(filled.line) == f"{before}{text}{after}".encode() + b"\0"


@pytest.mark.parametrize(("template", "before", "after"), PLACES)
@given(text=st.one_of(TEXT, NASTY))
def test_the_judge_sees_the_same_words(template: str, before: str, after: str, text: str) -> None:
    filled = fill_command(template, PromptArguments(text), TemplateVariables())
    (command,) = parse_line(filled.judged).commands
    assert len(command.words) == 3
    seen = command.words[2].text
    assert len(seen) == len(before + text + after) + (6 if "ARG}" in template else 0)


@given(template=st.text(st.sampled_from("'\"\\$ARGUMENTS;|& \t#`(){}x"), max_size=30), text=NASTY)
def test_a_command_that_is_understood_has_the_same_commands_whatever_the_argument(template: str, text: str) -> None:
    known = TemplateVariables()
    plain, nasty = (
        fill_command(f"echo {template}$ARGUMENTS x", PromptArguments(one), known) for one in ("plain", text)
    )
    try:
        expected = parse_line(plain.judged)
        found = parse_line(nasty.judged)
    except Refused:
        return  # it never runs
    assert found.operators == expected.operators
    assert [len(one.words) for one in found.commands] == [len(one.words) for one in expected.commands]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("git log ${0} $ARGUMENTS[1]", "git log 'a b' 'c'"),
        ("git log $1", "git log $1"),  # in a skill a bare $N is the shell's
        ("gh pr view $number {{title}}", "gh pr view 'a b' 'c'"),
        ("sh ${CLAUDE_SKILL_DIR}/go.sh {baseDir}/x", "sh '/skills/a skill'/go.sh '/skills/a skill'/x"),
        ("echo \\$ARGUMENTS '\\$ARGUMENTS'", "echo \\$ARGUMENTS '\\$ARGUMENTS'"),
        ("echo \\\\\\$ARGUMENTS", "echo \\\\\\$ARGUMENTS"),
        ("echo $HOME {x}", "echo $HOME {x}"),
        ("echo $ARGUMENTS[7]", "echo ''"),
    ],
)
def test_every_token_is_filled_in_as_a_word(command: str, line: str) -> None:
    known = TemplateVariables("s", "/skills/a skill", "/project", ("number", "title"))
    assert fill_command(command, split_arguments("'a b' c"), known).line == line


def test_a_number_is_an_argument_in_a_command_of_claude() -> None:
    filled = fill_command("git show $1", split_arguments("'x;y'"), TemplateVariables(numbered=True))
    assert filled.line == "git show 'x;y'"


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_no_command_can_be_given_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="no command can be given"):
        fill_command("echo $ARGUMENTS", PromptArguments(text), TemplateVariables())


def test_a_line_break_in_an_argument_is_judged_as_a_blank_and_kept_for_the_program() -> None:
    filled = fill_command("echo $ARGUMENTS", PromptArguments("a\nrm -rf /"), TemplateVariables())
    assert filled.line == "echo 'a\nrm -rf /'"
    assert filled.judged == "echo 'a rm -rf /'"
