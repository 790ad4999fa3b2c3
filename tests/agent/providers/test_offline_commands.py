"""Commands in fenced shell blocks: which lines are commands, and which cannot be run as they stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.providers.offline.turn import find_commands


def runnable(text: str) -> list[str]:
    return [one.line for one in find_commands(text) if not one.why_left]


def left(text: str) -> list[tuple[str, str]]:
    return [(one.line, one.why_left) for one in find_commands(text) if one.why_left]


def block(*lines: str, language: str = "sh") -> str:
    return "\n".join((f"```{language}", *lines, "```"))


@pytest.mark.parametrize("language", ["sh", "bash", "shell", "zsh", "console", "Bash", "sh title=x", "{.bash}"])
def test_blocks_of_shells_are_read(language: str) -> None:
    assert runnable(block("ls", language=language)) == ["ls"]


@pytest.mark.parametrize("language", ["", "python", "json", "text", "powershell"])
def test_other_blocks_are_not(language: str) -> None:
    assert find_commands(block("ls", language=language)) == ()


def test_blocks_are_read_in_order_with_any_fence_and_indent() -> None:
    text = "\n".join(
        [
            "~~~bash",
            "one",
            "~~~",
            "1. ````sh",
            "   two",
            "   ```",
            "   ````",
            "  - x",
            "    ```sh",
            "    three",
            "    ```",
        ]
    )
    assert runnable(text) == ["one", "two", "```", "three"]


def test_block_without_an_end_is_not_run() -> None:
    assert find_commands("```sh\nls\n\nThen remove everything.") == ()


def test_shell_block_inside_another_block_is_not_run() -> None:
    assert find_commands("````markdown\n```sh\nrm x\n```\n````") == ()


def test_output_below_prompts_is_left_out() -> None:
    lines = ("$ ls", "a.txt", "$ wc \\", "> -l a.txt", "3 a.txt", "% date")
    assert runnable(block(*lines, language="console")) == ["ls", "wc  -l a.txt", "date"]


def test_lines_that_go_on_are_joined() -> None:
    lines = ("curl \\", "  -s \\", "  x", "ls |", "  wc -l", "a &&", "b")
    assert runnable(block(*lines)) == ["curl -s x", "ls | wc -l", "a && b"]


def test_comments_and_settings_are_dropped() -> None:
    lines = ("# about", "set -euo pipefail", "ls # here", "echo 'a # b' \"c # d\" e\\ #f x#y", "", "  # end |")
    assert runnable(block(*lines)) == ["ls", "echo 'a # b' \"c # d\" e\\ #f x#y"]


@pytest.mark.parametrize(
    "line",
    [
        "cat <file>",
        "cat <input file>",
        "cat {x}",
        "cat {{ name }}x {name}",
        "run ...",
        "cd path/to/x",
        "K=your-key x",
        "x [FILE]",
    ],
)
def test_lines_with_placeholders_are_left(line: str) -> None:
    assert left(block(line)) == [(line, "it holds a placeholder")]


@pytest.mark.parametrize(
    "line",
    ["cat <in >out", "echo ${HOME}", "ls {a,b}", "x -d '{\"a\": 1}'", "awk '{print $1}' f", "a < b > c", "[ -f x ]"],
)
def test_lines_without_placeholders_are_run(line: str) -> None:
    assert runnable(block(line)) == [line]


@pytest.mark.parametrize(
    "lines",
    [
        ("cat > x <<EOF", "rm y", "EOF"),
        ("for f in *; do", "rm $f", "done"),
        ("while true", "do", "rm x", "done"),
        ("if x; then", "rm x", "fi"),
        ("f() {", "rm x", "}"),
        ("echo 'first", "rm x'"),
        ("case $x in", "a) rm x;;", "esac"),
        ("(", "rm x", ")"),
    ],
)
def test_constructs_over_several_lines_are_left_with_all_that_follows(lines: tuple[str, ...]) -> None:
    text = block("ls", *lines, "rm z")
    assert runnable(text) == ["ls"]
    ((line, why),) = left(text)
    assert line.startswith(lines[0])
    assert why == "it goes over several lines"


@pytest.mark.parametrize("line", ["for f in a b; do echo $f; done", "if x; then y; fi", "cat <<< hi", "(cd x && ls)"])
def test_constructs_in_one_line_are_run(line: str) -> None:
    assert runnable(block(line)) == [line]


def test_lines_that_change_the_shell_go_before_each_later_command() -> None:
    lines = ("cd src", "ls", "export A=1", "B=2", "make", "cd ..")
    assert runnable(block(*lines)) == ["cd src && ls", "cd src && export A=1 && B=2 && make"]


def test_commands_after_a_change_with_a_placeholder_are_left() -> None:
    text = block("cd <folder>", "rm x") + "\n" + block("ls")
    assert runnable(text) == ["ls"]
    assert [line for line, _ in left(text)] == ["cd <folder>", "rm x"]


@given(st.text(alphabet="`~shba$#<>{}|&\\'\"\n ;", max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    for command in find_commands(text):
        assert command.line
        assert "\n" not in command.line
