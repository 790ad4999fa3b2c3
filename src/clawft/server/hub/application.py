"""The hub as an ASGI application: who is let in, its routes, OpenAPI description and periodic tasks."""

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from clawft.config.registries import HubSettings
from clawft.errors import ClawftError, NotFound
from clawft.server.http.exchange import AuthMiddleware, HttpExchange, Log, parse_host
from clawft.server.http.limits import ClientLimits, LimitKind, WebError, answer_error
from clawft.server.http.server import IS_KNOWN
from clawft.server.hub.api_discovery import CONTRACT, WELL_KNOWN
from clawft.server.hub.api_publish import PUBLISHING
from clawft.server.hub.api_read import READING
from clawft.server.hub.api_security import SECURITY
from clawft.server.hub.context import Hub, make_json_response
from clawft.server.hub.distribution import IndexCache, TarDigests
from clawft.server.hub.mcp import HubMcp
from clawft.server.hub.model import HubToken
from clawft.server.hub.pages import PAGES
from clawft.server.hub.publication import SkillPublisher
from clawft.server.hub.store import HubStore
from clawft.server.hub.tokens import HubTokens
from clawft.server.hub.uploads import PendingUploads, Tickets, load_key
from clawft.server.openapi import SECURED, describe_path_parameters, make_openapi

# What the store and the intake refuse, by the code of their error; what is not named here is the client's mistake.
_STATUS = {
    "hub-deleted": 410,
    "hub-version-exists": 409,
    "hub-malicious": 422,
    "hub-suspicious": 422,
    "hub-scan": 422,
    "hub-quota": 403,
    "hub-too-large": 413,
    "hub-busy": 503,
    "hub-database": 500,
    "hub-blobs": 500,
}


def from_error(error: ClawftError) -> WebError:
    """The same as an answer: what happened, and what to do about it."""
    status = _STATUS.get(error.code, 404 if isinstance(error, NotFound) else 400)
    if status >= 500:  # what is wrong with the hub is for its operator
        logging.getLogger("clawft.hub").error("%s", error)
        return WebError(status, "The hub cannot do that just now", headers={"Retry-After": "2"})
    return WebError(status, f"{error} ({error.hint})" if error.hint else str(error))


MAX_HELD = 512 << 20  # of answers that are whole in memory and wait to be taken
_OPEN = frozenset({"/healthz", "/.well-known/clawhub.json", "/.well-known/clawdhub.json"})
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
MCP_PATH = "/mcp"
# What reads, whatever the method.
_ASKED = frozenset({MCP_PATH, "/api/v1/skills/-/security-verdicts", "/api/v1/skills/-/verify"})
_UPLOAD = "/api/v1/skills/-/upload"


class HubAccess:
    """The policy of the hub. Without `hosts` it goes by any name."""

    def __init__(
        self,
        hosts: frozenset[str],
        find_token: Callable[[str], Awaitable[HubToken | None]],
        limits: ClientLimits,
        log: Log | None,
        *,
        public_read: bool,
    ) -> None:
        self._hosts = hosts
        self._find_token = find_token
        self._limits = limits
        self._public_read = public_read
        self._log = log

    async def admit(self, exchange: HttpExchange) -> None:
        scope = exchange.scope
        if self._hosts and parse_host(exchange.headers.get(b"host", b"")) not in self._hosts:
            # A page from elsewhere whose name now means this machine (DNS rebinding).
            raise WebError(421, "This hub does not go by that name")
        kind: LimitKind = "reads" if scope["method"] in _READS or scope["path"] in _ASKED else "writes"
        token = await self._authenticate(exchange, kind)
        exchange.owner = token.owner if token else ""
        scope["state"].update({"token": token, IS_KNOWN: token is not None})
        if scope["path"] not in _OPEN:
            exchange.taken = self._limits.take(f"token {token.id}" if token else exchange.client, kind).headers()
            if not self._public_read:
                _check_private(token, scope["path"], kind)

    def inside(self, exchange: HttpExchange) -> anyio.CancelScope:  # noqa: ARG002  (all are served alike)
        return anyio.CancelScope()

    def why_cut(self, exchange: HttpExchange) -> WebError:  # noqa: ARG002  (none is)
        return WebError(503, "The hub ends")

    def ended(self, exchange: HttpExchange) -> None:
        if self._log is not None:
            exchange.log(self._log)

    async def _authenticate(self, exchange: HttpExchange, kind: LimitKind) -> HubToken | None:
        if exchange.bearer is None:
            return None
        token = await self._find_token(exchange.bearer)
        if token is None:
            self._limits.take(exchange.client, kind)  # to guess is no way around
            raise WebError(401, "Unauthorized", headers={"WWW-Authenticate": "Bearer"})
        return token


def _check_private(token: HubToken | None, path: str, kind: LimitKind) -> None:
    """Check that the token may read a private hub; writing needs a scope of its own. Raises: WebError."""
    if token is None:
        if path != _UPLOAD:  # which brings a ticket of its own
            raise WebError(401, "Unauthorized", headers={"WWW-Authenticate": "Bearer"})
    elif kind == "reads" and path != "/api/v1/whoami" and {"read", "admin"}.isdisjoint(token.scopes):
        raise WebError(403, "This token may not do that: it lacks the scope read")


_WRITES = ("POST", "PUT", "DELETE")


