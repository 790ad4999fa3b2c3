"""Serving skills by the MCP Skills extension (SEP-2640): its methods, and the resources of those who do not know it.

Where the skills come from, and who may see which, is the business of a shelf.
"""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeVar

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestParams,
    Resource,
)

from clawft.agent.mcp.skills_extension import (
    ENTRY_FILE,
    EXTENSION,
    ServedFile,
    ServedSkill,
    find_folder_content,
    make_file_content,
    make_skill_entry,
)

TTL_MS = 60_000
PAGE = 50
_SHOWN = 200  # characters of an address that an error repeats
S = TypeVar("S", bound=ServedSkill)


class SkillShare(Protocol[S]):
    """The skills that are served. Each method is given the context of its request. Raises: MCPError."""

    async def list(self, context: Any, limit: int, cursor: str) -> tuple[Sequence[S], str]:
        """A part of all, and where the next part begins."""

    async def find(self, context: Any, address: str) -> tuple[S, str] | None:
        """The skill that an address is in, and the path below its folder ('' for the folder itself)."""

    async def read(self, context: Any, served: S, file: ServedFile) -> bytes: ...

    def describe(self, served: S) -> dict[str, Any]:
        """Return additional facts about a skill, for the `_meta` of its resource."""


class SkillsServer:
    """The handlers of one server for a shelf."""

    def __init__(self, shelf: SkillShare[Any], scope: Literal["public", "private"]) -> None:
        self._shelf = shelf
        self._cache = {"ttlMs": TTL_MS, "cacheScope": scope}

    @property
    def caching(self) -> dict[str, Any]:
        """The result fields that say how long, and for which callers, an answer may be cached."""
        return {"ttl_ms": self._cache["ttlMs"], "cache_scope": self._cache["cacheScope"]}

    def join(self, server: Server[Any]) -> None:
        """Have a server offer it all."""
        server.extensions[EXTENSION] = {"directoryRead": True}
        server.add_request_handler("skills/list", PaginatedRequestParams, self._list_skills)
        server.add_request_handler("skills/get", _Address, self._get_skill)
        server.add_request_handler("resources/directory/read", _Address, self._read_folder)
        server.add_request_handler("resources/list", PaginatedRequestParams, self._list_resources)
        server.add_request_handler("resources/read", ReadResourceRequestParams, self._read_resource)

    async def _find(self, context: Any, address: str) -> tuple[Any, str]:
        """Raises: MCPError."""
        found = await self._shelf.find(context, address)
        if found is None:
            raise MCPError(INVALID_PARAMS, f"No skill is served at {address[:_SHOWN]}")
        return found

    async def _list_skills(self, context: Any, params: PaginatedRequestParams) -> dict[str, Any]:
        skills, cursor = await self._shelf.list(context, PAGE, params.cursor or "")
        entries = [make_skill_entry(skill) for skill in skills]
        return {"skills": entries, **self._cache, "resultType": "complete"} | ({"nextCursor": cursor} if cursor else {})

    async def _get_skill(self, context: Any, params: "_Address") -> dict[str, Any]:
        served, path = await self._find(context, params.uri)
        if path != ENTRY_FILE:
            raise MCPError(INVALID_PARAMS, f"{params.uri[:_SHOWN]} is not the SKILL.md of a skill")
        return {"skill": make_skill_entry(served), **self._cache, "resultType": "complete"}

    async def _read_folder(self, context: Any, params: "_Address") -> dict[str, Any]:
        served, path = await self._find(context, params.uri)
        inside = find_folder_content(served, path)
        if inside is None or params.uri.endswith("/"):
            raise MCPError(INVALID_PARAMS, f"{params.uri[:_SHOWN]} is not a directory resource")
        return {"resources": inside, **self._cache, "resultType": "complete"}

    async def _list_resources(self, context: Any, params: PaginatedRequestParams) -> ListResourcesResult:
        """The SKILL.md of each skill, for those who do not know the extension."""
        skills, cursor = await self._shelf.list(context, PAGE, params.cursor or "")
        resources = [self._describe(skill) for skill in skills]
        return ListResourcesResult(resources=resources, next_cursor=cursor or None, **self.caching)

    async def _read_resource(self, context: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        address = str(params.uri)
        served, path = await self._find(context, address)
        file = served.file(path)
        if file is None:
            raise MCPError(INVALID_PARAMS, f"No file is served at {address[:_SHOWN]}")
        contents = [make_file_content(address, path, await self._shelf.read(context, served, file))]
        return ReadResourceResult.model_validate({"contents": contents, **self._cache})

    def _describe(self, served: Any) -> Resource:
        file = served.file(ENTRY_FILE)
        return Resource(
            uri=served.uri,
            name=served.front["name"],
            description=served.front["description"],
            mime_type="text/markdown",
            size=file.size if file else None,
            _meta=self._shelf.describe(served),
        )


class _Address(RequestParams):
    uri: str
    cursor: str | None = None
