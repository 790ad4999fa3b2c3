"""The hub as an MCP server: its skills by the Skills extension (SEP-2640), and a tool that searches them.

Every request stands for itself, so that several instances can serve one client. Who may ask is decided before.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, ParamSpec, TypeVar

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from starlette.responses import PlainTextResponse

from clawft import __version__
from clawft.errors import ClawftError
from clawft.hub.context import Hub
from clawft.hub.mcp_skills import Served, find_served, list_served, serve_listed
from clawft.hub.model import Listed
from clawft.mcp.skills_extension import ServedFile
from clawft.mcp.skills_server import SkillsServer

__all__ = ["HubMcp"]

MAX_REQUEST = 256 * 1024
_MAX_QUERY = 500
_NAMESPACE = "dev.clawft.hub"
_INSTRUCTIONS = "Skills of a private hub. Search them with skill-search; read one at the uri that it gives."
_SEARCH = Tool(
    name="skill-search",
    description="Search the skills of this hub by words. Gives names, what they do, the scanner's verdict and uris.",
    input_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": _MAX_QUERY},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)

P = ParamSpec("P")
T = TypeVar("T")


class _HubShelf:
    """What the hub's store serves."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._store = hub.store

    async def ask(self, function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Raises: MCPError."""
        try:
            return await self._hub.read(function, *given, **named)
        except ClawftError as error:
            code = INTERNAL_ERROR if error.code in ("hub-busy", "hub-database", "hub-blobs") else INVALID_PARAMS
            raise MCPError(code, str(error)) from error

    async def list(self, _context: Any, limit: int, cursor: str) -> tuple[Sequence[Served], str]:
        return await self.ask(list_served, self._store, limit, cursor)

    async def find(self, _context: Any, address: str) -> tuple[Served, str] | None:
        return await self.ask(find_served, self._store, address)

    async def read(self, _context: Any, _served: Served, file: ServedFile) -> bytes:
        return await self.ask(self._store.get_blob, file.sha256)

    def describe(self, served: Served) -> dict[str, Any]:
        return {
            f"{_NAMESPACE}/version": served.version.version,
            f"{_NAMESPACE}/verdict": served.version.verdict,
        }


class HubMcp:
    """One MCP server for a store, as an ASGI application. It answers while `run` is entered, which can be done once."""

    def __init__(self, hub: Hub) -> None:
        self._store = hub.store
        self._shelf = _HubShelf(hub)
        self._skills = SkillsServer(self._shelf, "public" if hub.settings.public_read else "private")
        server: Server[Any] = Server(
            "weft-hub",
            version=__version__,
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._skills.join(server)
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=MAX_REQUEST
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] != "POST":  # nothing is ever sent unasked, so there is nothing to wait for
            refusal = PlainTextResponse("Use POST", 405, headers={"Allow": "POST"})
            return await refusal(scope, receive, send)
        return await self._manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with self._manager.run():
            yield

    async def _list_tools(self, _context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_SEARCH], **self._skills.caching)

    async def _call_tool(self, _context: Any, params: CallToolRequestParams) -> CallToolResult:
        if params.name != _SEARCH.name:
            raise MCPError(INVALID_PARAMS, f"There is no tool '{params.name[:100]}'")
        given = params.arguments or {}
        query, limit = given.get("query"), given.get("limit", 10)
        if not isinstance(query, str) or not 0 < len(query) <= _MAX_QUERY or type(limit) is not int:
            raise MCPError(INVALID_PARAMS, "skill-search needs a 'query' of words, and takes a 'limit'")
        page = await self._shelf.ask(self._store.search, query, max(1, min(limit, 50)))
        results = [await self._describe_hit(one) for one in page.items]
        lines = [f"{one['reference']} {one['version']} ({one['verdict']}): {one['description']}" for one in results]
        text = TextContent(type="text", text="\n".join(lines) or "No skill fits")
        return CallToolResult(content=[text], structured_content={"results": results})

    async def _describe_hit(self, one: Listed) -> dict[str, Any]:
        skill = one.skill
        found: dict[str, Any] = {
            "name": skill.slug,
            "owner": skill.owner,
            "reference": f"@{skill.owner}/{skill.slug}",
            "version": skill.latest,
            "description": skill.summary,
            "verdict": one.release.verdict if one.release else "",
        }
        served = await self._shelf.ask(serve_listed, self._store, one)
        return {**found, "uri": served.uri} if served else found
