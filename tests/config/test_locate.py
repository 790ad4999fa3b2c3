"""Where in the text of a config file each key stands."""

import json
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from clawft.config.keys import join_path, split_path
from clawft.config.syntax import find_line, locate_keys

_NAMES = st.text("ab.=[]{}#,:\"\\\n'ä ", min_size=1, max_size=4)
_TABLES = st.dictionaries(
    _NAMES,
    st.recursive(
        st.booleans() | st.floats(allow_nan=False) | _NAMES | st.dates(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def _paths(value: Any, at: tuple[str | int, ...]) -> set[tuple[str | int, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {at}.union(*(_paths(inner, (*at, key)) for key, inner in pairs))


@given(_TABLES)
def test_every_key_of_toml_is_found(table: dict[str, Any]) -> None:
    value = {"skills": {"config": table}}  # below this, keys are taken as they are
    found = {path for path, _ in locate_keys(tomlkit.dumps(value).encode(), toml=True)}
    assert found == _paths(value, ()) - {()}


@given(_TABLES, st.sampled_from([None, 2]))
def test_every_key_of_json_is_found(table: dict[str, Any], indent: int | None) -> None:
    value = json.loads(json.dumps({"skills": {"config": table}}, default=str))
    places = locate_keys(json.dumps(value, indent=indent).encode(), toml=False)
    assert {path for path, _ in places} == _paths(value, ()) - {()}


@given(st.dictionaries(_NAMES, st.integers(), min_size=1, max_size=6))
def test_lines_of_json_are_those_of_its_text(table: dict[str, int]) -> None:
    text = json.dumps({"skills": {"config": table}}, indent=1)
    places = locate_keys(text.encode(), toml=False)
    for name in table:
        line = find_line(("skills", "config", name), places)
        assert text.split("\n")[line - 1].strip().startswith(json.dumps(name))


@given(st.binary(max_size=60), st.booleans())
def test_text_of_any_kind_does_no_harm(data: bytes, toml: bool) -> None:
    locate_keys(data, toml=toml)


@pytest.mark.parametrize("data", [b"[" * 5000, b'{"a":' * 5000, b"a.", b"[[", b"= =", b'"""'])
def test_text_that_no_parser_takes_gives_what_it_has(data: bytes) -> None:
    assert isinstance(locate_keys(data, toml=True) + locate_keys(data, toml=False), list)


def test_key_without_a_line_has_that_of_its_table() -> None:
    places = locate_keys(b"\n[skills]\nenabled = true\n", toml=True)
    assert find_line(("skills", "load", "watch"), places) == 2
    assert find_line(("agents",), places) == 0


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4))
def test_written_path_is_read_as_the_same(names: list[str]) -> None:
    path = ("skills", "config", *names)
    assert split_path(join_path(path)) == path
