"""The least that an MCP server of the same SDK does: one tool, which gives what is in a file. On stdio, or HTTP."""

import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, Tool
from starlette.applications import Starlette
from starlette.routing import Route


def make_server(path: str) -> Server[Any]:
    given = json.loads(Path(path).read_text("utf-8"))
    result = CallToolResult.model_validate(
        {"content": given["content"], "structuredContent": given["structuredContent"]}
    )
    tool = Tool(name="skill-list", input_schema={"type": "object"})

    async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool])

    async def call_tool(_context: Any, _params: CallToolRequestParams) -> CallToolResult:
        return result

    return Server(
        "weft",
        version="0.1.0",
        title="weft",
        get_tool_input_schema=lambda _: tool.input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_pipes(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_http(server: Server[Any]) -> None:
    manager = StreamableHTTPSessionManager(server)

    @asynccontextmanager
    async def live(_app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    listening = socket.socket(proto=socket.IPPROTO_TCP)  # so that asyncio lets it send at once
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    app = Starlette(routes=[Route("/mcp", _Ask(manager))], lifespan=live)
    uvicorn.Server(uvicorn.Config(app, http="h11", loop="asyncio", log_config=None)).run([listening])


class _Ask:
    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._manager.handle_request(scope, receive, send)


if __name__ == "__main__":
    if sys.argv[1] == "http":
        serve_http(make_server(sys.argv[2]))
    else:
        anyio.run(serve_pipes, make_server(sys.argv[2]))
