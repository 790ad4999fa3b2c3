"""Safe YAML, and what is recovered from what is nearly YAML."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.skills.parse.diagnostics import DiagnosticCollector, quote_yaml
from clawft.skills.parse.yaml import load_yaml


def _load(source: str) -> tuple[Any, str, list[tuple[str, int]]]:
    notes = DiagnosticCollector("p", source, 0, 2)
    value, complaint = load_yaml(source, notes)
    return value, complaint, [(found.code, found.line) for found in notes.found]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("", None),
        ("# only a comment\n", None),
        ("a: 1\nb: 2.5\nc: true\nd: null\ne: text\n", {"a": 1, "b": 2.5, "c": True, "d": None, "e": "text"}),
        ("a: yes\nb: off\n", {"a": "yes", "b": "off"}),
        ("a: |\n  one\n  two\nb: >-\n  one\n  two\n", {"a": "one\ntwo\n", "b": "one two"}),
        ("a: [1, 2,]\nb: {c: d,}\n", {"a": [1, 2], "b": {"c": "d"}}),
        ("a: # comment\n  - b # comment\n", {"a": ["b"]}),
        ('a: "\\U0001F41B"\n', {"a": "🐛"}),
        ("'a': 'it''s'\n", {"a": "it's"}),
    ],
)
def test_valid_yaml_is_read_without_a_word(source: str, value: Any) -> None:
    assert _load(source) == (value, "", [])


@pytest.mark.parametrize(
    ("source", "value", "said"),
    [
        ("a: Use when: asked\n", {"a": "Use when: asked"}, [("yaml-unquoted", 2)]),
        ("a: b\nhint: [x] [y]\n", {"a": "b", "hint": "[x] [y]"}, [("yaml-unquoted", 3)]),
        ("a: @x\nb: `y`\n", {"a": "@x", "b": "`y`"}, [("yaml-unquoted", 2), ("yaml-unquoted", 3)]),
        ("a: 'it's'\n", {"a": "it's"}, [("yaml-unquoted", 2)]),
        ('a: "unclosed\nb: c\n', {"a": "unclosed", "b": "c"}, [("yaml-unquoted", 2)]),
        ("a: one: two\n  three\nb: [1]\n", {"a": "one: two three", "b": [1]}, [("yaml-unquoted", 2)]),
        ("a: b\na: c\n", {"a": "b"}, [("duplicate-key", 3)]),
        ("a: b\n=======\nc: d\n", {"a": "b", "c": "d"}, [("yaml-stray-line", 3)]),
        ("a:\n  b: c: d\n  e: f\n", {"a": {"b": "c: d", "e": "f"}}, [("yaml-unquoted", 3)]),
        ("a:\n  b: c\n  b: d\n", {"a": {"b": "c"}}, [("duplicate-key", 4)]),
        ("# note\na: b: c\n\n# note\nd: 1\n", {"a": "b: c", "d": 1}, [("yaml-unquoted", 3)]),
    ],
)
def test_nearly_yaml_is_recovered_and_said(source: str, value: Any, said: list[tuple[str, int]]) -> None:
    found, complaint, notes = _load(source)
    assert (found, notes) == (value, said)
    assert complaint


def test_complaint_counts_lines_from_the_top_of_the_file() -> None:
    notes = DiagnosticCollector("p", "a: b\nc: [\n", 0, 10)
    _, complaint = load_yaml(notes.source, notes)
    assert "line 1" in complaint  # 10, 11 or 12


def test_tag_makes_no_object() -> None:
    value, complaint, _ = _load("a: !!python/object/apply:os.system [echo]\nb: !!python/name:os.system x\n")
    assert (value, complaint) == ({"a": ["echo"], "b": "x"}, "")


def test_nesting_up_to_the_limit_is_read_and_beyond_it_is_text() -> None:
    assert _load("a: " + "[" * 64 + "]" * 64)[1] == ""
    value, complaint, said = _load("a: " + "[" * 65 + "]" * 65)
    assert (value["a"], said) == ("[" * 65 + "]" * 65, [("yaml-unquoted", 2)])
    assert "64" in complaint


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_quoted_text_is_read_as_itself(text: str) -> None:
    assert _load(f"a: {quote_yaml(text)}\n") == ({"a": text}, "", [])


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,6}", fullmatch=True),
        st.text(alphabet=st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20),
        max_size=5,
    )
)
def test_any_line_of_text_after_a_key_is_recovered_under_that_key(mapping: dict[str, str]) -> None:
    source = "".join(f"{key}: {value}\n" for key, value in mapping.items())
    value, _, _ = _load(source)
    if isinstance(value, dict):
        assert set(value) <= set(mapping)
    else:
        assert value is None
        assert not mapping


@given(st.text(alphabet=st.sampled_from("ab: -[]{}'\"|>&*!#\n\t,?%@`"), max_size=60))
def test_no_text_raises(source: str) -> None:
    value, complaint, said = _load(source)
    if complaint:
        assert isinstance(value, dict)
    assert all(2 <= line <= source.count("\n") + 2 for _, line in said)
