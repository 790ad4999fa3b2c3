"""The hub as a web application."""

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from clawft.config.hub import HubSettings
from clawft.errors import ClawftError
from clawft.hub.api_publish import PUBLISHING
from clawft.hub.api_read import READING
from clawft.hub.api_security import SECURITY
from clawft.hub.context import Hub, answer
from clawft.hub.contract import CONTRACT
from clawft.hub.door import MCP_PATH, Door
from clawft.hub.errors import from_error
from clawft.hub.indexes import Indexes
from clawft.hub.intake import Intake
from clawft.hub.mcp import HubMcp
from clawft.hub.openapi import describe_routes
from clawft.hub.pages import PAGES
from clawft.hub.pending import Pending
from clawft.hub.store import HubStore
from clawft.hub.tars import TarDigests
from clawft.hub.tickets import Tickets, load_key
from clawft.hub.tokens import HubTokens
from clawft.hub.wellknown import WELL_KNOWN
from clawft.web.errors import WebError, answer_error
from clawft.web.limits import ClientLimits, Kind
from clawft.web.visit import Log

__all__ = ["make_app"]

_REST = "/api/{rest:path}"
_UNPUBLISHED = 4  # how many times as much as one version somebody may have sent and not published
_PUBLISHING = 8  # publications at a time; the others wait
_FLUSH_S = 5.0
_SWEEP_S = 3_600.0


def make_app(
    store: HubStore, settings: HubSettings, *, hosts: frozenset[str] = frozenset(), log: Log | None = None
) -> Door:
    """The hub, to be served by anything that speaks ASGI. `hosts` are the names it goes by; empty for any."""
    hub = Hub(
        store=store,
        settings=settings,
        tokens=HubTokens(store),
        intake=Intake(store, settings),
        tickets=Tickets(load_key(store.database), time.time),
        pending=Pending(_UNPUBLISHED * settings.quota.version_mb << 20, _UNPUBLISHED * settings.quota.version_files),
        publishing=anyio.CapacityLimiter(_PUBLISHING),
        indexes=Indexes(store),
        tars=TarDigests(store),
    )
    routes = _merge([*CONTRACT, *SECURITY, *PUBLISHING, *READING, *WELL_KNOWN])
    document = answer(describe_routes(routes))

    async def openapi(_request: Request) -> Response:
        """What this hub answers, as OpenAPI."""
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
    per_minute: dict[Kind, int] = {
        "reads": settings.quota.reads_per_minute,
        "writes": settings.quota.writes_per_minute,
    }
    return Door(
        app,
        hosts=hosts,
        find_token=lambda secret: hub.work(hub.tokens.check, secret),
        limits=ClientLimits(per_minute, time.monotonic),
        public_read=settings.public_read,
        log=log,
    )


def _merge(routes: list[Route]) -> list[Route]:
    """One route for each path, whatever is done there, so that a wrong method is told all that are right."""
    paths: dict[str, list[Route]] = {}
    for one in routes:
        paths.setdefault(one.path, []).append(one)
    return [found[0] if len(found) == 1 else _join(found) for found in paths.values()]


def _join(routes: list[Route]) -> Route:
    by_method = {method: one.endpoint for one in routes for method in one.methods or ()}

    async def dispatch(request: Request) -> Response:
        found: Response = await by_method[request.method](request)
        return found

    dispatch.__doc__ = " ".join(one.endpoint.__doc__ or "" for one in routes)
    return Route(routes[0].path, dispatch, methods=sorted(by_method))


async def _not_here(_request: Request) -> Response:
    return PlainTextResponse("This hub does not have that part of ClawHub's interface", 404)


async def _healthz(request: Request) -> Response:
    """Whether it can read its database."""
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
