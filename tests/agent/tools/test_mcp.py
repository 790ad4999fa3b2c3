"""Tools of MCP servers as tools of ours: who is asked, and what comes back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.builtin_stages import server_tools
from clawft.agent.mcp import McpServerPool
from clawft.agent.mcp.launch import LaunchTerms
from clawft.agent.tools.tool import Tool, ToolError, ToolRegistry, ToolResult, may_repeat
from clawft.config.tools import McpSettings, ServerSettings
from clawft.messages import Image
from clawft.workspace import Workspace
from scripted_server import ScriptedPeer
from tool_contexts import make_context

pytestmark = pytest.mark.anyio
TOOLS: list[dict[str, Any]] = [
    {"name": "read", "description": "Reads.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "write", "description": "Writes.", "inputSchema": {"type": "object"}},
]
SETTING = {"name": "set", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": True}}
Make = Callable[..., tuple[McpServerPool, ScriptedPeer]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A pool of one scripted server `srv` that offers TOOLS, and more."""

    def made(*more: dict[str, Any], **settings: Any) -> tuple[McpServerPool, ScriptedPeer]:
        peer = ScriptedPeer()
        peer.enqueue_response({"tools": [*TOOLS, *more]})
        workspace = Workspace(str(tmp_path), str(tmp_path), str(tmp_path), str(tmp_path))
        servers = {"srv": ServerSettings(command="-", **settings)}
        return McpServerPool(McpSettings(servers=servers), workspace, {}, connect=peer.connect), peer

    return made


class Person:
    """Whoever is asked; gives the same answer every time."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    async def ask(self, question: str, reason: str, *, dangerous: bool = False) -> bool:
        self.asked.append((question, reason))
        return self.answer


async def tools_of(pool: McpServerPool) -> dict[str, Tool]:
    return {tool.name: tool for tool in server_tools(pool, (await pool.tools()).tools)}


async def run(tool: Tool, arguments: dict[str, Any], person: Person) -> ToolResult:
    where = Workspace("/", "/", "/", "/")
    return await tool.run(arguments, make_context(where, {}, "", person.ask))


async def test_tools_keep_their_names_and_are_found_by_pattern(make: Make) -> None:
    pool, _ = make(trusted=True)
    async with pool:
        registry = ToolRegistry((await tools_of(pool)).values())
    assert registry.names == ("srv__read", "srv__write")
    assert registry.select(("srv__*",)).names == ("srv__read", "srv__write")
    assert registry.select(("srv__read",)).names == ("srv__read",)
    assert registry.select(("read", "Read", "other__*")).names == ()
    read = registry.find("srv__read")
    assert read is not None
    assert (read.description, read.parameters, read.arguments) == ("Reads.", {"type": "object"}, None)


async def test_only_the_word_of_a_trusted_server_counts(make: Make) -> None:
    for trusted in (True, False):
        pool, _ = make(trusted=trusted)
        async with pool:
            tools = await tools_of(pool)
        assert tools["srv__read"].read_only is trusted
        assert tools["srv__write"].read_only is False


async def test_a_call_is_made_twice_only_on_the_word_of_a_trusted_server(make: Make) -> None:
    for trusted in (True, False):
        pool, _ = make(SETTING, trusted=trusted)
        async with pool:
            tools = await tools_of(pool)
        assert {name: may_repeat(tool, {}) for name, tool in tools.items()} == {
            "srv__read": trusted,
            "srv__write": False,
            "srv__set": trusted,
        }
        assert not any(tool.check for tool in tools.values())
        assert tools["srv__set"].read_only is False


async def test_a_trusted_server_is_not_asked_about(make: Make) -> None:
    pool, peer = make(trusted=True)
    person = Person(answer=False)
    peer.enqueue_response({"content": [{"type": "text", "text": "done"}]})
    async with pool:
        result = await run((await tools_of(pool))["srv__write"], {"a": 1}, person)
    assert result == ToolResult("done")
    assert person.asked == []
    assert peer.sent_messages[-1]["params"]["arguments"] == {"a": 1}


async def test_a_stranger_runs_only_after_a_yes(make: Make) -> None:
    pool, peer = make()
    person = Person(answer=True)
    peer.enqueue_response({"content": [{"type": "text", "text": "done"}]})
    async with pool:
        tool = (await tools_of(pool))["srv__read"]
        assert (await run(tool, {"path": "a\u202eb" + "x" * 900}, person)).text == "done"
        ((question, reason),) = person.asked
        assert question == "Let the MCP server 'srv' run srv__read?"
        # As it will be sent: whoever shows it names the character that turns the text around.
        assert reason.startswith('The server is not trusted. Arguments: {"path": "a\u202ebxxx')
        assert reason.endswith("xxx… (915 characters)")
        sent = len(peer.sent_messages)
        with pytest.raises(ToolError) as caught:
            await run(tool, {}, Person(answer=False))
    assert caught.value.error_code == "PERMISSION_DENIED"
    assert "trusted = true" in caught.value.hint
    assert len(peer.sent_messages) == sent


async def test_whoever_is_refused_a_tool_of_a_plugin_is_told_what_allows_it(make: Make) -> None:
    pool, _ = make()
    pool.join("srv", ServerSettings(command="-"), LaunchTerms(lambda _: None, ""))  # no such server is in the config
    async with pool:
        tool = (await tools_of(pool))["srv__write"]
        with pytest.raises(ToolError) as refused:
            await run(tool, {}, Person(answer=False))
    assert refused.value.hint == "To run it without being asked: weft permissions allow srv__write"


async def test_results_keep_their_pictures_and_facts(make: Make) -> None:
    pool, peer = make(trusted=True)
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    peer.enqueue_response({"content": [picture], "structuredContent": {"n": 1}})
    peer.enqueue_response({"content": [{"type": "text", "text": "no"}], "isError": True})
    peer.enqueue_response({"content": [{"type": "text", "text": "x" * 2_000_001}]})
    async with pool:
        tool = (await tools_of(pool))["srv__read"]
        person = Person(answer=False)
        shown = await run(tool, {}, person)
        assert shown == ToolResult("", "success", {"structured": {"n": 1}}, (Image("image/png", "AAAA"),))
        assert await run(tool, {}, person) == ToolResult("no", "error")
        assert (await run(tool, {}, person)).status == "partial"


async def test_failures_carry_the_code_a_model_knows(make: Make) -> None:
    pool, peer = make(trusted=True, timeout_s=0.2)
    peer.enqueue_error(-32602, "a is missing")
    peer.enqueue_error(-32603, "broken")
    peer.enqueue_silence()
    codes = []
    async with pool:
        tool = (await tools_of(pool))["srv__read"]
        for _ in range(3):
            with pytest.raises(ToolError) as caught:
                await run(tool, {}, Person(answer=False))
            codes.append(caught.value.error_code)
    assert codes == ["INVALID_PARAM", "EXECUTION_ERROR", "TIMEOUT"]
    assert peer.sent_messages[-1]["method"] == "notifications/cancelled"
