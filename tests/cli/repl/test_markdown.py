"""Markdown on the terminal while it streams; golden cases in tests/golden/markdown (`\\e` is the escape character)."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from clawft.cli.repl.markdown import MarkdownStream
from effort import within

GOLDEN = Path(__file__).parents[2] / "golden" / "markdown"
WIDTHS = {"wide": 100, "narrow": 40, "plain": 40, "colour": 80}
STYLE = re.compile("\x1b\\[[0-9;]*m")
PARTS = st.one_of(
    st.just("word"),
    st.sampled_from("\n \t>-*+#|`_~[]()<>!&\\\"'=:\r\x1b\x07\u202e日👍"),
    st.sampled_from(["\n\n", "    ", "  - ", "> ", "1. ", "7) ", "## ", "```", "```py\n", "~~~", "|-|-|", "\n|-|\n"]),
    st.sampled_from(["](http://", "![", "**", "<br>", "<b>", "<!--", "&#27;", "&#x202e;", "---", "===", "\r\n", "/*"]),
)


def render(source: str, width: int = 80, *, colour: bool = False, plain: bool = False) -> str:
    stream = MarkdownStream(width, colour=colour, plain=plain)
    return stream.feed(source) + stream.flush()


def numbered(parts: list[str]) -> str:
    """A source in which every word is another one."""
    return "".join(f"w{number}w" if part == "word" else part for number, part in enumerate(parts))


def words(text: str) -> list[str]:
    return re.findall(r"w\d+w", text)


@pytest.mark.parametrize("case", sorted(path.name for path in GOLDEN.iterdir()))
@pytest.mark.parametrize("view", WIDTHS)
def test_golden_case(case: str, view: str) -> None:
    source = (GOLDEN / case / "source.md").read_text(encoding="utf-8")
    shown = render(source, WIDTHS[view], colour=view in ("colour", "plain"), plain=view == "plain")
    assert shown.replace("\x1b", "\\e") == (GOLDEN / case / f"{view}.txt").read_text(encoding="utf-8")


@given(st.lists(PARTS, max_size=60), st.lists(st.integers(0, 200), max_size=12), st.sampled_from([20, 40, 100]))
def test_text_does_not_depend_on_how_the_source_was_cut(parts: list[str], cuts: list[int], width: int) -> None:
    source = numbered(parts)
    stream = MarkdownStream(width, colour=True)
    places = [0, *sorted(min(cut, len(source)) for cut in cuts), len(source)]
    shown = [stream.feed(source[start:end]) for start, end in pairwise(places)]
    assert "".join(shown) + stream.flush() == render(source, width, colour=True)


@given(st.lists(PARTS, max_size=60), st.sampled_from([20, 40, 100]))
def test_no_word_is_lost_or_said_twice(parts: list[str], width: int) -> None:
    source = numbered([part for part in parts if "|" not in part])
    assert words(render(source, width)) == words(source)
    assert words(render(source, width, plain=True)) == words(source)


@given(st.lists(PARTS, max_size=60), st.sampled_from([20, 40, 100]))
def test_no_word_of_a_table_is_lost(parts: list[str], width: int) -> None:
    source = numbered(parts)
    assert set(words(render(source, width))) == set(words(source))
    assert set(words(render(source, width, plain=True))) == set(words(source))


@given(st.lists(PARTS, max_size=60))
def test_colour_adds_nothing_but_styles(parts: list[str]) -> None:
    source = numbered(parts)
    coloured = render(source, colour=True)
    assert STYLE.sub("", coloured) == render(source)
    assert all(line.endswith("\x1b[0m") or "\x1b" not in line.rpartition("\x1b[0m")[2] for line in coloured.split("\n"))


@given(st.lists(PARTS, max_size=60), st.booleans())
def test_nothing_that_a_terminal_acts_on_comes_through(parts: list[str], plain: bool) -> None:
    shown = STYLE.sub("", render(numbered(parts), colour=True, plain=plain))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", shown)


@given(st.lists(PARTS, max_size=60))
def test_plain_text_has_no_drawing_and_no_styles(parts: list[str]) -> None:
    assert not re.search("[│─┼•◦▪\x1b]", render(numbered(parts), colour=True, plain=True))


@given(st.lists(st.sampled_from(["some", "words", "**bold**", "`code`", "日本語", "👨‍👩‍👧", "\n"]), max_size=60))
def test_prose_in_lists_and_quotes_fits_the_width(parts: list[str]) -> None:
    for mark in ("", "- ", "> ", "1. "):
        assert all(cell_len(line) <= 30 for line in render(mark + " ".join(parts), 30).split("\n"))


def test_a_block_is_printed_when_it_is_complete() -> None:
    stream = MarkdownStream(80, colour=False)
    assert stream.feed("# Title") == ""
    assert stream.feed("\nSome te") == "Title\n"
    assert stream.feed("xt\nmore") == ""
    assert stream.pending == "Some text\nmore"
    assert stream.feed("\n\n") == "\nSome text\nmore\n"
    assert stream.pending == ""
    assert stream.flush() == ""


def test_code_is_printed_line_by_line() -> None:
    stream = MarkdownStream(80, colour=False)
    assert stream.feed("```python\n") == "python:\n"
    assert stream.feed("a = 1\n\nb =") == "  a = 1\n\n"
    assert stream.pending == "b ="
    assert stream.feed(" 2\n```\n") == "  b = 2\n"


def test_a_list_is_printed_item_by_item_with_the_code_inside_it() -> None:
    stream = MarkdownStream(80, colour=False)
    assert stream.feed("- one\n- two\n") == "• one\n"
    assert stream.feed("  ```\n") == "• two\n"
    assert stream.feed("  code\n") == "    code\n"
    assert stream.feed("  ```\n  - in") == ""
    assert stream.flush() == "  ◦ in\n"


def test_code_in_an_item_goes_on_where_it_is_not_indented() -> None:
    assert (
        render("1. run\n   ```sh\ncd x\n\n  ls\n   ```\n2. done") == "1. run\n   sh:\n     cd x\n\n       ls\n2. done\n"
    )
    assert render("> ```\n> x\ny") == "│   x\n\ny\n"


def test_what_comes_after_a_flush_is_a_text_of_its_own() -> None:
    stream = MarkdownStream(80, colour=False)
    assert stream.feed("```\ncode") + stream.flush() == "  code\n"
    assert stream.feed("# Next") + stream.flush() == "Next\n"


def test_line_ends_of_every_system_are_line_ends() -> None:
    stream = MarkdownStream(80, colour=False)
    assert stream.feed("# a\r") == ""
    assert stream.feed("\nb\r") == "a\n"
    assert stream.feed("\r\nc") == "\nb\n"
    assert stream.flush() == "\nc\n"


def test_width_may_change_between_blocks() -> None:
    stream = MarkdownStream(80, colour=False)
    assert stream.feed("one two three\n\n") == "one two three\n"
    stream.width = 12
    assert stream.feed("one two three\n\n") == "\none two\nthree\n"


def test_code_keeps_long_lines_and_tabs() -> None:
    line = "\tx = " + "1 + " * 100
    assert render(f"```make\n{line}\n```", 40) == f"make:\n  {line}\n"


def test_strings_and_comments_of_many_lines_keep_their_colour() -> None:
    shown = render('```python\n"""for\nif\n"""\nif x:\n```\n```js\n/* for\nif */ if (x)\n```\n', colour=True).split(
        "\n"
    )
    assert shown[1:5] == [
        '  \x1b[32m"""for\x1b[0m',
        "  \x1b[32mif\x1b[0m",
        '  \x1b[32m"""\x1b[0m',
        "  \x1b[35mif\x1b[0m x:",
    ]
    assert shown[7:9] == ["  \x1b[2m/* for\x1b[0m", "  \x1b[2mif */\x1b[0m \x1b[35mif\x1b[0m (x)"]