def make_hub_openapi(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for route in routes:
        if isinstance(route, Route):
            paths.setdefault(route.path, {}).update(_describe(route))
    return make_openapi("weft hub", dict(sorted(paths.items())))


def _describe(route: Route) -> dict[str, Any]:
    return {
        method.lower(): {
            "summary": " ".join((route.endpoint.__doc__ or "").split()),
            "parameters": describe_path_parameters(route.path),
            "responses": {"200": {"description": "Done"}, "4XX": {"description": "Why not, as a line of text"}},
            **({"security": SECURED} if method in _WRITES else {}),
        }
        for method in sorted(route.methods or ())
        if method != "HEAD"
    }


_REST = "/api/{rest:path}"
_UNPUBLISHED = 4  # how many times the size of one version a publisher may have sent and not published
_PUBLISHING = 8  # publications at a time; the others wait
_FLUSH_S = 5.0
_SWEEP_S = 3_600.0


def make_app(
    store: HubStore, settings: HubSettings, *, hosts: frozenset[str] = frozenset(), log: Log | None = None
) -> AuthMiddleware:
    """The hub, to be served by anything that speaks ASGI. `hosts` are the names it goes by; empty for any."""
    hub = Hub(
        store=store,
        settings=settings,
        tokens=HubTokens(store),
        intake=SkillPublisher(store, settings),
        tickets=Tickets(load_key(store.database), time.time),
        pending=PendingUploads(
            _UNPUBLISHED * settings.quota.version_mb << 20, _UNPUBLISHED * settings.quota.version_files
        ),
        publishing=anyio.CapacityLimiter(_PUBLISHING),
        indexes=IndexCache(store),
        tars=TarDigests(store),
    )
    routes = _merge([*CONTRACT, *SECURITY, *PUBLISHING, *READING, *WELL_KNOWN])
    document = make_json_response(make_hub_openapi(routes))

    async def openapi(_request: Request) -> Response:
        """Return this hub's API as OpenAPI."""
        return document

    mcp = HubMcp(hub)
    routes = [
        Route("/healthz", _healthz),
        Route("/api/v1/openapi.json", openapi),
        *routes,
        *PAGES,
        Route(MCP_PATH, mcp),
        Route(_REST, _not_here),
    ]
    handlers: dict[Any, Any] = {WebError: _tell, ClawftError: _tell, HTTPException: _tell, Exception: _tell_bug}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=_live)
    app.router.redirect_slashes = False
    app.state.hub = hub
    app.state.mcp = mcp
    per_minute: dict[LimitKind, int] = {
        "reads": settings.quota.reads_per_minute,
        "writes": settings.quota.writes_per_minute,
    }
    limits = ClientLimits(per_minute, time.monotonic)
    access = HubAccess(
        hosts, lambda secret: hub.work(hub.tokens.check, secret), limits, log, public_read=settings.public_read
    )
    return AuthMiddleware(app, access, MAX_HELD)


def _merge(routes: list[Route]) -> list[Route]:
    """Merge routes to one for each path, so that a response to a wrong method lists the right ones."""
    paths: dict[str, list[Route]] = {}
    for route in routes:
        paths.setdefault(route.path, []).append(route)
    return [found[0] if len(found) == 1 else _join(found) for found in paths.values()]


def _join(routes: list[Route]) -> Route:
    by_method = {method: route.endpoint for route in routes for method in route.methods or ()}

    async def dispatch(request: Request) -> Response:
        found: Response = await by_method[request.method](request)
        return found

    dispatch.__doc__ = " ".join(route.endpoint.__doc__ or "" for route in routes)
    return Route(routes[0].path, dispatch, methods=sorted(by_method))


async def _not_here(_request: Request) -> Response:
    return PlainTextResponse("This hub does not have that part of ClawHub's interface", 404)


async def _healthz(request: Request) -> Response:
    """Return whether it can read its database."""
    hub: Hub = request.app.state.hub
    await hub.work(hub.store.list_skills, limit=1)
    return PlainTextResponse("ok")


@asynccontextmanager
async def _live(app: Starlette) -> AsyncIterator[None]:
    """While it is served: what was counted is written down, and what nobody needs goes."""
    hub: Hub = app.state.hub
    try:
        async with app.state.mcp.run(), anyio.create_task_group() as group:
            group.start_soon(_every, _FLUSH_S, hub, hub.store.flush)
            group.start_soon(_every, _SWEEP_S, hub, hub.store.sweep)
            group.start_soon(_every, _SWEEP_S, hub, hub.intake.sweep)
            yield
            group.cancel_scope.cancel()
    finally:
        hub.intake.close()


async def _every(pause_s: float, hub: Hub, function: Callable[[], object]) -> None:
    while True:
        await anyio.sleep(pause_s)
        try:
            await hub.work(function)
        except ClawftError as error:  # what passes is tried again; requests say it too
            logging.getLogger("clawft.hub").warning("%s", error)


async def _tell(_request: Request, error: Exception) -> Response:
    if isinstance(error, ClawftError):
        return answer_error(from_error(error))
    if isinstance(error, HTTPException):
        return PlainTextResponse(error.detail, error.status_code, headers=error.headers)
    assert isinstance(error, WebError)
    return answer_error(error)


async def _tell_bug(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse("Internal error", 500)
