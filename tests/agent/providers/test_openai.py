"""The wire `openai`: what is sent, and the many ways in which servers answer."""

import json
from typing import Any

import pytest

from clawft.agent.providers.endpoint import build_endpoint
from clawft.agent.providers.openai import OpenAiWire
from clawft.agent.providers.request import (
    CallChunk,
    Chunk,
    DoneChunk,
    ModelRequest,
    ModelTool,
    ReasoningChunk,
    TextChunk,
)
from clawft.config.agents import ProviderSettings
from clawft.messages import Image, Message, ToolCall, Usage
from wire import Reply, WireServer

pytestmark = pytest.mark.anyio

_LOCAL = build_endpoint("ollama", None, {})
_CALL = ToolCall("c1", "x", {"a": 1})


def body_of(*messages: Message, **settings: Any) -> dict[str, Any]:
    endpoint = build_endpoint("ollama", ProviderSettings(**settings), {})
    return OpenAiWire().build_body(ModelRequest("m", messages), endpoint)


def read(*frames: dict[str, Any] | str) -> list[Chunk]:
    """What the frames of one answer give."""
    reader = OpenAiWire().open_reader()
    chunks = [chunk for one in frames for chunk in reader.read(one if isinstance(one, str) else json.dumps(one))]
    assert reader.complete
    return chunks + list(reader.finish())


def piece(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta, "finish_reason": reason}]}


def call_piece(**piece_of_call: Any) -> dict[str, Any]:
    return piece(tool_calls=[piece_of_call])


def calls_of(chunks: list[Chunk]) -> list[tuple[str, str, Any]]:
    return [(one.call.id, one.call.name, one.call.arguments) for one in chunks if isinstance(one, CallChunk)]


def test_message_without_content_does_not_send_the_key() -> None:
    assert body_of(Message("assistant", None))["messages"] == [{"role": "assistant"}]


def test_message_with_empty_content_sends_it() -> None:
    assert body_of(Message("assistant", ""))["messages"] == [{"role": "assistant", "content": ""}]


def test_message_with_content_is_sent_unchanged() -> None:
    assert body_of(Message("user", " hi\n"))["messages"] == [{"role": "user", "content": " hi\n"}]


@pytest.mark.parametrize("content", [None, ""])
def test_message_of_tool_calls_never_sends_an_empty_text(content: str | None) -> None:
    (written,) = body_of(Message("assistant", content, (_CALL,)))["messages"]
    assert "content" not in written
    assert written["tool_calls"][0]["function"] == {"name": "x", "arguments": '{"a":1}'}


def test_missing_content_is_null_where_a_server_wants_that() -> None:
    messages = Message("assistant", "", (_CALL,)), Message("assistant", None)
    assert [one["content"] for one in body_of(*messages, empty_content="null")["messages"]] == [None, None]


def test_results_of_tools_carry_the_id_of_their_call() -> None:
    (written,) = body_of(Message("tool", "done", tool_call_id="c1", name="x"))["messages"]
    assert written == {"role": "tool", "content": "done", "tool_call_id": "c1"}


def test_images_of_the_user_are_data_urls() -> None:
    (written,) = body_of(Message("user", "look", images=(Image("image/png", "QUJD"),)))["messages"]
    assert written["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
    ]


def test_images_of_tools_follow_after_all_results() -> None:
    image = Image("image/png", "QUJD")
    messages = (
        Message("assistant", None, (_CALL, ToolCall("c2", "x"))),
        Message("tool", "one", tool_call_id="c1", images=(image,)),
        Message("tool", "two", tool_call_id="c2", images=(image,)),
        Message("user", "go on"),
    )
    written = body_of(*messages)["messages"]
    assert [one["role"] for one in written] == ["assistant", "tool", "tool", "user", "user"]
    assert [part["type"] for part in written[3]["content"]] == ["text", "image_url", "image_url"]
    assert [one["role"] for one in body_of(*messages[:3])["messages"]] == ["assistant", "tool", "tool", "user"]


def test_malformed_arguments_are_sent_back_as_valid_json() -> None:
    broken = ToolCall("c1", "made up!", malformed='{"a": ')
    (written,) = body_of(Message("assistant", None, (broken,)))["messages"]
    function = written["tool_calls"][0]["function"]
    assert json.loads(function["arguments"]) == {"malformed": '{"a": '}
    assert function["name"] == "made_up_"


def test_tools_limits_and_temperature_are_sent() -> None:
    tool = ModelTool("x", "does x", {"type": "object"})
    body = OpenAiWire().build_body(ModelRequest("m", (), (tool,), 0.0, 77), _LOCAL)
    assert body["tools"] == [
        {"type": "function", "function": {"name": "x", "description": "does x", "parameters": {"type": "object"}}}
    ]
    assert (body["max_tokens"], body["temperature"], body["stream"]) == (77, 0.0, True)
    assert body["stream_options"] == {"include_usage": True}