def test_code_is_said_once_whatever_its_lexer_does() -> None:
    source = "x = <<EOF /*\na */\n/* b\n"  # of an open heredoc, HCL's lexer says what follows twice
    assert STYLE.sub("", render(f"```hcl\n{source}```", colour=True)) == "hcl:\n  x = <<EOF /*\n  a */\n  /* b\n"


@pytest.mark.parametrize("info", ["no-such-language", "{.python}", "ts{1,3}", "a b c"])
def test_label_of_code_is_shown_as_written(info: str) -> None:
    assert render(f"~~~ {info}\nx\n~~~") == f"{info}:\n  x\n"
    assert render(f"~~~ {info}\nx\n~~~", plain=True) == f"code ({info}):\n  x\n"


def test_filled_lines_are_filled_anew_and_others_stay() -> None:
    filled = (
        "A paragraph that somebody wrote in an editor which fills its lines to\n"
        "some width reads badly when each line is cut again, so it is filled\n"
        "anew."
    )
    assert render(filled, 200) == filled.replace("\n", " ") + "\n"
    for source in (
        "Roses are red,\nviolets are blue",
        f"**Name:** {'x ' * 40}x\n**Place:** {'y ' * 40}y",
        f"{'x ' * 40}x\\\nstays on a line of its own",
        f"{'x ' * 40} \nstays on a line of its own",
    ):
        assert render(source, 200).count("\n") == 2


