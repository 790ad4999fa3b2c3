"""Tools of MCP servers as tools of ours: asked about before they run, unless the user trusts the server."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from clawft.mcp import McpHub, RemoteError, RemoteTool
from clawft.tools.tool import ErrorCode, Status, Tool, ToolContext, ToolError, ToolResult

__all__ = ["server_tools"]

_MAX_ASKED = 500  # characters of arguments that a question shows
_CODES: dict[str, ErrorCode] = {
    "mcp-timeout": "TIMEOUT",
    "mcp-arguments": "INVALID_PARAM",
    "mcp-unknown": "NOT_FOUND",
}


def server_tools(hub: McpHub, remote: Iterable[RemoteTool]) -> tuple[Tool, ...]:
    """One tool of ours for each that a server offers."""
    return tuple(_make_tool(hub, tool) for tool in remote)


def _make_tool(hub: McpHub, remote: RemoteTool) -> Tool:
    async def run(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        if not remote.trusted or context.must_ask:
            await _ask(hub, remote, arguments, context)
        context.act.begin()
        return await _call(hub, remote, arguments)

    # What a server says of itself counts only where the user trusts it.
    read_only = remote.trusted and remote.read_only_hint
    twice = remote.trusted and (remote.read_only_hint or remote.idempotent_hint)
    return Tool(
        remote.name,
        remote.description,
        run,
        remote.parameters,
        read_only=read_only,
        asks=True,
        repeatable=lambda _: twice,
    )


async def _ask(hub: McpHub, remote: RemoteTool, arguments: Mapping[str, Any], context: ToolContext) -> None:
    shown = json.dumps(arguments, ensure_ascii=False, default=repr)
    cut = shown if len(shown) <= _MAX_ASKED else f"{shown[:_MAX_ASKED]}… ({len(shown)} characters)"
    question = f"Let the MCP server '{remote.server}' run {remote.name}?"
    why = "The server is not trusted" if not remote.trusted else f"Asked by {context.must_ask}"
    if not await context.ask(question, f"{why}. Arguments: {cut}"):
        hint = f"Set trusted = true in [mcp.servers.{remote.server}] to run its tools without being asked"
        if hub.is_brought(remote.server):
            hint = f"To run it without being asked: weft permissions allow {remote.name}"
        raise ToolError("PERMISSION_DENIED", f"{remote.name} was not allowed to run", hint=hint)


async def _call(hub: McpHub, remote: RemoteTool, arguments: Mapping[str, Any]) -> ToolResult:
    try:
        result = await hub.call(remote.name, arguments)
    except RemoteError as error:
        raise ToolError(_CODES.get(error.code, "EXECUTION_ERROR"), str(error), hint=error.hint) from error
    status: Status = "error" if result.is_error else "partial" if result.cut else "success"
    data = {} if result.structured is None else {"structured": result.structured}
    return ToolResult(result.text, status, data, result.images)
