"""The daemon as a web application: everything that is reached over HTTP, behind one door; and its end, in order."""

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from clawft.errors import ClawftError, Diagnostic
from clawft.protocol.schemas import MESSAGES, list_schemas, schema_name, schema_of
from clawft.protocol.watching import SubsystemHealth
from clawft.serve.answers import BUG, answer_json, make_refusal, refuse, to_web
from clawft.serve.console import console_routes
from clawft.serve.daemon import Daemon
from clawft.serve.door import Around, Door, visitor_of
from clawft.serve.executions import stopping
from clawft.serve.http import PREFIX, Api
from clawft.serve.journal import Journal
from clawft.serve.metrics import CONTENT_TYPE, Metrics, is_well
from clawft.serve.names import Names
from clawft.serve.openapi import describe_api
from clawft.serve.operations.watching import describe_health
from clawft.serve.socket import Sockets
from clawft.serve.tokens import ServeTokens
from clawft.web.errors import WebError
from clawft.web.limits import ClientLimits, Kind
from clawft.web.server import Bounds, Tls, WebServer
from clawft.web.visit import Log

__all__ = ["Front", "make_front", "make_server"]

_LAST_S = 1.0  # for streams to say that it is over


class Front:
    """What is served, and how it ends."""

    def __init__(self, daemon: Daemon, door: Door, api: Api, sockets: Sockets) -> None:
        self.daemon = daemon
        self.door = door
        self._api = api
        self._sockets = sockets

    async def drain(self, server: WebServer) -> None:
        """Let nobody new in; let work come to its end, in time; then tell all who listen, and stop."""
        for one in server.servers:
            one.close()
        await self.daemon.executions.drain(self.daemon.settings.drain_s)
        self._api.end_streams(stopping().diagnostic)
        await self._sockets.close()
        server.stop()
        await anyio.sleep(_LAST_S)
        self.door.close()
        await anyio.sleep(_LAST_S)
        server.stop()  # once more: whoever does not take what was said is not waited for

    async def cut_short(self, server: WebServer) -> None:
        """End everything now."""
        await self.daemon.executions.drain(0)
        self.door.close()
        server.stop()
        server.stop()


def make_front(daemon: Daemon, tokens: ServeTokens, log: Log | None = None) -> Front:
    """The daemon, to be served by anything that speaks ASGI."""
    settings = daemon.settings
    metrics = Metrics(daemon)
    if log is not None:
        daemon.topics.note = Journal(log).note
    api = Api(daemon, metrics, log)
    sockets = Sockets(daemon, metrics, log)
    handlers: dict[Any, Any] = {WebError: _tell, ClawftError: _tell, HTTPException: _tell, Exception: _tell_bug}
    routes = [*_routes(daemon, metrics, api), WebSocketRoute("/ws", sockets)]
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=_add_mcp(daemon, routes))
    app.router.redirect_slashes = False
    per_minute: dict[Kind, int] = {
        "reads": settings.limits.reads_per_minute,
        "writes": settings.limits.writes_per_minute,
    }
    door = Door(
        app,
        names=Names.of(settings),
        tokens=tokens,
        limits=ClientLimits(per_minute, time.monotonic),
        around=Around(metrics, log, daemon.executions.end_unknown),
    )
    return Front(daemon, door, api, sockets)


def make_server(front: Front) -> WebServer:
    settings = front.daemon.settings
    tls = Tls(settings.tls_cert, settings.tls_key) if settings.tls_cert else None
    bounds = Bounds(settings.limits.connections, settings.limits.message_kb << 10)
    return WebServer(front.door, bounds=bounds, behind_proxy=bool(settings.public_url), tls=tls)


def _routes(daemon: Daemon, metrics: Metrics, api: Api) -> list[BaseRoute]:
    document = msgspec.json.encode(describe_api(PREFIX))

    async def healthz(request: Request) -> Response:
        """How every part is; what is wrong with one is for those with a token."""
        request.scope["operation"] = "healthz"
        is_known = "visitor" in request.scope["state"]
        if is_known:
            await daemon.registry.live.refresh()
        found = [describe_health(one) for one in daemon.subsystems]
        return _answer_health(found, is_known=is_known)

    async def show_metrics(request: Request) -> Response:
        request.scope["operation"] = "metrics"
        visitor_of(request.scope).caller.need("read")
        return Response(metrics.render(), headers={"Content-Type": CONTENT_TYPE})

    async def openapi(_request: Request) -> Response:
        return Response(document, media_type="application/json")

    return [
        Route("/healthz", healthz),
        Route("/metrics", show_metrics),
        Route(f"{PREFIX}/openapi.json", openapi),
        Route(f"{PREFIX}/schemas", _list_schemas),
        Route(f"{PREFIX}/schemas/{{file}}", _show_schema),
        *api.routes(),
        *(console_routes() if daemon.settings.console else ()),
    ]


def _add_mcp(
    daemon: Daemon, routes: list[BaseRoute]
) -> Callable[[Starlette], AbstractAsyncContextManager[None]] | None:
    """The MCP server at `/mcp`, where it is wanted; it runs as long as the application does."""
    if not daemon.settings.mcp:
        return None
    from clawft.serve.mcp import DaemonMcp  # which takes a while to load

    mcp = DaemonMcp(daemon)
    routes.insert(0, Route("/mcp", mcp))  # first: what is asked for over and over is found at once
    return lambda _app: mcp.running()


def _answer_health(found: list[SubsystemHealth], *, is_known: bool) -> Response:
    parts: dict[str, dict[str, object]] = {one.name: {"ok": is_well(one)} for one in found}
    for one in found:
        if one.problem is not None:
            parts[one.name] |= {"problem": one.problem} if is_known else {"warning": True} if is_well(one) else {}
    all_well = all(is_well(one) for one in found)
    return answer_json({"ok": all_well, "subsystems": parts}, 200 if all_well else 503)


async def _list_schemas(_request: Request) -> Response:
    return answer_json(list_schemas())


async def _show_schema(request: Request) -> Response:
    file = request.path_params["file"]
    message = next((one for one in MESSAGES if schema_name(one) == file), None)
    if message is None:
        raise WebError(404, "There is no schema of that name")
    return Response(msgspec.json.encode(schema_of(message)), media_type="application/schema+json")


async def _tell(_request: Request, error: Exception) -> Response:
    if isinstance(error, ClawftError):
        return refuse(to_web(error))
    if isinstance(error, HTTPException):
        return refuse(_explain(error))
    assert isinstance(error, WebError)
    return refuse(error)


def _explain(error: HTTPException) -> WebError:
    """What no route is there for."""
    headers = error.headers or {}
    if error.status_code == 404:
        why = Diagnostic("not-found", "error", "There is nothing at this path", hint=f"See: {PREFIX}/openapi.json")
    elif error.status_code == 405:
        allowed = headers.get("Allow", "")
        why = Diagnostic("method-wrong", "error", "Not with this method", hint=f"Use {allowed}" if allowed else "")
    else:
        return WebError(error.status_code, error.detail, headers=headers)
    return make_refusal(error.status_code, why, headers)


async def _tell_bug(_request: Request, _error: Exception) -> Response:
    return refuse(make_refusal(500, BUG))