def test_links_say_where_they_lead() -> None:
    assert render("[here](http://a.b) <http://c.d> ![pic](e.png)") == "here (http://a.b) http://c.d pic (e.png)\n"
    assert render("[http://good.example](http://bad.example)") == "http://good.example (http://bad.example)\n"
    assert render("[me]: http://a.b 'title'") == "[me]: http://a.b 'title'\n"


def test_struck_text_does_not_read_as_said() -> None:
    assert render("It is ~~not~~ safe", colour=True) == "It is ~~not~~ safe\n"


def test_escapes_hidden_in_entities_do_not_reach_the_terminal() -> None:
    assert render("a&#27;[31m&#x202e;b \x1b]0;title\x07", colour=True) == "a\ufffd[31m<U+202E>b \ufffd]0;title\ufffd\n"


def test_table_fits_or_becomes_key_value_lines() -> None:
    source = "| Name | What it does |\n|---|--:|\n| alpha | counts the words of a text |\n| beta | 日本語 |\n"
    assert all(cell_len(line) <= 30 for line in render(source, 30).split("\n"))
    assert render(source, 15).startswith("Name: alpha\nWhat it does:\ncounts the\nwords of a text\n\nName: beta\n")
    assert render("| only | heads |\n|---|---|", plain=True) == "only\nheads\n"


def test_table_columns_line_up_with_wide_characters() -> None:
    shown = render("| a | b | c |\n|:-:|--:|---|\n| 日本語 | x | y |\n| 1 | 👨‍👩‍👧 | |", 40).split("\n")
    assert shown[:4] == ["  a    │  b │ c", "───────┼────┼──", "日本語 │  x │ y", "  1    │ 👨‍👩‍👧 │"]


def test_numbers_are_as_written_and_repeated_ones_count() -> None:
    assert render("1. a\n1. b\n1. c") == "1. a\n2. b\n3. c\n"
    assert render("3. a\n7. b") == "3. a\n7. b\n"


def test_empty_items_and_quotes_are_shown() -> None:
    assert render("-\n\n>\n- ```\n  x") == "•\n\n│\n•\n    x\n"


@pytest.mark.parametrize(
    "source",
    [
        "x" * 1_000_000,
        "a b\n" * 40_000,
        "```py\n" + "'" * 1_000_000 + "\n```",
        ">" * 100_000,
        ">" * 60_000 + "\n" + ">" * 60_000,
        "- " * 100_000,
        "- " * 30_000 + "\n" + " " * 60_000 + "x",
        "".join("  " * depth + "- a\n" for depth in range(400)),
        "[" * 100_000,
        "[" * 16_000 + "\n\n" + "![" * 8_000,
        "*a **a _a " * 1_600,
        "|" + "a|" * 10_000 + "\n|" + "-|" * 10_000 + "\n" + "|\n" * 10_000,
        "|a|b|\n|-|-|\n" + "| some words | more |\n" * 6_000,
        "# a" + " " * 60_000 + "b",
        "-\n" * 30_000,
        "```\n" * 50_000,
    ],
    ids=lambda source: source[:8],
)
@pytest.mark.unmeasured
def test_hostile_text_takes_no_long_time(source: str) -> None:
    with within(10):
        assert render(source, colour=True)


def test_line_too_long_to_wait_for_is_passed_on_as_it_comes() -> None:
    stream = MarkdownStream(80, colour=False)
    assert stream.feed("- item\n\n" + "x" * 70_000) == "• item\n\n" + "x" * 70_000
    assert stream.pending == ""
    assert stream.feed("y *z*\n# T\n") == "y *z*\n\nT\n"
    assert stream.feed("```\n" + "x" * 70_000) == "\n  " + "x" * 70_000
    assert stream.feed("y\n```\nz") + stream.flush() == "y\n\nz\n"


def test_long_answer_in_small_pieces_is_fast() -> None:
    source = "".join((GOLDEN / case / "source.md").read_text(encoding="utf-8") for case in ("answer", "edges"))
    source = (source * 60)[:100_000]
    stream = MarkdownStream(80, colour=True)
    stream.feed(source[:3_000])  # imports
    with within(2):  # a quarter of a second where nothing measures coverage
        for start in range(0, len(source), 20):
            stream.feed(source[start : start + 20])
        stream.flush()


def test_importing_it_loads_no_parser() -> None:
    loaded = "print([n for n in ('markdown_it', 'pygments', 'rich') if n in sys.modules])"
    code = f"import sys, clawft.cli.repl.markdown; {loaded}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
