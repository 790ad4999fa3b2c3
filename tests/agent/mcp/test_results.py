"""What a call gives: text in one piece, pictures beside it, the rest named, and never too much."""

from collections.abc import Callable
from typing import Any

import pytest

from clawft.agent.mcp import McpServerPool, RemoteResult
from clawft.agent.mcp.conversion import MAX_RESULT_CHARS
from clawft.config.tools import ServerSettings
from clawft.messages import Image
from scripted_server import ScriptedPeer

pytestmark = pytest.mark.anyio
PoolOf = Callable[..., McpServerPool]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


async def result_of(pool_of: PoolOf, *content: dict[str, Any], **others: Any) -> RemoteResult:
    peer = ScriptedPeer()
    peer.enqueue_response({"content": list(content), **others})
    async with pool_of({"srv": ServerSettings(command="-")}, connect=peer.connect) as pool:
        return await pool.call("srv__tool", {"a": 1})


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


async def test_texts_are_joined(pool_of: PoolOf) -> None:
    assert await result_of(pool_of, text("one"), text("two")) == RemoteResult("one\ntwo")


async def test_an_error_of_the_tool_is_a_result(pool_of: PoolOf) -> None:
    assert await result_of(pool_of, text("no such file"), isError=True) == RemoteResult("no such file", is_error=True)


async def test_pictures_are_passed_on(pool_of: PoolOf) -> None:
    picture = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    embedded = {"type": "resource", "resource": {"uri": "a://b", "blob": PIXEL, "mimeType": "image/webp"}}
    result = await result_of(pool_of, picture, embedded)
    assert result == RemoteResult("", (Image("image/png", PIXEL), Image("image/webp", PIXEL)))


@pytest.mark.parametrize(
    ("block", "note"),
    [
        ({"type": "image", "data": "<svg/>", "mimeType": "image/png"}, "[image left out: it is not base64]"),
        ({"type": "image", "data": "AAAA", "mimeType": "image/x\n"}, "[image image/x, 3 bytes, left out]"),
        ({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}, "[audio audio/wav, 3 bytes, left out]"),
        ({"type": "resource", "resource": {"uri": "a://b", "text": "hi"}}, "[resource a://b]\nhi"),
        (
            {"type": "resource", "resource": {"uri": "a://b", "blob": "AAAA"}},
            "[resource a://b of an unknown type, 3 bytes, left out]",
        ),
        ({"type": "resource_link", "uri": "a://b", "name": "b\u202e"}, "[resource b: a://b]"),
    ],
)
async def test_what_is_no_text_is_named(pool_of: PoolOf, block: dict[str, Any], note: str) -> None:
    assert await result_of(pool_of, block) == RemoteResult(note)


async def test_too_many_and_too_large_pictures_are_named(pool_of: PoolOf) -> None:
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    result = await result_of(pool_of, *[picture] * 22)
    assert len(result.images) == 20
    assert result.text.count("more than 20") == 2
    large = {"type": "image", "data": "AAAA" * 1_800_000, "mimeType": "image/png"}
    assert (await result_of(pool_of, large)).text == "[image image/png, 5400000 bytes, left out]"


async def test_a_structured_result_without_text_is_shown_as_json(pool_of: PoolOf) -> None:
    result = await result_of(pool_of, structuredContent={"city": "Ghent"})
    assert result == RemoteResult('{"city":"Ghent"}', structured={"city": "Ghent"})
    both = await result_of(pool_of, text("Ghent"), structuredContent={"city": "Ghent"})
    assert both == RemoteResult("Ghent", structured={"city": "Ghent"})


async def test_a_result_has_an_end(pool_of: PoolOf) -> None:
    result = await result_of(pool_of, text("x" * (MAX_RESULT_CHARS + 5)))
    assert result.cut
    assert len(result.text) == MAX_RESULT_CHARS
    structured = await result_of(pool_of, structuredContent={"a": "x" * MAX_RESULT_CHARS})
    assert structured.cut
    assert structured.structured is None


async def test_a_server_made_with_the_sdk_gives_every_kind(pool_of: PoolOf, friendly: ServerSettings) -> None:
    async with pool_of({"f": friendly}) as pool:
        tools = {tool.name: tool for tool in (await pool.tools()).tools}
        assert tools["f__add"].read_only_hint
        assert tools["f__add"].description == "Add two numbers."
        assert (await pool.call("f__add", {"a": 2, "b": 3})).text == "5"
        assert (await pool.call("f__fail", {})).is_error
        assert (await pool.call("f__place", {})).structured == {"city": "Ghent", "people": 267_000}
        kinds = await pool.call("f__all_kinds", {})
        assert kinds.images == (Image("image/png", PIXEL),)
        assert kinds.text.splitlines()[0] == "first"
        assert "a note" in kinds.text
