"""The first paragraph of a body, and how much of it fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.skills.parse.text import first_paragraph, truncate_utf8


@pytest.mark.parametrize(
    ("body", "paragraph"),
    [
        ("", ""),
        ("One line.", "One line."),
        ("One\ntwo\n\nthree", "One two"),
        ("# Title\n\nText.", "Text."),
        ("# Title\nText.", "Text."),
        ("Text\n# Title", "Text"),
        ("# Only a title", "Only a title"),
        ("## \n# Second", "Second"),
        ("![badge](x)\n\n[![b](c)](d)\n\nText.", "Text."),
        ("<!-- hidden -->\nText.", "Text."),
        ("---\n\nText.", "Text."),
        ("***\n\nText.", "Text."),
        ("| a | b |\n|---|---|\n\nText.", "Text."),
        ("```\ncode\n```\n\nText.", "Text."),
        ("```\ncode", ""),
        ("~~~\ncode\n~~~\nText.", "Text."),
        ("Text\n```\ncode\n```", "Text"),
        ("   indented   \n  more  ", "indented more"),
        ("Title\n=====\n\nText", "Title"),
    ],
)
def test_first_paragraph_is_the_first_prose(body: str, paragraph: str) -> None:
    assert first_paragraph(body) == paragraph


@given(st.text())
def test_first_paragraph_is_one_trimmed_line_of_at_most_200(body: str) -> None:
    paragraph = first_paragraph(body)
    assert len(paragraph) <= 200
    assert "\n" not in paragraph
    assert paragraph == paragraph.strip()


def test_paragraph_far_down_is_not_looked_for() -> None:
    assert first_paragraph("\n" * 500_000 + "Text") == ""


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.integers(0, 300))
def test_cut_text_fits_and_is_the_longest_start_that_does(text: str, limit: int) -> None:
    cut = truncate_utf8(text, limit)
    assert text.startswith(cut)
    assert len(cut.encode()) <= limit
    if cut != text:
        assert len(text[: len(cut) + 1].encode()) > limit


@pytest.mark.parametrize(
    ("limit", "cut"), [(0, ""), (1, "a"), (2, "a"), (3, "aé"), (6, "aé"), (7, "aé🎉"), (100, "aé🎉")]
)
def test_text_is_cut_between_characters(limit: int, cut: str) -> None:
    assert truncate_utf8("aé🎉", limit) == cut