def test_openai_itself_gets_its_newer_name_of_the_limit() -> None:
    endpoint = build_endpoint("openai", None, {"OPENAI_API_KEY": "k"})
    body = OpenAiWire().build_body(ModelRequest("m", (), max_tokens=77), endpoint)
    assert body["max_completion_tokens"] == 77
    assert not {"max_tokens", "temperature", "tools"} & set(body)


def test_key_is_a_bearer_token_and_none_sends_no_header() -> None:
    assert OpenAiWire().build_headers("k") == {"authorization": "Bearer k"}
    assert OpenAiWire().build_headers("") == {}


def test_pieces_of_parallel_calls_are_merged_by_index() -> None:
    chunks = read(
        call_piece(index=0, id="a", function={"name": "one", "arguments": ""}),
        call_piece(index=1, id="b", function={"name": "two", "arguments": '{"y"'}),
        call_piece(index=0, function={"arguments": '{"x": 1}'}),
        call_piece(index=1, function={"arguments": ": 2}"}),
        piece("tool_calls"),
    )
    assert calls_of(chunks) == [("a", "one", {"x": 1}), ("b", "two", {"y": 2})]


def test_whole_calls_without_an_index_are_told_apart_by_id() -> None:
    first = {"id": "a", "function": {"name": "one", "arguments": '{"x": 1}'}}
    second = {"id": "b", "function": {"name": "one", "arguments": '{"x": 2}'}}
    assert calls_of(read(piece("stop", tool_calls=[first, second]))) == [("a", "one", {"x": 1}), ("b", "one", {"x": 2})]


def test_whole_calls_that_all_have_the_index_0_are_told_apart() -> None:
    chunks = read(
        call_piece(index=0, id="a", function={"name": "one", "arguments": "{}"}),
        call_piece(index=0, id="b", function={"name": "two", "arguments": "{}"}),
        piece("tool_calls"),
    )
    assert calls_of(chunks) == [("a", "one", {}), ("b", "two", {})]


def test_id_and_name_that_are_repeated_in_each_piece_are_one_call() -> None:
    chunks = read(
        call_piece(index=0, id="a", function={"name": "one", "arguments": '{"x"'}),
        call_piece(index=0, id="a", function={"name": "one", "arguments": ": 1}"}),
        piece("tool_calls"),
    )
    assert calls_of(chunks) == [("a", "one", {"x": 1})]


def test_pieces_with_an_id_and_no_index_are_merged() -> None:
    chunks = read(
        call_piece(id="a", function={"name": "one", "arguments": '{"x"'}),
        call_piece(id="a", function={"arguments": ": 1}"}),
        piece("tool_calls"),
    )
    assert calls_of(chunks) == [("a", "one", {"x": 1})]


def test_calls_without_index_and_id_get_an_id_each() -> None:
    chunks = read(
        call_piece(function={"name": "one", "arguments": '{"x": '}),
        call_piece(function={"arguments": "1}"}),
        call_piece(function={"name": "two", "arguments": {"y": 2}}),
        piece("tool_calls"),
    )
    (first, *one), (second, *two) = calls_of(chunks)
    assert (one, two) == (["one", {"x": 1}], ["two", {"y": 2}])
    assert first != second
    assert first.startswith("call_")


def test_id_that_two_calls_share_is_made_unique() -> None:
    chunks = read(
        call_piece(index=0, id="same", function={"name": "one", "arguments": "{}"}),
        call_piece(index=1, id="same", function={"name": "two", "arguments": "{}"}),
        piece("tool_calls"),
    )
    assert len({one[0] for one in calls_of(chunks)}) == 2


def test_calls_without_a_name_and_other_nonsense_are_left_out() -> None:
    nonsense = [None, 7, {}, {"function": None}, {"index": "x", "function": {"name": 5}}]
    assert calls_of(read(piece("stop", tool_calls=nonsense), piece(tool_calls="no"))) == []


def test_flood_of_calls_is_refused() -> None:
    flood = [{"index": number, "id": str(number), "function": {"name": "x"}} for number in range(200)]
    with pytest.raises(Exception, match="over 128 tool calls"):
        read(piece(tool_calls=flood))


@pytest.mark.parametrize(
    ("reason", "stop"), [("stop", "end"), ("length", "length"), ("content_filter", "refusal"), ("other", "end")]
)
def test_reasons_to_stop_are_read(reason: str, stop: str) -> None:
    assert read(piece(reason, content="x")) == [TextChunk("x"), DoneChunk(stop)]  # type: ignore[arg-type]


