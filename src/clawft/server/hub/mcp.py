"""The hub as an MCP server: its skills as resources, and a search tool."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote, unquote

import msgspec
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
from clawft.agent.mcp.skills_extension import SCHEME, ServedFile, ServedSkill, can_serve
from clawft.agent.mcp.skills_server import SkillsServer
from clawft.errors import ClawftError
from clawft.server.hub.context import Hub
from clawft.server.hub.model import HubListing, HubSkill, HubVersion
from clawft.server.hub.store import HubStore

_OWNER = re.compile(r"[a-z0-9._-]+")


class ServedHubSkill(ServedSkill, frozen=True):
    """A skill that can be served, and the version of it."""

    version: HubVersion


def list_served(store: HubStore, limit: int, cursor: str) -> tuple[list[ServedHubSkill], str]:
    """A part of all skills that can be served, by name, and where the next part begins. Raises: ClawftError."""
    page = store.list_skills("name", limit, cursor)
    return [served for item in page.items if (served := serve_listed(store, item))], page.cursor


def serve_listed(store: HubStore, one: HubListing) -> ServedHubSkill | None:
    """A skill of a list; None if it cannot be served. Raises: ClawftError."""
    version = store.find_version(one.skill.id, one.release.version) if one.release else None
    return _serve(one.skill, version) if version else None


def find_served(store: HubStore, address: str) -> tuple[ServedHubSkill, str] | None:
    """The skill that an address is in, and the path below its folder ('' for the folder itself)."""
    plain = unquote(address.removeprefix(SCHEME))
    owner, _, rest = plain.partition("/")
    slug, _, path = rest.partition("/")
    if not address.startswith(SCHEME) or not _OWNER.fullmatch(owner):
        return None
    for skill in store.find(slug, owner):
        version = None if skill.deleted else store.find_version(skill.id)
        served = _serve(skill, version) if version else None
        if served is None:
            continue
        within = unquote(served.root.removeprefix(f"{SCHEME}{owner}/{slug}")).removeprefix("/")
        if not within:
            return served, path
        if path == within or path.startswith(f"{within}/"):
            return served, path[len(within) + 1 :]
    return None


def _serve(skill: HubSkill, version: HubVersion) -> ServedHubSkill | None:
    """None for what no host would take."""
    front: dict[str, Any] = msgspec.json.decode(version.front)
    files = tuple(ServedFile(file.path, file.sha256, file.size) for file in version.files)
    if not can_serve(front, files):
        return None
    name = front["name"]
    folder = skill.slug if name == skill.slug else f"{skill.slug}/{quote(name)}"
    return ServedHubSkill(f"{SCHEME}{skill.owner}/{folder}", front, files, version)


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
    """The MCP resources from the hub's store."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._store = hub.store

    async def ask(self, function: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
        """Raises: MCPError."""
        try:
            return await self._hub.read(function, *values, **named)
        except ClawftError as error:
            code = INTERNAL_ERROR if error.code in ("hub-busy", "hub-database", "hub-blobs") else INVALID_PARAMS
            raise MCPError(code, str(error)) from error

    async def list(self, _context: Any, limit: int, cursor: str) -> tuple[Sequence[ServedHubSkill], str]:
        return await self.ask(list_served, self._store, limit, cursor)

    async def find(self, _context: Any, address: str) -> tuple[ServedHubSkill, str] | None:
        return await self.ask(find_served, self._store, address)

    async def read(self, _context: Any, _served: ServedHubSkill, file: ServedFile) -> bytes:
        return await self.ask(self._store.blobs.get, file.sha256)

    def describe(self, served: ServedHubSkill) -> dict[str, Any]:
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
        self._sessions = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=MAX_REQUEST
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] != "POST":  # nothing is ever sent unasked, so there is nothing to wait for
            refusal = PlainTextResponse("Use POST", 405, headers={"Allow": "POST"})
            return await refusal(scope, receive, send)
        return await self._sessions.handle_request(scope, receive, send)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with self._sessions.run():
            yield

    async def _list_tools(self, _context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_SEARCH], **self._skills.caching)

    async def _call_tool(self, _context: Any, params: CallToolRequestParams) -> CallToolResult:
        if params.name != _SEARCH.name:
            raise MCPError(INVALID_PARAMS, f"There is no tool '{params.name[:100]}'")
        arguments = params.arguments or {}
        query, limit = arguments.get("query"), arguments.get("limit", 10)
        if not isinstance(query, str) or not 0 < len(query) <= _MAX_QUERY or type(limit) is not int:
            raise MCPError(INVALID_PARAMS, "skill-search needs a 'query' of words, and takes a 'limit'")
        page = await self._shelf.ask(self._store.search, query, max(1, min(limit, 50)))
        results = [await self._describe_hit(item) for item in page.items]
        lines = [
            f"{result['reference']} {result['version']} ({result['verdict']}): {result['description']}"
            for result in results
        ]
        text = TextContent(type="text", text="\n".join(lines) or "No skill fits")
        return CallToolResult(content=[text], structured_content={"results": results})

    async def _describe_hit(self, one: HubListing) -> dict[str, Any]:
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
