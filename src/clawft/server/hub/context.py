"""The state and the answers that the hub's endpoints share."""

from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import msgspec
from anyio import CapacityLimiter, to_thread
from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from clawft.config.registries import HubSettings
from clawft.server.http.limits import WebError
from clawft.server.hub.distribution import IndexCache, TarDigests
from clawft.server.hub.model import HubScope, HubSkill, HubToken, HubVersion, PublicationDraft
from clawft.server.hub.publication import SkillPublisher
from clawft.server.hub.store import HubStore
from clawft.server.hub.tokens import HubTokens
from clawft.server.hub.uploads import PendingUploads, Tickets

P = ParamSpec("P")
T = TypeVar("T")
MAX_QUERY = 300
_AT_ONCE = 2  # publications of one token
_INLINE = 256 * 1024  # bytes that are read at once, not from a file while they are sent


class Hub(Struct, frozen=True):
    """One hub that is served."""

    store: HubStore
    settings: HubSettings
    tokens: HubTokens
    intake: SkillPublisher
    tickets: Tickets
    pending: PendingUploads
    publishing: CapacityLimiter
    indexes: IndexCache
    tars: TarDigests
    #: Of those who publish just now, by their tokens.
    turns: WeakValueDictionary[str, CapacityLimiter] = field(default_factory=WeakValueDictionary)

    async def read(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call what only reads: at once where that takes microseconds, else on a thread."""
        if self.store.quick:
            return function(*arguments, **named)
        return await self.work(function, *arguments, **named)

    async def work(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call what writes, or takes long, on a thread."""
        return await to_thread.run_sync(lambda: function(*arguments, **named))

    async def take(self, draft: PublicationDraft, token: HubToken) -> HubVersion:
        """Publish, a few at a time: scans take so long that they would leave no thread for others.

        Who sends much waits for their own to be done, so that others need not.
        """
        turn = self.turns.get(token.id) or CapacityLimiter(_AT_ONCE)
        self.turns[token.id] = turn
        is_awaited = partial(self.pending.is_awaited, but=token.id)
        async with turn:
            return await to_thread.run_sync(self.intake.take, draft, token.owner, is_awaited, limiter=self.publishing)

    def address(self, request: Request) -> str:
        """Return the address at which clients reach this hub, without a slash at the end."""
        return self.settings.public_url.rstrip("/") or str(request.base_url).rstrip("/")


def get_hub(request: Request) -> Hub:
    hub: Hub = request.app.state.hub
    return hub


def require_token(request: Request, scope: HubScope | None = None) -> HubToken:
    """The token of a request that must have this scope, or any. Raises: WebError."""
    token: HubToken | None = request.state.token
    if token is None:
        raise WebError(401, "Unauthorized", headers={"WWW-Authenticate": "Bearer"})
    if scope is not None and scope not in token.scopes and "admin" not in token.scopes:
        raise WebError(403, f"This token may not do that: it lacks the scope {scope}")
    return token


def make_json_response(document: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(document), status, media_type="application/json")


def parse_owner(request: Request) -> str:
    """The owner that a request names, '' if none."""
    query = request.query_params
    return (query.get("ownerHandle") or query.get("owner") or "").strip().removeprefix("@").lower()


def parse_search(request: Request) -> str:
    """Return the search query, cut to a length that a person would write: longer ones cost more than they find."""
    return request.query_params.get("q", "").strip()[:MAX_QUERY]


def parse_number(request: Request, name: str, default: int, most: int) -> int:
    """A number of the query, within bounds; what is none counts as the default."""
    text = request.query_params.get(name, "")
    return max(1, min(int(text), most)) if text.isascii() and text.isdigit() and len(text) < 10 else default


async def find_skill(request: Request, slug: str, *, owner: str = "", deleted: bool = False) -> HubSkill:
    """The one skill that a request means. Raises: WebError."""
    hub = get_hub(request)
    found = await hub.read(hub.store.find, slug.strip().lower(), owner or parse_owner(request))
    there = [skill for skill in found if deleted or not skill.deleted]
    if len(there) > 1:
        owners = ", ".join(f"@{skill.owner}/{skill.slug}" for skill in there)
        message = f"Several owners have a skill '{there[0].slug}': {owners}. Name one with ownerHandle"
        matches = [
            {
                "slug": skill.slug,
                "ownerHandle": skill.owner,
                "displayName": skill.display_name,
                "ref": f"@{skill.owner}/{skill.slug}",
            }
            for skill in there
        ]
        document = {"code": "AMBIGUOUS_SKILL_SLUG", "message": message, "slug": there[0].slug, "matches": matches}
        raise WebError(409, message, document=document)
    if there:
        return there[0]
    raise WebError(410, "Skill was deleted") if found else WebError(404, "Skill not found")


async def read_version(request: Request, skill: HubSkill, named: str = "") -> HubVersion:
    """The version that a request means, by number, by tag, or the latest. Raises: WebError."""
    hub = get_hub(request)
    version = named or request.query_params.get("version", "")
    tag = "" if version else request.query_params.get("tag", "")
    if tag:
        version = (await hub.read(hub.store.tags, skill.id)).get(tag, "")
        if not version:
            raise WebError(404, "Unknown tag")
    found = await hub.read(hub.store.find_version, skill.id, version)
    if found is None:
        raise WebError(404, "Version not found")
    return found


async def send_blob(request: Request, sha256: str, size: int, *, media_type: str, name: str) -> Response:
    """Bytes of the store, as something to keep and not to show. Who asks for the head alone has none of them read."""
    hub = get_hub(request)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "ETag": f'"{sha256}"'}
    path = hub.store.blobs.path(sha256)
    if path and size > _INLINE:
        return FileResponse(path, media_type=media_type, headers=headers)
    if size > _INLINE:
        headers["Content-Length"] = str(size)
        pieces = hub.store.blobs.pieces(sha256) if request.method == "GET" else iter(())
        return StreamingResponse(pieces, media_type=media_type, headers=headers)
    return Response(await hub.read(hub.store.blobs.get, sha256), media_type=media_type, headers=headers)
