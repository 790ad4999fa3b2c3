"""A server behind an address: real ones on loopback, one made with the SDK and ones that misbehave."""

import gzip
import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from clawft.agent.mcp import McpServerPool, RemoteError
from clawft.config.tools import ServerSettings

pytestmark = pytest.mark.anyio
PoolOf = Callable[..., McpServerPool]
Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def sdk_server(server: MCPServer, seen: list[str]) -> Iterator[str]:
    """A server of the SDK on a free port, in a thread; `seen` gets the key of every request."""
    app = server.streamable_http_app()

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        seen.extend(value.decode() for name, value in scope.get("headers", ()) if name == b"x-key")
        await app(scope, receive, send)

    config = uvicorn.Config(watched, port=0, log_config=None, lifespan="on", ws="none", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        assert thread.is_alive()
    port = running.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        running.should_exit = True
        thread.join(60)


@contextmanager
def raw_server(answer: Callable[[dict[str, Any], dict[str, str]], Answer]) -> Iterator[str]:
    """A server that answers each message as it is told to."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, headers, content = answer(body, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(status)
            for name, value in {"content-length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self.send_error(405)

        def do_DELETE(self) -> None:
            self.send_error(405)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join(60)


def reply(body: dict[str, Any], result: dict[str, Any], **headers: str) -> Answer:
    message = json.dumps({"jsonrpc": "2.0", "id": body.get("id"), "result": result}).encode()
    return 200, {"content-type": "application/json", **headers}, message


def greet(body: dict[str, Any], **headers: str) -> Answer | None:
    """What every server answers to the first messages; None for those that come after."""
    if body["method"] == "server/discover":
        return 404, {}, b""
    if body["method"] == "initialize":
        about = {"name": "raw", "version": "1"}
        return reply(
            body, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}, **headers
        )
    return (202, {}, b"") if "id" not in body else None


async def test_a_server_is_used_over_http_with_its_headers(
    pool_of: PoolOf, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server = MCPServer("web")
    seen: list[str] = []

    @server.tool()
    async def more(ctx: Context) -> str:
        """Adds a tool."""
        server.add_tool(lambda: "new", name="new", description="New.")
        await ctx.notify_tools_changed()
        return "done"

    with sdk_server(server, seen) as url:
        settings = ServerSettings(url=url, headers={"X-Key": "k ${TOKEN}"})
        async with pool_of({"web": settings}, {"TOKEN": "tok-12345"}) as pool:
            assert [tool.name for tool in (await pool.tools()).tools] == ["web__more"]
            assert (await pool.call("web__more", {})).text == "done"
            with anyio.fail_after(60):
                while [tool.name for tool in (await pool.tools()).tools] != ["web__more", "web__new"]:
                    await anyio.sleep(0.01)
            assert (await pool.call("web__new", {})).text == "new"
    assert set(seen) == {"k tok-12345"}
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if not record.name.startswith(("uvicorn", "mcp.server"))] == []


async def test_an_address_where_nobody_listens_is_a_diagnostic(pool_of: PoolOf) -> None:
    with raw_server(lambda *_: (500, {}, b"")) as url:
        pass
    async with pool_of({"web": ServerSettings(url=url)}) as pool:
        (found,) = (await pool.tools()).diagnostics
    assert found.code == "mcp-start"
    assert "cannot be reached" in found.message


async def test_a_server_that_refuses_the_key_is_named_by_its_status(pool_of: PoolOf) -> None:
    with raw_server(lambda body, headers: (401, {}, headers["authorization"].encode())) as url:
        settings = ServerSettings(url=url + "?key=hunter2", headers={"Authorization": "Bearer ${TOKEN}"})
        async with pool_of({"web": settings}, {"TOKEN": "tok-12345"}) as pool:
            (found,) = (await pool.tools()).diagnostics
    assert found.code == "mcp-start"
    assert "HTTP 401" in found.message
    assert "tok-12345" not in str(found)
    assert "hunter2" not in str(found)


async def test_a_session_that_the_server_forgot_is_opened_anew(pool_of: PoolOf) -> None:
    sessions: list[str] = []

    def answer(body: dict[str, Any], headers: dict[str, str]) -> Answer:
        if body["method"] == "initialize":
            sessions.append(f"s{len(sessions)}")
        greeting = greet(body, **{"mcp-session-id": sessions[-1] if sessions else ""})
        if greeting is not None:
            return greeting
        if headers["mcp-session-id"] == "s0" and body["method"] == "tools/call":
            return 404, {}, b""
        return reply(body, {"content": [{"type": "text", "text": headers["mcp-session-id"]}]})

    with raw_server(answer) as url:
        async with pool_of({"web": ServerSettings(url=url)}) as pool:
            with pytest.raises(RemoteError) as caught:
                await pool.call("web__x", {})
            assert caught.value.code == "mcp-lost"
            assert (await pool.call("web__x", {})).text == "s1"


@pytest.mark.parametrize("packed", [False, True])
async def test_an_answer_that_is_too_large_or_packed_is_refused(pool_of: PoolOf, packed: bool) -> None:
    def answer(body: dict[str, Any], _: dict[str, str]) -> Answer:
        if (greeting := greet(body)) is not None:
            return greeting
        size = 10 if body["params"]["name"] == "small" else 25_000_000
        status, headers, content = reply(body, {"content": [{"type": "text", "text": "x" * size}]})
        if packed and size > 10:
            return status, {**headers, "content-encoding": "gzip"}, gzip.compress(content)
        return status, headers, content

    with raw_server(answer) as url:
        async with pool_of({"web": ServerSettings(url=url)}) as pool:
            with pytest.raises(RemoteError):
                await pool.call("web__large", {})
            assert (await pool.call("web__small", {})).text == "x" * 10


async def test_a_redirect_to_another_place_is_not_followed(pool_of: PoolOf) -> None:
    asked: list[str] = []

    def other(body: dict[str, Any], _: dict[str, str]) -> Answer:
        asked.append(body["method"])
        return 500, {}, b""

    with raw_server(other) as elsewhere, raw_server(lambda *_: (307, {"location": elsewhere}, b"")) as url:
        settings = ServerSettings(url=url, headers={"X-Key": "tok-12345"})
        async with pool_of({"web": settings}) as pool:
            (found,) = (await pool.tools()).diagnostics
    assert found.code == "mcp-start"
    assert asked == []
