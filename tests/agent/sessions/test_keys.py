"""Session keys as file names."""

import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from clawft.agent.sessions import decode_key, encode_key, is_fork_key, new_fork_key
from clawft.errors import ClawftError

KEYS = [
    "cli",
    "telegram:user_123",
    "a/b\\c",
    "50%",
    "%3A",
    "ключ",
    "日本語 key",
    "a.b-c",
    "x\n\0",
    "😀",
    "-rf",
    "a..",
    "_",
]


def test_colon_and_underscore_are_encoded() -> None:
    assert encode_key("telegram:user_123") == "telegram%3Auser%5F123"


@pytest.mark.parametrize("key", KEYS)
def test_key_comes_back_from_its_name(key: str) -> None:
    assert decode_key(encode_key(key)) == key


@given(st.text(alphabet=string.printable + "\0\x7f", min_size=1, max_size=60))
@example("telegram:user_123")
def test_ascii_keys_survive_the_round_trip(key: str) -> None:
    assume(not key.startswith("."))
    assert decode_key(encode_key(key)) == key


@given(st.text(min_size=1, max_size=16))
def test_any_key_survives_the_round_trip_in_a_safe_name(key: str) -> None:
    assume(not key.startswith("."))
    name = encode_key(key)
    assert decode_key(name) == key
    assert set(name) <= set(string.ascii_letters + string.digits + ".-%")


@given(st.text(alphabet="ab_:%5F.-A", min_size=1, max_size=8), st.text(alphabet="ab_:%5F.-A", min_size=1, max_size=8))
def test_two_keys_never_share_a_name(one: str, other: str) -> None:
    assume(one != other and not one.startswith(".") and not other.startswith("."))
    assert encode_key(one) != encode_key(other)


@given(st.text(alphabet="ab_%23AaFf.-é", max_size=8))
def test_a_name_that_is_decoded_is_the_name_of_that_key(name: str) -> None:
    key = decode_key(name)
    assert key is None or encode_key(key) == name


@pytest.mark.parametrize("key", ["", ".", "..", ".hidden", "../up", "x" * 201, "é" * 40, "\ud800"])
def test_keys_that_cannot_name_a_file_are_refused(key: str) -> None:
    with pytest.raises(ClawftError) as caught:
        encode_key(key)
    assert caught.value.code == "session-key"


@pytest.mark.parametrize("name", ["", "a_b", "%3a", "%41", "%", "%4", "%FF", "..", ".a", "a b", "é", "a\n"])
def test_names_that_no_key_has_are_not_decoded(name: str) -> None:
    assert decode_key(name) is None


@pytest.mark.parametrize("parent", ["cli", "é" * 60, "a" * 200])
def test_a_fork_has_a_key_below_its_parents_that_names_a_file(parent: str) -> None:
    key = new_fork_key(new_fork_key(parent, "task", "1a2b3c"), "fork", "4d5e6f")
    assert decode_key(encode_key(key)) == key
    assert key[0] == parent[0]
    assert is_fork_key(key)
    assert not is_fork_key(parent)
