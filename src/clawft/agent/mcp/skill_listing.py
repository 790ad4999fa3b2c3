"""The skills a server offers, asked for page by page and never without end; one of them; and the bytes of a file."""

import binascii
from base64 import b64decode
from collections import Counter
from typing import Any, Literal

import msgspec
from mcp import ClientSession, MCPError
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PaginatedRequestParams,
    Request,
    RequestParams,
    Result,
    TextResourceContents,
)
from msgspec import Struct

from clawft.agent.mcp.offered_skills import OfferedSkill, parse_entry
from clawft.agent.mcp.remote import RemoteError
from clawft.agent.mcp.skills_extension import EXTENSION
from clawft.errors import Diagnostic, Refused

MAX_SKILLS = 2_000
_MAX_PAGES = 100
_MAX_TOTAL = 32 << 20  # of all entries together, as JSON
_TTL_S, _MAX_TTL_S = 60.0, 3_600.0


class SkillListing(Struct, frozen=True):
    """The skills that a server offers. `known` is False if the server does not know the extension, or did not answer;
    `whole` is False if it lists more than weft reads."""

    offered: tuple[OfferedSkill, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    known: bool = True
    whole: bool = True
    ttl_s: float = _TTL_S


class _Page(Result):
    skills: list[Any]
    next_cursor: str | None = None
    ttl_ms: Any = None


class _One(Result):
    skill: Any


class _Address(RequestParams):
    uri: str


class _ListRequest(Request[PaginatedRequestParams, Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"
    params: PaginatedRequestParams


class _GetRequest(Request[_Address, Literal["skills/get"]]):
    method: Literal["skills/get"] = "skills/get"
    params: _Address


def has_skills(session: ClientSession) -> bool:
    """Return whether a server says that it offers skills."""
    capabilities = session.server_capabilities
    return capabilities is not None and EXTENSION in (capabilities.extensions or {})


async def fetch_skills(session: ClientSession, server: str) -> SkillListing:
    """Every skill that a server lists, up to the limits. Raises: what the session raises."""
    found: list[OfferedSkill] = []
    seen: set[str] = set()
    cursor: str | None = None
    ttl_s, room = _MAX_TTL_S, _MAX_TOTAL
    for _ in range(_MAX_PAGES):
        request = _ListRequest(params=PaginatedRequestParams(cursor=cursor))
        page = await session.send_request(request, _Page)
        ttl_s, cursor = min(ttl_s, _read_ttl(page.ttl_ms)), page.next_cursor
        for entry in page.skills:
            room -= _measure(entry)
            if room < 0 or len(found) == MAX_SKILLS:
                return _conclude(server, found, ttl_s, whole=False)
            found.append(parse_entry(server, entry))
        if not cursor:
            return _conclude(server, found, ttl_s, whole=True)
        if cursor in seen:
            break
        seen.add(cursor)
    return _conclude(server, found, ttl_s, whole=False)


def _conclude(server: str, found: list[OfferedSkill], ttl_s: float, *, whole: bool) -> SkillListing:
    message = f"The MCP server '{server}' lists more skills than are looked at ({MAX_SKILLS}), or pages without end"
    cut = Diagnostic("mcp-skill-listing", "warning", message, hint="Name the one you want by its address")
    return SkillListing(_sort_out(found), () if whole else (cut,), whole=whole, ttl_s=ttl_s)


def _measure(entry: Any) -> int:
    """Return the approximate size of an entry in bytes."""
    try:
        return len(msgspec.json.encode(entry))
    except (TypeError, ValueError, RecursionError):
        return 0  # not an entry, which is reported elsewhere


async def fetch_skill(session: ClientSession, server: str, uri: str) -> OfferedSkill | None:
    """One skill by its address; None where the server has none there. Raises: what the session raises."""
    try:
        answer = await session.send_request(_GetRequest(params=_Address(uri=uri)), _One)
    except MCPError as error:
        if error.code in (INVALID_PARAMS, METHOD_NOT_FOUND):
            return None
        raise
    found = parse_entry(server, answer.skill)
    return found if found.uri == uri else None


async def fetch_skill_file(session: ClientSession, uri: str, max_bytes: int) -> bytes:
    """The bytes of a file of a skill. Raises: RemoteError; Refused for too many; what the session raises."""
    answer = await session.read_resource(uri)
    if len(answer.contents) != 1:
        raise RemoteError("mcp-refused", f"The MCP server does not give one file for {uri[:120]!a}")
    one = answer.contents[0]
    try:
        data = one.text.encode() if isinstance(one, TextResourceContents) else b64decode(one.blob, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RemoteError("mcp-refused", f"What the MCP server gives for {uri[:120]!a} cannot be read") from error
    if len(data) > max_bytes:
        raise Refused("mcp-skill-digest", f"{uri[:120]!a} is larger than the server said", hint="Nothing was kept")
    return data


def _read_ttl(ttl_ms: Any) -> float:
    """Return how many seconds a listing is valid: what the server says, within limits."""
    known = type(ttl_ms) in (int, float) and ttl_ms >= 0
    return min(ttl_ms / 1000, _MAX_TTL_S) if known else _TTL_S


def _sort_out(offered: list[OfferedSkill]) -> tuple[OfferedSkill, ...]:
    """The entries; none of those that share one address counts, since it would be two skills."""
    counts = Counter(skill.uri for skill in offered)
    twice = Diagnostic("mcp-skill-uri", "error", "The server lists this address more than once")
    return tuple(
        skill
        if counts[skill.uri] == 1 or skill.problem
        else OfferedSkill(skill.server, skill.uri, skill.name, problem=twice)
        for skill in offered
    )
