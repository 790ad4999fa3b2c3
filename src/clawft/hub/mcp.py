"""The hub as an MCP server: its skills by the Skills extension (SEP-2640), and a tool that searches them.

Every request stands for itself, so that several instances can serve one client. Who may ask is decided before.
"""

from collections.abc import AsyncIterator, Callable
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
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestParams,
    Resource,
    TextContent,
    Tool,
)
from starlette.responses import PlainTextResponse

from clawft import __version__
from clawft.errors import ClawftError
from clawft.hub.context import Hub
from clawft.hub.mcp_skills import Served, find_served, list_served, serve_listed
from clawft.hub.model import Listed
from clawft.mcp.skills_extension import ENTRY_FILE, EXTENSION, describe_content, describe_folder, describe_skill

__all__ = ["HubMcp"]

MAX_REQUEST = 256 * 1024
TTL_MS = 60_000
_PAGE = 50
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


class _Address(RequestParams):
    uri: str
    cursor: str | None = None


class HubMcp:
    """One MCP server for a store, as an ASGI application. It answers while `run` is entered, which can be done once."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._store = hub.store
        self._cache = {"ttlMs": TTL_MS, "cacheScope": "public" if hub.settings.public_read else "private"}
        server: Server[Any] = Server(
            "weft-hub",
            version=__version__,
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
        )
        server.extensions[EXTENSION] = {"directoryRead": True}
        server.add_request_handler("skills/list", PaginatedRequestParams, self._list_skills)
        server.add_request_handler("skills/get", _Address, self._get_skill)
        server.add_request_handler("resources/directory/read", _Address, self._read_folder)
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

    async def _ask(self, function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Raises: MCPError."""
        try:
            return await self._hub.read(function, *given, **named)
        except ClawftError as error:
            code = INTERNAL_ERROR if error.code in ("hub-busy", "hub-database", "hub-blobs") else INVALID_PARAMS
            raise MCPError(code, str(error)) from error

    async def _find(self, address: str) -> tuple[Served, str]:
        """Raises: MCPError."""
        found = await self._ask(find_served, self._store, address)
        if found is None:
            raise MCPError(INVALID_PARAMS, f"No skill is served at {address[:200]}")
        return found

    async def _list_skills(self, _context: Any, params: PaginatedRequestParams) -> dict[str, Any]:
        skills, cursor = await self._ask(list_served, self._store, _PAGE, params.cursor or "")
        entries = [describe_skill(one) for one in skills]
        return {"skills": entries, **self._cache, "resultType": "complete"} | ({"nextCursor": cursor} if cursor else {})

    async def _get_skill(self, _context: Any, params: _Address) -> dict[str, Any]:
        served, path = await self._find(params.uri)
        if path != ENTRY_FILE:
            raise MCPError(INVALID_PARAMS, f"{params.uri[:200]} is not the SKILL.md of a skill")
        return {"skill": describe_skill(served), **self._cache, "resultType": "complete"}

    async def _read_folder(self, _context: Any, params: _Address) -> dict[str, Any]:
        served, path = await self._find(params.uri)
        inside = describe_folder(served, path)
        if inside is None or params.uri.endswith("/"):
            raise MCPError(INVALID_PARAMS, f"{params.uri[:200]} is not a directory resource")
        return {"resources": inside, "resultType": "complete"}

    async def _list_resources(self, _context: Any, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """The SKILL.md of each skill, for those who do not know the extension."""
        skills, cursor = await self._ask(list_served, self._store, _PAGE, (params and params.cursor) or "")
        return ListResourcesResult(
            resources=[_describe_resource(one) for one in skills], next_cursor=cursor or None, **self._caching()
        )

    async def _read_resource(self, _context: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        address = str(params.uri)
        served, path = await self._find(address)
        file = served.file(path)
        if file is None:
            raise MCPError(INVALID_PARAMS, f"No file is served at {address[:200]}")
        content = await self._ask(self._store.get_blob, file.sha256)
        contents = [describe_content(address, path, content)]
        return ReadResourceResult.model_validate({"contents": contents, **self._cache})

    async def _list_tools(self, _context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_SEARCH], **self._caching())

    async def _call_tool(self, _context: Any, params: CallToolRequestParams) -> CallToolResult:
        if params.name != _SEARCH.name:
            raise MCPError(INVALID_PARAMS, f"There is no tool '{params.name[:100]}'")
        given = params.arguments or {}
        query, limit = given.get("query"), given.get("limit", 10)
        if not isinstance(query, str) or not 0 < len(query) <= _MAX_QUERY or type(limit) is not int:
            raise MCPError(INVALID_PARAMS, "skill-search needs a 'query' of words, and takes a 'limit'")
        page = await self._ask(self._store.search, query, max(1, min(limit, 50)))
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
        served = await self._ask(serve_listed, self._store, one)
        return {**found, "uri": served.uri} if served else found

    def _caching(self) -> dict[str, Any]:
        return {"ttl_ms": TTL_MS, "cache_scope": self._cache["cacheScope"]}


def _describe_resource(served: Served) -> Resource:
    file = served.file(ENTRY_FILE)
    return Resource(
        uri=served.uri,
        name=served.front["name"],
        description=served.front["description"],
        mime_type="text/markdown",
        size=file.size if file else None,
        _meta={
            f"{_NAMESPACE}/version": served.version.version,
            f"{_NAMESPACE}/verdict": served.version.verdict,
        },
    )
