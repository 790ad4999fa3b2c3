"""The tools a server names, made into ours: checked, cleaned and bounded, since a server may be hostile."""

import re
from typing import Any

import msgspec
from mcp import ClientSession, MCPError
from mcp_types import METHOD_NOT_FOUND, PaginatedRequestParams, Tool, ToolAnnotations

from clawft.errors import Diagnostic
from clawft.mcp.plain import clean_text, cut_text
from clawft.mcp.remote import Listing, RemoteTool, join_name

__all__ = ["MAX_TOOLS", "collect_tools", "fetch_tools"]

MAX_TOOLS = 500
_MAX_PAGES = 100
_MAX_DESCRIPTION = 4_000
_MAX_SCHEMA = 64_000
_MAX_TOTAL = 1_000_000  # characters of one server that would go to a model with every request
_MAX_DEPTH = 40
_MAX_SAID = 20
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_PROSE = ("description", "title", "$comment")


async def fetch_tools(session: ClientSession, server: str, *, trusted: bool) -> Listing:
    """Ask a server for its tools, page by page up to the limit. Raises: what the session raises."""
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        try:
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:  # it has only prompts or resources
                return Listing()
            raise
        found += page.tools
        cursor = page.next_cursor
        if not cursor or len(found) > MAX_TOOLS:
            break
    return collect_tools(found, server, trusted=trusted)


def collect_tools(found: list[Tool], server: str, *, trusted: bool) -> Listing:
    """The tools that can be offered, and a diagnostic for each that cannot."""
    tools: dict[str, RemoteTool] = {}
    said: list[str] = []
    total = 0
    for tool in found[:MAX_TOOLS]:
        converted = _convert(tool, server, trusted)
        if isinstance(converted, str):
            said.append(converted)
        elif converted.name in tools:
            said.append(f"it names the tool {tool.name} twice; the first counts")
        elif (total := total + _size(converted)) > _MAX_TOTAL:
            said.append(f"its tools take more than {_MAX_TOTAL} characters; {tool.name} and the rest were left out")
            break
        else:
            tools[converted.name] = converted
    if len(found) > MAX_TOOLS:
        said.append(f"it has more than {MAX_TOOLS} tools; the rest were left out")
    return Listing(tuple(tools.values()), _diagnose(server, said))


def _convert(tool: Tool, server: str, trusted: bool) -> RemoteTool | str:
    """A tool of ours, or why there is none."""
    if not _TOOL_NAME.fullmatch(tool.name):
        return f"a tool is called {tool.name[:60]!a}, which is no name for a tool"
    parameters = _clean_schema(tool.input_schema, _MAX_DEPTH)
    if parameters is None or not _is_object(parameters) or _length(parameters) > _MAX_SCHEMA:
        return f"the schema of {tool.name} is too large, too deep or not that of an object"
    hints = tool.annotations or ToolAnnotations()
    description = cut_text(clean_text(tool.description or ""), _MAX_DESCRIPTION)
    return RemoteTool(
        join_name(server, tool.name),
        description,
        parameters,
        server,
        read_only_hint=hints.read_only_hint is True,
        trusted=trusted,
        idempotent_hint=hints.idempotent_hint is True,
    )


def _clean_schema(schema: dict[str, Any], depth: int) -> dict[str, Any] | None:
    """A schema whose prose hides nothing; None if it is nested too deep. Names and values stay as they are."""
    try:
        return {key: _clean_value(key, value, depth) for key, value in schema.items()}
    except RecursionError:
        return None


def _clean_value(key: str, value: Any, depth: int) -> Any:
    if depth == 0:
        raise RecursionError
    if isinstance(value, str):
        return clean_text(value) if key in _PROSE else value
    if isinstance(value, dict):
        return {inner: _clean_value(inner, held, depth - 1) for inner, held in value.items()}
    return [_clean_value("", held, depth - 1) for held in value] if isinstance(value, list) else value


def _is_object(schema: dict[str, Any]) -> bool:
    """Whether it is the schema of an object, with what others read of it in its place."""
    required = schema.get("required", [])
    named = isinstance(required, list) and all(isinstance(name, str) for name in required)
    return schema.get("type") == "object" and isinstance(schema.get("properties", {}), dict) and named


def _length(schema: dict[str, Any]) -> int:
    return len(msgspec.json.encode(schema))


def _size(tool: RemoteTool) -> int:
    return len(tool.description) + _length(tool.parameters)


def _diagnose(server: str, said: list[str]) -> tuple[Diagnostic, ...]:
    if len(said) > _MAX_SAID:
        said = [*said[:_MAX_SAID], f"{len(said) - _MAX_SAID} more of its tools were left out"]
    return tuple(Diagnostic("mcp-tool", "warning", f"The MCP server '{server}': {reason}") for reason in said)
