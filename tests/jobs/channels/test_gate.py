"""Who may write, what a message may be, and the names that follow from it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.sessions import encode_key
from clawft.agent.sessions.keys import is_fork_key
from clawft.contracts import InboundMessage
from clawft.jobs.channels.admission import (
    MAX_METADATA,
    clean_message,
    find_fault,
    is_allowed,
    make_run_id,
    make_session_key,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def message(**given: object) -> InboundMessage:
    return InboundMessage(**{"id": "1", "sender": "a", "conversation": "c", "text": "t", **given})  # type: ignore[arg-type]


def test_nobody_may_write_unless_said() -> None:
    assert not is_allowed("ann@example.com", ())
    assert not is_allowed("", ())


@pytest.mark.parametrize(
    ("sender", "pattern", "may"),
    [
        ("ann@example.com", "ann@example.com", True),
        ("ann@example.com", "*@example.com", True),
        ("ann@example.com.evil.net", "*@example.com", False),
        ("ann@evil.net\n@example.com", "ann*", True),
        ("x\nann@example.com", "ann@example.com", False),
        ("annxexample.com", "ann@example.com", False),
        ("ann@exampleXcom", "*@example.com", False),
        ("Ann@example.com", "ann@example.com", False),
        ("anybody", "*", True),
        ("ann", "?nn", False),
        ("[a-z]", "[a-z]", True),
        ("b", "[a-z]", False),
        ("ann", "", False),
    ],
)
def test_a_sender_is_allowed_by_the_whole_name_alone(sender: str, pattern: str, may: bool) -> None:
    assert is_allowed(sender, (pattern,)) is may


def test_a_pattern_full_of_stars_takes_no_time() -> None:
    assert not is_allowed("a" * 1000, ("*" * 50 + "b",))
    assert not is_allowed("a" * 1000, ("*a" * 20 + "b",))
    assert not is_allowed("ab", ("*ab*b",))  # what stands for one part stands for no other
    assert is_allowed("abb", ("a*b*b",))


@pytest.mark.parametrize(
    ("given_message", "fault"),
    [
        (message(), ""),
        (message(id=""), "it has no id"),
        (message(sender="x" * 1001), "its sender is longer than 1000 characters"),
        (message(conversation="a\0b"), "its conversation holds what is no text"),
        (message(id="\ud800"), "its id holds what is no text"),
        (message(text=" \n"), "it has no text"),
        (message(text="x" * 11), "it has 11 characters; gateway.max_message_chars is 10"),
        (message(metadata={"a": "x" * MAX_METADATA}), f"its metadata has more than {MAX_METADATA} bytes"),
        (message(metadata={"a": "\ud800"}), "its metadata is no JSON"),
        (message(metadata={"a": object()}), "its metadata is no JSON"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_a_reason(given_message: InboundMessage, fault: str) -> None:
    assert find_fault(given_message, 10) == fault


def test_a_text_is_cleaned_so_that_any_database_takes_it() -> None:
    assert clean_message(message(text="a\0b\ud800c")).text == "a\ufffdb?c"


def test_a_run_is_named_by_its_time_and_by_chance() -> None:
    names = {make_run_id(NOW) for _ in range(3)}
    assert len(names) == 3
    assert all(one.startswith("260102-030405-") for one in names)


def test_a_conversation_is_its_session() -> None:
    assert make_session_key("mail", "thread 7") == "mail:thread 7"


@pytest.mark.parametrize("conversation", ["fork-1", "a:task-x", "x" * 500, "é" * 100, "~fork1~", "\ud800"])
def test_a_conversation_cannot_name_a_session_that_is_none_of_its_own(conversation: str) -> None:
    key = make_session_key("mail", conversation)
    encode_key(key)
    assert not is_fork_key(key)
    assert key.startswith("mail:~")
    assert key != make_session_key("mail", f"{conversation}x")


@given(st.text(max_size=300), st.text(max_size=300))
def test_two_conversations_never_share_a_session(one: str, other: str) -> None:
    first, second = make_session_key("mail", one), make_session_key("mail", other)
    assert (first == second) is (one == other)
    assert len(encode_key(first)) <= 200
