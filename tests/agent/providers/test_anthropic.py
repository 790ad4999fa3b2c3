"""The wire `anthropic`: what is sent, and how its events are read."""

import json
from typing import Any

import pytest

from clawft.agent.providers.anthropic import AnthropicWire
from clawft.agent.providers.endpoint import build_endpoint
from clawft.agent.providers.request import (
    CallChunk,
    Chunk,
    DoneChunk,
    ModelRequest,
    ModelTool,
    ReasoningChunk,
    RetryChunk,
    StreamCut,
    TextChunk,
)
from clawft.messages import Image, Message, ToolCall, Usage
from wire import Reply, WireServer, say

pytestmark = pytest.mark.anyio

_ENDPOINT = build_endpoint("anthropic", None, {"ANTHROPIC_API_KEY": "k"})
_MARK = {"cache_control": {"type": "ephemeral"}}
_OVERLOADED = (
    b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'
)


def body_of(*messages: Message, **request: Any) -> dict[str, Any]:
    return AnthropicWire().build_body(ModelRequest("m", messages, **request), _ENDPOINT)


def read(*frames: dict[str, Any]) -> list[Chunk]:
    reader = AnthropicWire().open_reader()
    chunks = [chunk for frame in frames for chunk in reader.read(json.dumps(frame))]
    return chunks + list(reader.finish())


def stop(reason: str | None, **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


async def collect(provider: Any) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(ModelRequest("m", (Message("user", "hi"),)))]


def test_system_prompt_tools_and_last_block_are_marked_for_the_cache() -> None:
    tools = (ModelTool("x", "does x", {"type": "object"}), ModelTool("y", "does y", {"type": "object"}))
    body = body_of(Message("system", "be good"), Message("user", "hi"), tools=tools, temperature=1.5, max_tokens=9)
    assert body["system"] == [{"type": "text", "text": "be good"} | _MARK]
    assert body["tools"] == [
        {"name": "x", "description": "does x", "input_schema": {"type": "object"}},
        {"name": "y", "description": "does y", "input_schema": {"type": "object"}} | _MARK,
    ]
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"} | _MARK]}]
    assert (body["max_tokens"], body["temperature"], body["stream"]) == (9, 1.0, True)


def test_what_is_not_there_is_not_sent() -> None:
    assert not {"system", "tools", "temperature"} & set(body_of(Message("user", "hi")))
    assert body_of()["messages"] == []


def test_parallel_results_and_what_follows_are_one_message_of_the_user() -> None:
    image = Image("image/png", "QUJD")
    messages = (
        Message("user", "go"),
        Message("assistant", "I look", (ToolCall("c1", "x", {"a": 1}), ToolCall("c2", "y"))),
        Message("tool", "one", tool_call_id="c1", images=(image,)),
        Message("tool", "", tool_call_id="c2", is_error=True),
        Message("user", "and?"),
    )
    first, second, third = body_of(*messages)["messages"]
    assert first["role"] == "user"
    assert second["content"] == [
        {"type": "text", "text": "I look"},
        {"type": "tool_use", "id": "c1", "name": "x", "input": {"a": 1}},
        {"type": "tool_use", "id": "c2", "name": "y", "input": {}},
    ]
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    assert third["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "one"}, picture]},
        {"type": "tool_result", "tool_use_id": "c2", "is_error": True},
        {"type": "text", "text": "and?"} | _MARK,
    ]


def test_images_of_the_user_come_before_the_text() -> None:
    (written,) = body_of(Message("user", "look", images=(Image("image/png", "QUJD"),)))["messages"]
    assert [block["type"] for block in written["content"]] == ["image", "text"]


def test_empty_texts_are_left_out_and_neighbours_of_one_role_merged() -> None:
    messages = Message("user", "a"), Message("assistant", ""), Message("assistant", " "), Message("user", "b")
    (written,) = body_of(*messages)["messages"]
    assert [block["text"] for block in written["content"]] == ["a", "b"]


def test_conversation_always_begins_with_the_user() -> None:
    roles = [one["role"] for one in body_of(Message("assistant", "well"), Message("user", "b"))["messages"]]
    assert roles == ["user", "assistant", "user"]


