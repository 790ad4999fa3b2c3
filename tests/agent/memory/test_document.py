"""MEMORY.md: what a person wrote keeps its bytes, whatever is stored, appended or deleted beside it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawft.agent.memory.document import (
    MemoryEntry,
    MemoryNote,
    delete_entry,
    find_entry,
    parse_entries,
    parse_notes,
    render_entry,
    store_entry,
)

# Lines that could be mistaken for structure, in any order.
LINES = st.sampled_from([
    "", " ", "text", "## a", "## b", "##  c  ", "## ", "##", "# Home", "#", "#\tTab", "### sub", "```", "```sh",
    "````", "~~~", "``` a`b", "# build", "\\# x", "\\\\## y", "\\## a", "- tea", '<!-- clawft: {"a":1} -->',
    "<!-- clawft: broken -->", "\\<!-- clawft: {} -->", "<!-- comment -->", "  ## indented", "\r", "## a\r",
])  # fmt: skip
DOCUMENTS = st.lists(LINES, max_size=14).map("\n".join)
VALUES = st.lists(LINES, max_size=6).map(lambda lines: "\n".join(lines).replace("\r", "").strip())
KEYS = st.sampled_from(["a", "b", "c", "new key", "# odd", "`"])
METADATA = st.sampled_from([None, {"at": "-->", "n": 1}, {"text": "line\nbreak \u2028 ü"}])
ENTRIES = st.builds(MemoryEntry, KEYS, VALUES, METADATA)


def others(text: str, key: str) -> dict[str, MemoryEntry]:
    return {entry.key: entry for entry in parse_entries(text) if entry.key != key}


def own_text(text: str) -> str:
    """What belongs to no entry, byte for byte; without headings that have no key, which may come in between."""
    for entry in parse_entries(text):
        text = delete_entry(text, entry.key)
    return "\n".join(line for line in text.split("\n") if line.strip() != "##")


def notes(text: str) -> list[str]:
    return [note.text for note in parse_notes(text)]


@given(st.lists(ENTRIES, unique_by=lambda entry: entry.key))
def test_what_is_rendered_is_parsed_again(entries: list[MemoryEntry]) -> None:
    text = "\n".join(map(render_entry, entries))
    assert parse_entries(text) == tuple(entries)


@given(DOCUMENTS, ENTRIES)
@example("## b\n```\n## a\nold\n# Home\n```\n", MemoryEntry("a", "```"))
@example("## a\nold\n# Home\n```\n# Work", MemoryEntry("a", "```"))
def test_storing_changes_one_entry_and_nothing_else(text: str, entry: MemoryEntry) -> None:
    stored = store_entry(text, entry)

    assert find_entry(stored, entry.key) == entry
    assert others(stored, entry.key) == others(text, entry.key)
    assert list(others(stored, entry.key)) == list(others(text, entry.key))
    assert notes(stored) == notes(text)
    assert own_text(stored).startswith(own_text(text))  # at the end a line break may be added
    if find_entry(text, entry.key) is None:
        assert stored.startswith(text)


@given(DOCUMENTS, KEYS)
@example("## b\n```\n## a\nold\n# Home\n```\n", "a")
@example("## b\n```\n## a\nold\n# Home\n```\n# Work\nx", "a")
def test_deleting_takes_one_entry_and_nothing_else(text: str, key: str) -> None:
    left = delete_entry(text, key)

    assert find_entry(left, key) is None
    assert others(left, key) == others(text, key)
    assert notes(left) == notes(text)
    assert own_text(left) == own_text(text)
    if find_entry(text, key) is None:
        assert left == text


@given(DOCUMENTS, st.lists(st.tuples(ENTRIES, st.booleans()), max_size=8))
def test_any_sequence_of_changes_keeps_every_other_line(text: str, steps: list[tuple[MemoryEntry, bool]]) -> None:
    changed = text
    for entry, keep in steps:
        changed = store_entry(changed, entry) if keep else delete_entry(changed, entry.key)
    touched = {entry.key for entry, _ in steps}

    assert notes(changed) == notes(text)
    assert own_text(changed).startswith(own_text(text))
    for entry in parse_entries(text):
        if entry.key not in touched:
            assert find_entry(changed, entry.key) == entry


def test_bytes_before_and_after_an_entry_stay() -> None:
    before = "\ufeffMine,  with  spaces\t\r\n\r\n* one\n\n##   hand  \n\n  kept as is  \n\n\n"
    after = "## later\nno blank line\n# Work\n\nMy own.\n\n\n"

    assert store_entry(f"{before}## a\n\nold\n\n{after}", MemoryEntry("a", "new")) == f"{before}## a\n\nnew\n\n{after}"
    assert delete_entry(f"{before}## a\n\nold\n\n{after}", "a") == before + after


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "## a\n\nv\n"),
        ("x", "x\n\n## a\n\nv\n"),
        ("x\n", "x\n\n## a\n\nv\n"),
        ("x\n\n", "x\n\n## a\n\nv\n"),
    ],
)
def test_new_entry_stands_at_the_end_after_a_blank_line(text: str, expected: str) -> None:
    assert store_entry(text, MemoryEntry("a", "v")) == expected


def test_headings_in_a_value_stay_part_of_it() -> None:
    value = "## not a key\n# nor a title\n\\## one backslash\n### fine\n```\n# a comment in code\n## still no key\n```"
    text = render_entry(MemoryEntry("a", value))

    assert parse_entries(text) == (MemoryEntry("a", value),)
    assert "\n# a comment in code\n" in text
    assert "\n\\## still no key\n" in text


def test_comment_in_hand_written_code_does_not_end_the_entry() -> None:
    text = "## deploy\n```sh\n# build\nmake\n```\nDone.\n# Home\ntea\n"

    assert parse_entries(text) == (MemoryEntry("deploy", "```sh\n# build\nmake\n```\nDone."),)
    assert notes(text) == ["tea"]


def test_fence_that_is_never_closed_hides_nothing() -> None:
    text = "## a\n```\ncode\n# Home\ntea\n## b\nv\n"

    assert [entry.key for entry in parse_entries(text)] == ["a", "b"]
    assert notes(text) == ["tea"]


def test_two_entries_of_one_key_are_one() -> None:
    text = "## a\none\n## b\nx\n## a\ntwo\n"

    assert parse_entries(text) == (MemoryEntry("a", "one\n\ntwo"), MemoryEntry("b", "x"))
    assert store_entry(text, MemoryEntry("a", "new")) == "## a\n\nnew\n\n## b\nx\n"
    assert delete_entry(text, "a") == "## b\nx\n"


def test_metadata_is_a_comment_that_a_person_may_leave_alone() -> None:
    text = render_entry(MemoryEntry("a", "v", {"source": "chat --> x"}))

    assert text == '## a\n\n<!-- clawft: {"source":"chat --\\u003e x"} -->\nv\n'
    assert parse_entries(text) == (MemoryEntry("a", "v", {"source": "chat --> x"}),)
    assert parse_entries("## a\n<!-- clawft: {broken} -->\nv\n") == (MemoryEntry("a", "<!-- clawft: {broken} -->\nv"),)


def test_own_text_is_cut_into_bullets_and_paragraphs_with_their_lines() -> None:
    text = (
        "# Mine\n\n<!-- hint -->\n\n- tea\n  with milk\n- toast\n\nA paragraph\nof two lines.\n## a\nv\n# Home\nTom\n"
    )

    assert list(parse_notes(text)) == [
        MemoryNote(5, "- tea\n  with milk"),
        MemoryNote(7, "- toast"),
        MemoryNote(9, "A paragraph\nof two lines."),
        MemoryNote(14, "Tom"),
    ]


def test_windows_line_ends_are_understood() -> None:
    text = "# Mine\r\n\r\ntea\r\n\r\n## a\r\n\r\none\r\ntwo\r\n"

    assert parse_entries(text) == (MemoryEntry("a", "one\ntwo"),)
    assert notes(text) == ["tea"]
    assert store_entry(text, MemoryEntry("b", "v")).startswith(text)
