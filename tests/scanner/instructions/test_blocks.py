"""Markdown in parts: slices of the text, each in its place, with the headings above."""

from hypothesis import given
from hypothesis import strategies as st

from clawft.scanner.instructions import split_markdown
from clawft.scanner.instructions.index import PhraseSearch
from clawft.scanner.instructions.sentences import find_offset, split_sentences

TEXT = """---
name: x
---
# Title

Intro text
over two lines.

## Setup

- one
- two

```bash
echo hi
```

| a | b |
|---|---|

> quoted

    indented code

Under
-----
last <!-- a comment --> words
"""


def test_a_text_is_cut_into_its_parts() -> None:
    parts = [(part.kind, TEXT[part.start : part.end].strip()) for part in split_markdown(TEXT)]
    assert parts == [
        ("frontmatter", "name: x"),
        ("heading", "# Title"),
        ("prose", "Intro text\nover two lines."),
        ("heading", "## Setup"),
        ("prose", "- one\n- two"),
        ("code", "echo hi"),
        ("table", "| a | b |\n|---|---|"),
        ("quote", "> quoted"),
        ("code", "indented code"),
        ("heading", "-----"),
        ("prose", "last"),
        ("comment", "a comment"),
        ("prose", "words"),
    ]


def test_a_part_knows_its_headings_but_for_the_title() -> None:
    parts = split_markdown(TEXT)
    assert [part.headings for part in parts if part.kind in ("code", "comment")] == [("Setup",), ("Setup",), ("Under",)]


def test_code_knows_its_language_and_what_leads_to_it() -> None:
    [code] = [part for part in split_markdown("Run this:\n\n```sh -x\nls\n```\n") if part.kind == "code"]
    assert (code.info, code.lead) == ("sh -x", "Run this:")


def test_a_fence_that_never_ends_goes_to_the_end() -> None:
    [part] = split_markdown("~~~\na\n\nb")
    assert (part.kind, part.end) == ("code", 8)


def test_a_comment_that_never_ends_is_read_as_prose() -> None:
    assert {part.kind for part in split_markdown("a <!-- b\n\nc")} == {"prose"}


@given(st.text(alphabet="ab \n#`~->|*.!<:[]()1_\t", max_size=200))
def test_parts_are_in_order_and_lose_no_letter(text: str) -> None:
    at = 0
    kept = []
    for part in split_markdown(text):
        assert at <= part.start <= part.end <= len(text)
        kept.append(text[part.start : part.end])
        at = part.end
    assert sum(piece.count("a") for piece in kept) >= text.count("a") - sum(
        part.info.count("a") for part in split_markdown(text)
    )


@given(st.text(max_size=300))
def test_sentences_stand_where_they_say(text: str) -> None:
    for sentence in split_sentences(text, 0, PhraseSearch(text)):
        raw = text[sentence.start : sentence.end]
        assert raw.strip()
        assert 0 <= find_offset(raw, sentence.text, len(sentence.text)) <= len(raw)
