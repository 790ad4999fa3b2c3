"""One Message, one Usage, one family of events."""

import inspect

import msgspec
import pytest

import clawft.messages as messages
from clawft.messages import ApprovalNeeded, Event, Message, TextDelta, ToolCall, Usage


def encode(value: object) -> str:
    return msgspec.json.encode(value).decode()


def test_content_that_is_none_is_left_out_and_empty_content_stays() -> None:
    assert encode(Message("assistant")) == '{"role":"assistant"}'
    assert encode(Message("assistant", "")) == '{"role":"assistant","content":""}'


def test_a_message_comes_back_as_it_was_written() -> None:
    message = Message("assistant", "x", (ToolCall("1", "read_file", {"path": "a"}),))
    assert msgspec.json.decode(encode(message), type=Message) == message


def test_usage_adds_up() -> None:
    total = Usage(10, 5).merge(Usage(1, 2, 3, 4))
    assert (total, total.total_tokens) == (Usage(11, 7, 3, 4), 18)
    assert (Usage(), Usage().total_tokens) == (Usage(0, 0), 0)


def test_an_event_names_itself_first_then_time_and_session() -> None:
    event = TextDelta(text="hi", at="2026-01-01T00:00:00.000Z", session="s")
    assert encode(event) == '{"event":"TextDelta","at":"2026-01-01T00:00:00.000Z","session":"s","text":"hi"}'


def test_every_event_of_the_design_is_there_and_frozen() -> None:
    kinds = {one.__name__ for one in vars(messages).values() if inspect.isclass(one) and issubclass(one, Event)}
    assert kinds >= {
        "TurnStarted", "CatalogShown", "SkillActivated", "TextDelta", "ToolStarted", "ToolFinished",
        "ApprovalNeeded", "UsageReported", "TurnFinished", "TurnFailed",
    }  # fmt: skip
    event = ApprovalNeeded(call="c", tool="t", question="q")
    with pytest.raises(AttributeError):
        event.question = "other"  # type: ignore[misc]


def test_there_is_one_usage_and_one_message_type_in_the_product() -> None:
    from pathlib import Path

    sources = [path.read_text() for path in Path(messages.__file__).parent.rglob("*.py")]
    for field in ("    output_tokens: int", "    tool_calls: tuple[ToolCall"):
        assert sum(field in text for text in sources) == 1
