"""The tools a server names become ours, however hostile their names, texts and numbers are."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from clawft.agent.mcp import McpServerPool, RemoteToolListing
from clawft.config.tools import ServerSettings
from scripted_server import ScriptedPeer

pytestmark = pytest.mark.anyio
PoolOf = Callable[..., McpServerPool]
OBJECT = {"type": "object", "properties": {}}


async def listing_of(pool_of: PoolOf, *tools: dict[str, Any], trusted: bool = False) -> RemoteToolListing:
    peer = ScriptedPeer()
    peer.enqueue_response({"tools": list(tools)})
    async with pool_of({"srv": ServerSettings(command="-", trusted=trusted)}, connect=peer.connect) as pool:
        return await pool.tools()


async def test_a_tool_is_known_by_server_and_name(pool_of: PoolOf) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    described = {"name": "find", "description": "Finds.", "inputSchema": schema, "annotations": {"readOnlyHint": True}}
    tools, diagnostics = await listing_of(pool_of, described, trusted=True)
    assert [(t.name, t.server, t.description, t.read_only_hint, t.trusted) for t in tools] == [
        ("srv__find", "srv", "Finds.", True, True)
    ]
    assert tools[0].parameters == schema
    assert diagnostics == ()


@pytest.mark.parametrize("name", ["", "a b", "x" * 129, "rm -rf /", "a\u202eb", "é", "a\n"])
async def test_a_tool_with_a_bad_name_is_left_out_and_said(pool_of: PoolOf, name: str) -> None:
    tools, diagnostics = await listing_of(
        pool_of, {"name": name, "inputSchema": OBJECT}, {"name": "ok", "inputSchema": OBJECT}
    )
    assert [tool.name for tool in tools] == ["srv__ok"]
    assert [found.code for found in diagnostics] == ["mcp-tool"]
    assert diagnostics[0].message.isascii()


async def test_the_first_of_two_tools_with_one_name_counts(pool_of: PoolOf) -> None:
    tools, diagnostics = await listing_of(
        pool_of,
        {"name": "a", "description": "first", "inputSchema": OBJECT},
        {"name": "a", "description": "second", "inputSchema": OBJECT},
    )
    assert [tool.description for tool in tools] == ["first"]
    assert "twice" in diagnostics[0].message


async def test_descriptions_hide_nothing_and_end(pool_of: PoolOf) -> None:
    hidden = "Adds\u200b two\u202e numbers\U000e0041\U000e0042.\x1b[31m\ufeff\u2066\n" + "x" * 5_000
    schema = {
        "type": "object",
        "properties": {"description": {"type": "string", "description": "The\u200b text", "enum": ["a\u200b"]}},
    }
    (tool,), _ = await listing_of(pool_of, {"name": "add", "description": hidden, "inputSchema": schema})
    assert tool.description.startswith("Adds two numbers.[31m\nxxx")
    assert len(tool.description) == 4_000
    kept = tool.parameters["properties"]["description"]
    assert kept == {"type": "string", "description": "The text", "enum": ["a\u200b"]}


async def test_schemas_that_are_too_large_or_too_deep_are_left_out(pool_of: PoolOf) -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(60):
        deep = {"type": "object", "properties": {"a": deep}}
    large = {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 70_000}}}
    tools, diagnostics = await listing_of(
        pool_of,
        {"name": "deep", "inputSchema": deep},
        {"name": "large", "inputSchema": large},
        {"name": "ok", "inputSchema": OBJECT},
    )
    assert [tool.name for tool in tools] == ["srv__ok"]
    assert [found.code for found in diagnostics] == ["mcp-tool"] * 2


async def test_a_server_cannot_fill_the_prompt(pool_of: PoolOf) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 60_000}}}
    tools, diagnostics = await listing_of(
        pool_of, *({"name": f"t{number}", "inputSchema": schema} for number in range(100))
    )
    assert len(tools) == 16
    assert "1000000 characters" in diagnostics[-1].message


async def test_many_bad_tools_give_few_diagnostics(pool_of: PoolOf) -> None:
    bad = [{"name": f"no name {number}", "inputSchema": OBJECT} for number in range(300)]
    _, diagnostics = await listing_of(pool_of, *bad)
    assert len(diagnostics) == 21
    assert "280 more" in diagnostics[-1].message


async def test_an_endless_list_ends(pool_of: PoolOf, plain: Callable[..., ServerSettings]) -> None:
    async with pool_of({"srv": plain("flood")}) as pool:
        tools, diagnostics = await pool.tools()
    assert len(tools) == 500
    assert "more than 500 tools" in diagnostics[-1].message


async def test_empty_pages_without_end_end(pool_of: PoolOf) -> None:
    peer = ScriptedPeer()
    for number in range(101):
        peer.enqueue_response({"tools": [], "nextCursor": f"c{number}"})
    async with pool_of({"srv": ServerSettings(command="-")}, connect=peer.connect) as pool:
        assert await pool.tools() == RemoteToolListing()
    assert len(peer.sent_messages) == 100


async def test_a_server_without_tools_is_no_problem(pool_of: PoolOf) -> None:
    peer = ScriptedPeer()
    peer.enqueue_error(-32601, "Method not found")
    async with pool_of({"srv": ServerSettings(command="-")}, connect=peer.connect) as pool:
        assert await pool.tools() == RemoteToolListing()


@pytest.mark.parametrize(
    "tool", [{"name": 5}, {"name": "a"}, {"name": "a", "inputSchema": {"type": "object", "required": "all"}}]
)
async def test_a_list_that_makes_no_sense_is_a_diagnostic(pool_of: PoolOf, tool: dict[str, Any]) -> None:
    peer = ScriptedPeer()
    peer.enqueue_response({"tools": [tool]})
    async with pool_of({"srv": ServerSettings(command="-")}, connect=peer.connect) as pool:
        tools, diagnostics = await pool.tools()
    assert tools == ()
    assert [(found.code, found.severity) for found in diagnostics] == [("mcp-refused", "warning")]


async def test_changed_tools_are_seen_at_the_next_turn(pool_of: PoolOf) -> None:
    peer = ScriptedPeer()
    peer.enqueue_response({"tools": [{"name": "old", "inputSchema": OBJECT}]})
    peer.enqueue_response({"content": []})
    peer.enqueue_error(-32603, "not now")
    peer.enqueue_response({"tools": [{"name": "new", "inputSchema": OBJECT}]})
    async with pool_of({"srv": ServerSettings(command="-")}, connect=peer.connect) as pool:
        assert [tool.name for tool in (await pool.tools()).tools] == ["srv__old"]
        assert [tool.name for tool in (await pool.tools()).tools] == ["srv__old"]
        assert len(peer.sent_messages) == 1
        await peer.send({"method": "notifications/tools/list_changed"})
        await pool.call("srv__old", {})  # answered after the notice
        assert [found.code for found in (await pool.tools()).diagnostics] == ["mcp-refused"]
        assert [tool.name for tool in (await pool.tools()).tools] == ["srv__new"]


async def test_a_server_of_today_tells_of_changes_by_subscription(pool_of: PoolOf, friendly: ServerSettings) -> None:
    async with pool_of({"f": friendly}) as pool:
        for _ in range(5):  # by now it listens, and has read the list since
            assert "f__grown" not in {tool.name for tool in (await pool.tools()).tools}
            await pool.call("f__add", {"a": 1, "b": 2})
        await pool.call("f__grow", {})
        with anyio.fail_after(60):
            while "f__grown" not in {tool.name for tool in (await pool.tools()).tools}:
                await anyio.sleep(0.01)
        assert (await pool.call("f__grown", {})).text == "grown"
