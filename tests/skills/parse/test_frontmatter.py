"""Where the frontmatter begins and ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import MissingFrontmatter
from clawft.skills.parse.text import split_frontmatter


@pytest.mark.parametrize(
    ("text", "yaml", "body"),
    [
        ("---\na: b\n---\nBody", "a: b\n", "Body"),
        ("---\na: b\n---", "a: b\n", ""),
        ("---\n---\nBody", "", "Body"),
        ("---  \na: b\n---\t\nBody", "a: b\n", "Body"),
        ("\n\n---\na: b\n---\nBody", "a: b\n", "Body"),
        ("---\na: b\n----\n---x\n ---\n---\nBody", "a: b\n----\n---x\n ---\n", "Body"),
        ("---\na: b\n---\nUp\n---\nDown", "a: b\n", "Up\n---\nDown"),
    ],
)
def test_frontmatter_ends_at_the_next_line_of_three_dashes(text: str, yaml: str, body: str) -> None:
    front = split_frontmatter(text, "p", "a")
    assert front is not None
    assert (front.yaml, text[front.body_start :]) == (yaml, body)
    assert text[front.yaml_start :].startswith(yaml)


@pytest.mark.parametrize("text", ["", "text", "----\na: b\n---\n", "--\na\n--\n", " ---\na\n---\n", "x\n---\na\n---\n"])
def test_anything_else_has_no_frontmatter(text: str) -> None:
    assert split_frontmatter(text, "p", "a") is None


def test_blank_lines_before_it_are_counted() -> None:
    front = split_frontmatter("\n \n---\na: b\n---\n", "p", "a")
    assert front is not None
    assert front.start == 3


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("---\nname: a\ndescription: d\n\n# Title\n", 1, "most likely after line 3"),
        ("\n\n---\nname: a\n\nText\n", 3, "most likely after line 4"),
        ("---\nname: a\n# Title\n", 1, "most likely after line 2"),
        ("---\n\nText", 1, "End it with a line '---'"),
    ],
)
def test_frontmatter_without_end_is_an_error_that_guesses_the_end(text: str, line: int, hint: str) -> None:
    with pytest.raises(MissingFrontmatter, match="skill/a") as caught:
        split_frontmatter(text, "p", "skill/a")
    assert caught.value.diagnostic.where == f"p:{line}"
    assert caught.value.hint.endswith(hint)


_LINES = st.lists(
    st.text(alphabet=st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=20), max_size=6
)


@given(_LINES, st.text(max_size=60))
def test_what_was_joined_is_split_again(lines: list[str], body: str) -> None:
    yaml = "".join(f"{line}.\n" for line in lines)
    front = split_frontmatter(f"---\n{yaml}---\n{body}", "p", "a")
    assert front is not None
    text = f"---\n{yaml}---\n{body}"
    assert (front.yaml, front.start, front.yaml_start) == (yaml, 0, 4)
    assert text[front.body_start :].strip() == body.strip()


@given(st.text(alphabet=st.sampled_from("-\n \tab:"), max_size=40))
def test_the_parts_of_any_text_lie_in_order(text: str) -> None:
    try:
        front = split_frontmatter(text, "p", "a")
    except MissingFrontmatter as error:
        front, line = None, error.diagnostic.line
    else:
        line = 1
    assert 1 <= line <= text.count("\n") + 1
    if front is not None:
        assert 0 <= front.start < front.yaml_start <= front.body_start <= len(text)
        assert text[front.start :].startswith("---")
