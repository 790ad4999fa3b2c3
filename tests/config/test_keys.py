"""Keys of config files: one spelling for all, and lookups by dotted path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.config import find_by_path, to_snake_case


@pytest.mark.parametrize(
    ("written", "snake"),
    [
        ("HTMLParser", "html_parser"),
        ("getHTTPSUrl", "get_https_url"),
        ("XMLHttpRequest", "xml_http_request"),
        ("already_snake", "already_snake"),
        ("A", "a"),
        ("", ""),
        ("extraDirs", "extra_dirs"),
        ("watchDebounceMs", "watch_debounce_ms"),
        ("allowed-command-prefixes", "allowed_command_prefixes"),
        ("userID", "user_id"),
    ],
)
def test_every_spelling_becomes_snake_case(written: str, snake: str) -> None:
    assert to_snake_case(written) == snake


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=30))
def test_snake_case_of_snake_case_is_itself(name: str) -> None:
    once = to_snake_case(name)
    assert to_snake_case(once) == once


def test_path_reaches_into_sections() -> None:
    assert find_by_path({"agents": {"defaults": {"model": "a/b"}}}, "agents.defaults.model") == "a/b"


def test_path_that_leads_nowhere_is_none() -> None:
    assert find_by_path({"agents": {}}, "nonexistent.path") is None


def test_path_through_a_value_that_is_no_section_is_none() -> None:
    assert find_by_path({"agents": {"model": "a"}}, "agents.model.name") is None


def test_path_in_camel_case_is_understood() -> None:
    assert find_by_path({"skills": {"load": {"extra_dirs": ["a"]}}}, "skills.load.extraDirs") == ["a"]


def test_name_of_the_user_is_found_as_written() -> None:
    assert find_by_path({"entries": {"myTool": 1}}, "entries.myTool") == 1


def test_false_value_is_not_taken_for_a_missing_one() -> None:
    assert find_by_path({"skills": {"enabled": False}}, "skills.enabled") is False
