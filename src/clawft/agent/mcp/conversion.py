"""Tools and results of MCP servers converted to ours: checked, cleaned and bounded, since a server may be hostile."""

import binascii
import re
from base64 import b64decode
from typing import Any

import msgspec
from mcp import ClientSession, MCPError
from mcp_types import (
    METHOD_NOT_FOUND,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    PaginatedRequestParams,
    ResourceLink,
    TextContent,
    Tool,
    ToolAnnotations,
)

from clawft.agent.mcp.remote import RemoteResult, RemoteTool, RemoteToolListing, clean_text, cut_text, join_name
from clawft.errors import Diagnostic
from clawft.messages import Image

MAX_TOOLS = 500
_MAX_PAGES = 100
_MAX_DESCRIPTION = 4_000
_MAX_SCHEMA = 64_000
_MAX_TOTAL = 1_000_000  # characters of one server that would go to a model with every request
_MAX_DEPTH = 40
_MAX_REPORTED = 20
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_PROSE = ("description", "title", "$comment")


async def fetch_tools(session: ClientSession, server: str, *, trusted: bool) -> RemoteToolListing:
    """Ask a server for its tools, page by page up to the limit. Raises: what the session raises."""
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        try:
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:  # it has only prompts or resources
                return RemoteToolListing()
            raise
        found += page.tools
        cursor = page.next_cursor
        if not cursor or len(found) > MAX_TOOLS:
            break
    return collect_tools(found, server, trusted=trusted)


def collect_tools(found: list[Tool], server: str, *, trusted: bool) -> RemoteToolListing:
    """The tools that can be offered, and a diagnostic for each that cannot."""
    tools: dict[str, RemoteTool] = {}
    reasons: list[str] = []
    total = 0
    for tool in found[:MAX_TOOLS]:
        converted = _convert(tool, server, trusted)
        if isinstance(converted, str):
            reasons.append(converted)
        elif converted.name in tools:
            reasons.append(f"it names the tool {tool.name} twice; the first counts")
        elif (total := total + len(converted.description) + _length(converted.parameters)) > _MAX_TOTAL:
            reasons.append(f"its tools take more than {_MAX_TOTAL} characters; {tool.name} and the rest were left out")
            break
        else:
            tools[converted.name] = converted
    if len(found) > MAX_TOOLS:
        reasons.append(f"it has more than {MAX_TOOLS} tools; the rest were left out")
    return RemoteToolListing(tuple(tools.values()), _diagnose(server, reasons))


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
    """Return whether it is the schema of an object, with what others read of it in its place."""
    required = schema.get("required", [])
    named = isinstance(required, list) and all(isinstance(name, str) for name in required)
    return schema.get("type") == "object" and isinstance(schema.get("properties", {}), dict) and named


def _length(schema: dict[str, Any]) -> int:
    return len(msgspec.json.encode(schema))


def _diagnose(server: str, reasons: list[str]) -> tuple[Diagnostic, ...]:
    if len(reasons) > _MAX_REPORTED:
        reasons = [*reasons[:_MAX_REPORTED], f"{len(reasons) - _MAX_REPORTED} more of its tools were left out"]
    return tuple(Diagnostic("mcp-tool", "warning", f"The MCP server '{server}': {reason}") for reason in reasons)


MAX_RESULT_CHARS = 2_000_000
_MAX_IMAGES = 20
_MAX_IMAGE_CHARS = 7_000_000  # of base64: what providers take at most
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def convert_result(result: CallToolResult) -> RemoteResult:
    """Convert a tool's result to what the model reads."""
    texts: list[str] = []
    images: list[Image] = []
    for block in result.content:
        part = _convert_block(block)
        if isinstance(part, str):
            texts.append(part)
        elif len(images) < _MAX_IMAGES:
            images.append(part)
        else:
            texts.append(f"[image {part.media_type} left out: there are more than {_MAX_IMAGES}]")
    text, structured = "\n".join(texts), result.structured_content
    if structured is not None:
        encoded = msgspec.json.encode(structured).decode()
        text = text or ("" if images else encoded)
        structured = structured if len(encoded) <= MAX_RESULT_CHARS else None  # else too large to pass on
    cut = len(text) > MAX_RESULT_CHARS
    return RemoteResult(cut_text(text, MAX_RESULT_CHARS), tuple(images), result.is_error, structured, cut)


def _convert_block(block: ContentBlock) -> str | Image:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return _convert_image(block.mime_type, block.data)
        case AudioContent():
            return _note("audio", block.mime_type, block.data)
        case ResourceLink():
            return f"[resource {_short(block.name)}: {_short(block.uri)}]"
        case EmbeddedResource():
            return _convert_resource(block)


def _convert_resource(block: EmbeddedResource) -> str | Image:
    resource = block.resource
    if not isinstance(resource, BlobResourceContents):
        return f"[resource {_short(resource.uri)}]\n{resource.text}"
    if resource.mime_type in _IMAGE_TYPES:
        return _convert_image(resource.mime_type, resource.blob)
    return _note(f"resource {_short(resource.uri)}", resource.mime_type or "of an unknown type", resource.blob)


def _convert_image(media_type: str, data: str) -> str | Image:
    try:
        b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "[image left out: it is not base64]"
    if media_type not in _IMAGE_TYPES or len(data) > _MAX_IMAGE_CHARS:
        return _note("image", media_type, data)
    return Image(media_type, data)


def _note(what: str, media_type: str, data: str) -> str:
    return f"[{what} {_short(media_type)}, {len(data) * 3 // 4} bytes, left out]"


def _short(text: str) -> str:
    return cut_text(" ".join(clean_text(text).split()), 200)