def test_ids_and_names_of_other_wires_are_made_to_fit() -> None:
    call = ToolCall("functions.x:0", "made up!", malformed="{")
    messages = Message("user", "a"), Message("assistant", None, (call,)), Message("tool", "r", tool_call_id=call.id)
    _, second, third = body_of(*messages)["messages"]
    assert second["content"][0]["id"] == third["content"][0]["tool_use_id"] == "functions_x_0"
    assert (second["content"][0]["name"], second["content"][0]["input"]) == ("made_up_", {"malformed": "{"})


async def test_key_and_version_are_headers(connect: Any) -> None:
    from clawft.config.secret import SecretRef

    with WireServer([say("a")]) as server:
        await collect(connect(server, "anthropic", {"K": "sk-123"}, api_key=SecretRef(env="K")))
        (asked,) = server.asked
    assert asked.path == "/v1/messages"
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == ("sk-123", "2023-06-01")
    assert "authorization" not in asked.headers


def test_usage_counts_what_was_read_from_and_written_to_the_cache() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1}
    chunks = read({"type": "message_start", "message": {"usage": usage}}, stop("end_turn", output_tokens=7))
    assert chunks == [DoneChunk("end", Usage(125, 7, 100, 20))]


def test_usage_that_makes_no_sense_is_0() -> None:
    usage = {"input_tokens": -5, "cache_read_input_tokens": "x", "output_tokens": None}
    assert read({"type": "message_start", "message": {"usage": usage}}, stop("end_turn")) == [
        DoneChunk("end", Usage(0, 0))
    ]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("pause_turn", "end"),
        ("tool_use", "tools"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
    ],
)
def test_reasons_to_stop_are_read(reason: str, expected: str) -> None:
    assert read(stop(reason)) == [DoneChunk(expected)]  # type: ignore[arg-type]


def test_pings_and_unknown_events_are_left_out_and_thoughts_kept_apart() -> None:
    frames: tuple[dict[str, Any], ...] = (
        {"type": "ping"},
        {"type": "something_new"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "yes"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_delta", "index": [1], "delta": {"type": "input_json_delta", "partial_json": "{"}},
        {"type": "content_block_stop", "index": {"a": 1}},
    )
    assert read(*frames, stop("end_turn")) == [ReasoningChunk("thinking", "hmhm"), TextChunk("yes"), DoneChunk("end")]


def test_call_that_comes_whole_or_is_never_stopped_is_given() -> None:
    chunks = read(
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "name": "x", "input": {"a": 1}},
        },
        stop("tool_use"),
    )
    assert isinstance(chunks[0], CallChunk)
    assert (chunks[0].call.name, chunks[0].call.arguments, chunks[0].call.id[:5]) == ("x", {"a": 1}, "call_")


async def test_overload_before_anything_came_is_tried_again(connect: Any) -> None:
    start = b'event: message_start\ndata: {"type": "message_start", "message": {}}\n\n'
    with WireServer([Reply(raw=(start, _OVERLOADED)), say("ok")]) as server:
        chunks = await collect(connect(server, "anthropic"))
    assert isinstance(chunks[0], RetryChunk)
    assert "529: Overloaded" in chunks[0].reason
    assert chunks[1] == TextChunk("ok")


async def test_overload_after_text_cuts_the_stream(connect: Any) -> None:
    text = b'data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half"}}\n\n'
    with WireServer([Reply(raw=(text, _OVERLOADED)), say("never")]) as server:
        with pytest.raises(StreamCut, match="Overloaded"):
            await collect(connect(server, "anthropic"))
        assert len(server.asked) == 1


async def test_answer_without_a_stream_is_read(connect: Any) -> None:
    body = {
        "type": "message",
        "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "a", "name": "x", "input": {"b": 2}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    reply = Reply(headers=(("content-type", "application/json"),), raw=(json.dumps(body).encode(),))
    with WireServer([reply]) as server:
        chunks = await collect(connect(server, "anthropic"))
    assert chunks == [TextChunk("hi"), CallChunk(ToolCall("a", "x", {"b": 2})), DoneChunk("tools", Usage(3, 4))]
