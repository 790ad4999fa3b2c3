"""Mending a SKILL.md: golden cases in tests/golden/fix, and what holds for every file."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.errors import ClawftError, Unreadable
from clawft.skills.parse.skill import parse_skill_md
from clawft.skills.parse.text import decode_text
from clawft.skills.parse.validation import fix_skill_md

GOLDEN = Path(__file__).parents[2] / "golden" / "fix"
CASES = sorted(folder.name for folder in GOLDEN.iterdir())


@pytest.mark.parametrize("case", CASES)
def test_golden_case(case: str) -> None:
    fixed = fix_skill_md((GOLDEN / case / "before.md").read_bytes(), "skill")
    assert fixed.data.decode() == (GOLDEN / case / "after.md").read_bytes().decode()


@pytest.mark.parametrize("case", CASES)
def test_golden_case_has_nothing_left_to_mend(case: str) -> None:
    after = (GOLDEN / case / "after.md").read_bytes()
    again = fix_skill_md(after, "skill")
    assert (again.data, again.applied) == (after, ())


def test_file_that_is_right_keeps_its_bytes() -> None:
    data = b"---\r\nname: a\r\ndescription: d\r\n---\r\nmixed\nends\r\n"
    fixed = fix_skill_md(data, "a")
    assert (fixed.data, fixed.applied) == (data, ())


def test_what_was_mended_is_told() -> None:
    fixed = fix_skill_md(b"\n---\nname: My Skill\nallowed_tools: Read\ndescription: a: b\n---\nBody", "my-skill", "p")
    assert {found.code for found in fixed.applied} == {
        "leading-blank",
        "name-not-canonical",
        "key-spelling",
        "yaml-unquoted",
    }
    assert {found.path for found in fixed.applied} == {"p"}
    assert fixed.after == '---\nname: my-skill\nallowed-tools: Read\ndescription: "a: b"\n---\nBody'


def test_utf16_is_written_as_utf8() -> None:
    fixed = fix_skill_md("---\nname: a\ndescription: é\n---\nBody".encode("utf-16"), "a")
    assert fixed.data == "---\nname: a\ndescription: é\n---\nBody".encode()
    assert [found.code for found in fixed.applied] == ["utf-16"]


def test_what_cannot_be_mended_stays() -> None:
    data = b"---\n- a\n- b\n---\nBody"
    fixed = fix_skill_md(data, "a")
    assert (fixed.data, fixed.applied) == (data, ())


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(Unreadable):
        fix_skill_md(b"a\0b", "a")


def test_unreadable_bytes_are_left_alone() -> None:
    data = b"---\nname: a\ndescription: caf\xe9\n---\nBody"
    assert fix_skill_md(data, "a").data == data


_KEYS = st.one_of(
    st.sampled_from(["name", "description", "version", "allowed_tools", "allowed-tools", "tags", "always"]),
    st.sampled_from(
        ["userInvocable", "context", "argument-hint", "foo", "license", "metadata", "tools", "x.y", "http"]
    ),
)
_VALUES = st.one_of(
    st.sampled_from(["", "a", "My Skill", "Use when: asked", "[a] [b]", "[a, b]", "{a: b,}", "'it's", '"open', "\\"]),
    st.sampled_from(["yes", "On", "1", "1.10", "@a", "`a`", "%a", "*a", "&a", "# c", "a # b", "- a", "true", "null"]),
    st.sampled_from(["Bash(git:*), Read", "Bash(git", 'say "x"', "é 🎉", "a:", ": a", "a\tb", "\n  words"]),
    st.sampled_from(["\n  - a\n  - b", "\n  a: b: c\n  d: e", "|\n  a\n  b", ">-\n  a: b"]),
    st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=15),
)
_STRAY = st.sampled_from(["", "# comment", "<<<<<<< HEAD", "=======", ">>>>>>> x", "stray words", "}", "]"])
_LINES = st.lists(
    st.one_of(st.builds("{}: {}".format, _KEYS, _VALUES), st.builds("{}: {}".format, _KEYS, _VALUES), _STRAY),
    max_size=6,
)
_BODIES = st.one_of(
    st.sampled_from(
        ["", "Body.", "\n# H\n\nText.\n\n---\n\nMore.\n", "---\n", "```\n---\n```\n", "  lead", 'a: "b" \\ c']
    ),
    st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=30),
)


@given(st.sampled_from(["", "", "\n", " \n\n"]), _LINES, _BODIES, st.booleans())
@settings(max_examples=400)
def test_mended_file_reads_the_same_and_has_nothing_left_to_mend(
    lead: str, lines: list[str], body: str, crlf: bool
) -> None:
    text = f"{lead}---\n" + "".join(f"{line}\n" for line in lines) + "---\n" + body
    fixed = fix_skill_md((text.replace("\n", "\r\n") if crlf else text).encode(), "my-dir")
    again = fix_skill_md(fixed.data, "my-dir")
    assert (again.data, again.applied) == (fixed.data, ())
    try:
        before = parse_skill_md(text, "my-dir")
    except ClawftError:
        return
    after = parse_skill_md(decode_text(fixed.data, "p").text, "my-dir")
    assert (after.name, after.description, after.prompt) == (before.name, before.description, before.prompt)
    assert not [found.code for found in after.diagnostics if found.fix or found.code.startswith("yaml-")]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60))
def test_text_without_frontmatter_gets_one_and_keeps_every_character(text: str) -> None:
    data = text.encode()
    fixed = fix_skill_md(data, "my-dir")
    kept = decode_text(data, "p").text
    assert fixed.after.endswith(kept.lstrip()) or fixed.after == kept
    assert fix_skill_md(fixed.data, "my-dir").data == fixed.data
