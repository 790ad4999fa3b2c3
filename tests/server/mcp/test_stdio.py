"""`weft mcp`: a process that speaks MCP on its pipes."""

import json
import os
import signal
import subprocess
from typing import Any

import pytest
from mcp_types import ElicitResult, TextContent

from mcp_clients import MODES, connect, stdio_of
from serve_world import ServeWorld

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", [MODES[0], pytest.param(MODES[1], marks=pytest.mark.soak)])
async def test_a_client_that_starts_it_lists_gets_and_executes_skills(piped: ServeWorld, mode: str) -> None:
    async def elicit(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"answer": "once"})

    made = piped.project / "made"
    made.unlink(missing_ok=True)
    async with connect(stdio_of(piped), mode, elicitation_callback=elicit) as client:
        assert len((await client.list_tools()).tools) == 4
        assert {"greet", "route"} <= {one.name for one in (await client.list_prompts()).prompts}
        uris = [str(one.uri) for one in (await client.list_resources()).resources]
        assert "skill://user/route/SKILL.md" in uris
        (prompt,) = (await client.get_prompt("greet", {"arguments": "Bo"})).messages
        assert isinstance(prompt.content, TextContent)
        assert prompt.content.text == "Say hello to Bo."
        result = await client.call_tool("skill-execute", {"name": "greet", "arguments": "asker"})
        assert (result.is_error, result.structured_content["text"]) == (False, "It was asked.")
        assert result.structured_content["session"].startswith("@mcp:")
    assert made.exists()


@pytest.mark.parametrize("mode", [MODES[0], pytest.param(MODES[1], marks=pytest.mark.soak)])
async def test_a_name_that_is_no_text_ends_nothing(piped: ServeWorld, mode: str) -> None:
    folder = os.path.join(os.fsencode(piped.user_dir), b"skills", b"od\xff", b"odd")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, b"SKILL.md"), "w") as file:
        file.write("---\nname: odd\ndescription: Lies in an odd folder.\n---\nLook at ${CLAUDE_SKILL_DIR}.\n")
    async with connect(stdio_of(piped), mode) as client:
        (message,) = (await client.get_prompt("odd")).messages
        assert "/od?/odd." in str(message.content)
        done = await client.call_tool("skill-execute", {"name": "odd"})
        assert "/od?/odd." in done.structured_content["text"]


def test_nothing_but_the_protocol_is_on_its_output_and_a_signal_ends_it(piped: ServeWorld) -> None:
    server = stdio_of(piped, "--scope", "read")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"name": "skill-execute", "arguments": {"name": "greet"}}
    lines = [
        "nonsense",
        '{"jsonrpc": "2.0", "id": ',
        "[1, 2]",
        '"' + "a" * (2 << 20) + '"',
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "no/such"}),
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}),
        json.dumps({"jsonrpc": "2.0", "id": 4, "method": "tools/list"}),
    ]
    command = [server.command, *server.args]
    with subprocess.Popen(
        command, cwd=server.cwd, env=server.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{one}\n" for one in lines).encode())
        process.stdin.flush()
        said = [json.loads(process.stdout.readline()) for _ in range(8)]
        process.send_signal(signal.SIGTERM)  # while its input is open
        assert process.wait(30) == 0
        assert process.stdout.read() == b""
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert [one["error"]["code"] for one in said if one["id"] is None] == [-32700] * 4
    by_id = {one["id"]: one for one in said if one["id"] is not None}
    assert by_id[1]["result"]["protocolVersion"] == "2025-06-18"
    assert by_id[2]["error"]["code"] == -32601
    assert by_id[3]["result"]["content"][0]["text"].startswith("error[scope-missing]")
    assert [one["name"] for one in by_id[4]["result"]["tools"]] == ["skill-list", "skill-search", "skill-scan"]