def test_call_that_was_cut_at_the_limit_stops_for_length() -> None:
    chunks = read(call_piece(index=0, id="a", function={"name": "one", "arguments": '{"x'}), piece("length"))
    assert chunks[-1] == DoneChunk("length")
    assert isinstance(chunks[0], CallChunk)
    assert chunks[0].call.malformed == '{"x'


def test_refusal_is_text_and_a_stop_of_its_own() -> None:
    assert read(piece("stop", refusal="I will not")) == [TextChunk("I will not"), DoneChunk("refusal")]


def test_text_in_parts_is_read_and_thoughts_are_kept_apart() -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "yes"}]
    thought = ReasoningChunk("reasoning_content", "hm")
    assert read(piece("stop", content=parts, reasoning_content="hm")) == [thought, TextChunk("yes"), DoneChunk("end")]


def test_end_without_a_reason_is_an_end() -> None:
    assert read(piece(content="x"), "[DONE]") == [TextChunk("x"), DoneChunk("end")]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"prompt_tokens": 12, "completion_tokens": 3}, Usage(12, 3)),
        ({"prompt_tokens": -12, "completion_tokens": -3}, Usage(0, 0)),
        ({"prompt_tokens": "12", "completion_tokens": None}, Usage(0, 0)),
        ({"prompt_tokens": True, "completion_tokens": 1.5}, Usage(0, 0)),
        ({"prompt_tokens": 12, "prompt_tokens_details": {"cached_tokens": 8}}, Usage(12, 0, cache_read_tokens=8)),
        ({"prompt_tokens": 10**30}, Usage(10**12, 0)),
        ([1], Usage(0, 0)),
    ],
)
def test_usage_is_read_and_never_negative(raw: Any, expected: Usage) -> None:
    assert read(piece("stop"), {"choices": [], "usage": raw}, "[DONE]") == [DoneChunk("end", expected)]


def test_usage_that_comes_with_every_piece_counts_once() -> None:
    chunks = [piece(content="x") | {"usage": {"prompt_tokens": 5, "completion_tokens": number}} for number in (1, 2)]
    assert read(*chunks, piece("stop") | {"usage": None})[-1] == DoneChunk("end", Usage(5, 2))


def test_total_of_a_usage_is_the_sum() -> None:
    assert Usage(12, 3).total_tokens == 15


async def test_answer_without_a_stream_is_read(connect: Any) -> None:
    message = {"content": "hi", "tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{}"}}]}
    body = {"choices": [{"message": message}], "usage": {"prompt_tokens": 4, "completion_tokens": 2}}
    reply = Reply(headers=(("content-type", "application/json"),), raw=(json.dumps(body).encode(),))
    with WireServer([reply]) as server:
        chunks = [chunk async for chunk in connect(server).stream(ModelRequest("m", ()))]
    assert chunks == [TextChunk("hi"), CallChunk(ToolCall("a", "x")), DoneChunk("tools", Usage(4, 2))]


async def test_error_with_status_200_is_an_error(connect: Any) -> None:
    reply = Reply(headers=(("content-type", "application/json"),), raw=(b'{"error": {"message": "no", "code": 404}}',))
    with WireServer([reply]) as server, pytest.raises(Exception, match="status 404: no"):
        [chunk async for chunk in connect(server).stream(ModelRequest("m", ()))]


async def test_limit_that_is_told_inside_the_stream_is_tried_again(connect: Any) -> None:
    limited = b'data: {"error": {"message": "slow", "code": 429}}\n\n'
    fine = b'data: {"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}\n\n'
    with WireServer([Reply(raw=(limited,)), Reply(raw=(fine,))]) as server:
        chunks = [chunk async for chunk in connect(server).stream(ModelRequest("m", ()))]
    assert chunks[1:] == [TextChunk("ok"), DoneChunk("end")]


async def test_answer_that_is_whole_counts_though_the_connection_breaks_after_it(connect: Any) -> None:
    fine = b'data: {"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}\n\n'
    with WireServer([Reply(raw=(fine,), end="cut")]) as server:
        chunks = [chunk async for chunk in connect(server).stream(ModelRequest("m", ()))]
    assert chunks == [TextChunk("ok"), DoneChunk("end")]


async def test_last_event_may_lack_its_blank_line(connect: Any) -> None:
    with WireServer([Reply(raw=(b'data: {"choices": [{"delta": {"content": "ok"}}]}\n\ndata: [DONE]',))]) as server:
        chunks = [chunk async for chunk in connect(server).stream(ModelRequest("m", ()))]
    assert chunks == [TextChunk("ok"), DoneChunk("end")]
