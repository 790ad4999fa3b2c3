"""What a stage makes of a request, whatever it answers: texts change, and nothing else."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.agent.providers.request import ModelRequest, ModelTool
from clawft.messages import Image, Message, ToolCall
from clawft.plugins.stages import (
    MAX_BATCH_BYTES,
    collect_batches,
    join_request,
    read_changes,
    show_batch,
    split_request,
)

CALLS = (ToolCall("1", "look", {"path": "a", "deep": [1, None, True]}), ToolCall("2", "x", {}, "{"))
REQUEST = ModelRequest(
    "m",
    (
        Message("system", "Be kind."),
        Message("user", "hello", images=(Image("image/png", "aGk="),)),
        Message("assistant", None, CALLS),
        Message("tool", "found", tool_call_id="1", name="look"),
        Message("assistant", "hello"),
    ),
    (ModelTool("look", "Looks.", {"type": "object", "properties": {"path": {"type": "string", "maxLength": 9}}}),),
)
FIELDS = ["role", "content", "tool_calls", "arguments", "images", "name", "description", "parameters", "new"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=6,
)


def show(request: ModelRequest) -> dict[str, Any]:
    (batch,) = collect_batches(split_request(request), {})
    return show_batch(batch)


def answer(given: dict[str, Any]) -> ModelRequest:
    """The request as it is sent, if the stage answers this. Raises: ValueError."""
    pieces = split_request(REQUEST)
    (batch,) = collect_batches(pieces, {})
    return join_request(REQUEST, pieces, read_changes(batch, given))


def frame(request: ModelRequest) -> object:
    """All that is no text."""
    calls = [[(call.id, call.name) for call in one.tool_calls] for one in request.messages]
    said = [(one.role, one.content is None, one.tool_call_id, one.name, one.images) for one in request.messages]
    return request.model, request.temperature, request.max_tokens, said, calls, [one.name for one in request.tools]


def test_what_is_not_changed_is_sent_as_it_was() -> None:
    assert answer(show(REQUEST)) is REQUEST


def test_a_tuple_that_comes_back_as_a_list_was_not_changed() -> None:
    tool = ModelTool("look", "Looks.", {"properties": {"in": {"default": ("a", "b"), "enum": ("a", "b")}}})
    request = ModelRequest("m", (Message("user", "hello"),), (tool,))
    pieces = split_request(request)
    (batch,) = collect_batches(pieces, {})
    changes = read_changes(batch, json.loads(json.dumps(show_batch(batch))))
    assert all(one is None for one in changes.values())


def test_every_text_can_be_changed() -> None:
    given = show(REQUEST)
    given["system"] = "Be brief."
    given["messages"][1]["tool_calls"][0]["arguments"] = {"path": "b"}
    given["messages"][1]["tool_calls"][1]["arguments"] = "["
    given["tools"][0]["parameters"]["properties"]["path"]["type"] = "text"
    sent = answer(given)
    assert sent.messages[0].content == "Be brief."
    assert [call.arguments for call in sent.messages[2].tool_calls] == [{"path": "b"}, {}]
    assert sent.messages[2].tool_calls[1].malformed == "["
    assert sent.tools[0].parameters["properties"]["path"] == {"type": "text", "maxLength": 9}
    assert frame(sent) == frame(REQUEST)


@settings(max_examples=150, deadline=None)
@given(
    where=st.sampled_from(["system", "messages", "tools"]),
    at=st.integers(0, 3),
    field=st.sampled_from(FIELDS),
    value=JSON,
)
def test_whatever_a_stage_answers_only_texts_change(where: str, at: int, field: str, value: Any) -> None:
    given = show(REQUEST)
    if where == "system" or at >= len(given[where]):
        given[where] = value
    else:
        given[where][at][field] = value
    try:
        sent = answer(given)
    except ValueError:
        return
    assert frame(sent) == frame(REQUEST)


def test_each_text_is_shown_once_and_in_parts_that_fit() -> None:
    long = tuple(Message("user", f"{number} " + "x" * 100_000) for number in range(20))
    pieces = split_request(ModelRequest("m", (*long, *long, Message("user", "y" * 2 * MAX_BATCH_BYTES))))
    batches = list(collect_batches(pieces, {}))
    shown = [one["content"] for batch in batches for one in show_batch(batch)["messages"]]
    assert len(shown) == len(set(shown)) == 21
    assert all(sum(one.size for one in batch) <= MAX_BATCH_BYTES or len(batch) == 1 for batch in batches)
    assert list(collect_batches(pieces, {one.digest: None for one in pieces})) == []
