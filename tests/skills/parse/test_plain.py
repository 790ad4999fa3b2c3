"""The plain reader answers exactly what YAML would, or nothing."""

import json
from typing import Any

import pytest
import ryaml
from hypothesis import example, given
from hypothesis import strategies as st

from clawft.skills.parse.fields import KEYS
from clawft.skills.parse.yaml import read_plain

ODD = " :#-?,[]{}&*!|>'\"%@`\\=~<.+_/0123456789eExXoOabfnTt\t\x07\x7f\x85\xa0\xad\u200d\u2028\u2029\ufeff\ufffeé漢😀"
WORDS = (
    "true", "True", "TRUE", "tRUE", "false", "False", "FALSE", "null", "Null", "NULL", "nULL", "~", "yes", "No",
    "on", "Off", "y", "n", ".nan", ".NaN", ".inf", "-.inf", "nan", "inf", "Infinity", "0", "1", "-1", "+1", "00",
    "017", "0o17", "0x1F", "0b11", "1_000", "1.", ".5", "1.5", "1e5", "1E-5", "e5", "1e400", "-0", "1:30",
    "2024-01-01", "1.0.0", "12345678901234567890", "99999999999999999999999999", "2001-12-14T21:59:43Z", "<<", "=",
    "-", "?", ":", "---", "...", "!x", "&a", "*a", "|", ">", "|-", ">+", "%", "@", "`",
)  # fmt: skip

texts = st.text(st.sampled_from(ODD), max_size=12) | st.text(max_size=12) | st.sampled_from(WORDS)
phrases = st.lists(texts, min_size=1, max_size=4).map(" ".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
flows = st.builds(
    lambda value, ascii, dense: json.dumps(value, ensure_ascii=ascii, separators=(",", ":") if dense else None),
    values,
    st.booleans(),
    st.booleans(),
)
quoted = phrases.map(lambda text: f'"{text}"') | phrases.map(lambda text: f"'{text}'") | phrases.map(json.dumps)
keys = st.sampled_from(sorted(KEYS)) | st.sampled_from(["name", "description"]) | texts
lines = st.builds("{}: {}{}".format, keys, phrases | flows | quoted, st.sampled_from(["", "", " ", " # c", ":", "}"]))
sources = st.lists(lines | phrases, max_size=4).map("\n".join)


def _check(source: str) -> dict[str, Any] | None:
    plain = read_plain(source)
    if plain is not None:
        assert repr(plain) == repr(ryaml.loads(source))  # repr: True is not 1, and the order counts
    return plain


@given(sources | st.text(), st.sampled_from(["", "\n"]))
@example('metadata: {"a":1,"a":2}', "\n")
@example('metadata: {"a" :1,"b":2,"b":3}', "")
@example('metadata: {"a":99999999999999999999999}', "\n")
@example('metadata: {"k":"\\ud83d\\ude00"}', "\n")
@example(f'metadata: {{"{"k" * 1030}":1}}', "\n")
@example(f"{'k' * 1030}: v", "\n")
def test_plain_answer_is_that_of_yaml(source: str, end: str) -> None:
    _check(source + end)


@given(st.dictionaries(st.sampled_from(sorted(KEYS)), phrases | flows | quoted, max_size=4))
def test_plain_answer_for_known_keys_is_that_of_yaml(fields: dict[str, str]) -> None:
    _check("".join(f"{key}: {value}\n" for key, value in fields.items()))


@given(values)
def test_json_is_read_as_yaml_reads_it(value: Any) -> None:
    _check("metadata: " + json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("description: Does this, then that (and more).", "Does this, then that (and more)."),
        ("description: C# and a:b, https://x.y/#z  ", "C# and a:b, https://x.y/#z"),
        ('description: " as it is: # "', " as it is: # "),
        ("description: 'quoted'", "quoted"),
        ("description: 漢字 — “yes”", "漢字 — “yes”"),
        ("version: 1.2.0", "1.2.0"),
        ("name: 1password", "1password"),
        ("always: true", True),
        ("always: False", False),
        ("anything-else: goes", "goes"),
        (
            'metadata: {"a": {"b": ["c", 1, 1.5, null, true]}, "d": "😀"}',
            {"a": {"b": ["c", 1, 1.5, None, True]}, "d": "😀"},
        ),
        ('tags: ["a","b"]', ["a", "b"]),
    ],
)
def test_what_most_skills_write_is_read(line: str, value: Any) -> None:
    source = f"name: one\n{line}\n" if not line.startswith("name") else f"{line}\n"

    plain = _check(source)

    assert plain is not None
    assert plain[line.partition(":")[0]] == value


@pytest.mark.parametrize(
    "source",
    [
        "",
        "\n",
        "name:",
        "name:x",
        "name: a: b",
        "name: ends in:",
        "name: a # comment",
        "name: null",
        "name: 12",
        "name: 0x1F",
        "name: 1e5",
        "name: -1",
        "name: .5",
        "name: |\n  text",
        "name: one\n  more",
        "name: one\n\ndescription: d",
        "name: one\nname: two",
        "true: x",
        "- a",
        '"name": x',
        'name: "a\\nb"',
        "name: 'it''s'",
        "name: tab\there",
        "name: a\u2028b",
        "name: a\ufeffb",
        "tags: [a, b]",
        'metadata: {"a": 1,}',
        'metadata: {"a": 1} # c',
        'metadata: {"a":1e5}',
        'metadata: {"a":"\\u00e9"}',
        "description: " + "[" * 65,
    ],
)
def test_what_is_not_certain_is_left_to_yaml(source: str) -> None:
    assert read_plain(source) is None
