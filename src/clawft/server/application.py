"""The daemon as an ASGI application: routes, the console's static files, health, and an orderly shutdown."""

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from clawft.errors import ClawftError, Diagnostic
from clawft.server.api import PREFIX, HttpApi, make_daemon_openapi
from clawft.server.daemon import Daemon
from clawft.server.executions import stopping
from clawft.server.http.addresses import ServerNames
from clawft.server.http.exchange import AuthMiddleware, Log
from clawft.server.http.limits import ClientLimits, LimitKind, WebError
from clawft.server.http.server import ServerLimits, Tls, WebServer
from clawft.server.middleware import (
    BUG,
    MAX_HELD,
    DaemonAccess,
    answer_json,
    get_request_client,
    make_refusal,
    refusal_response,
    to_web_error,
)
from clawft.server.observability import CONTENT_TYPE, DaemonLog, Metrics, is_well
from clawft.server.operations.executions import view_health
from clawft.server.protocol.operations import MESSAGES, list_schemas, schema_name, schema_of
from clawft.server.protocol.subscriptions import SubsystemHealth
from clawft.server.tokens import ServeTokens
from clawft.server.websocket import WebSocketEndpoint

_FOLDER = os.path.join(os.path.dirname(__file__), "console")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = "; ".join((
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",  # no text becomes markup, even from an attacker
    "trusted-types 'none'",
))  # fmt: skip
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class _File(Struct, frozen=True):
    content: bytes
    headers: dict[str, str]


def console_routes() -> list[Route]:
    """The page at `/`, and what it is made of. Only files that are there now have a path: no path leads elsewhere."""
    files = _load_files()
    page = files.pop("index.html")
    # Modules name each other; a browser that knows all of them fetches them at once.
    modules = ", ".join(f"</console/{name}>; rel=modulepreload" for name in sorted(files) if name.endswith(".js"))
    page = _File(page.content, {**page.headers, "Link": modules})
    return [_route("/", page), *(_route(f"/console/{name}", file) for name, file in files.items())]


def _load_files() -> dict[str, _File]:
    found = {}
    for folder, _, names in os.walk(_FOLDER):
        for name in names:
            kind = _TYPES.get(os.path.splitext(name)[1])
            if kind is not None:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, _FOLDER).replace(os.sep, "/")] = _load_file(path, kind)
    return found


def _load_file(path: str, kind: str) -> _File:
    with open(path, "rb") as file:
        content = file.read()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return _File(content, {**_HEADERS, "Content-Type": kind, "ETag": tag})


def _route(path: str, file: _File) -> Route:
    async def show(request: Request) -> Response:
        request.scope["operation"] = "console"
        known = request.headers.get("if-none-match", "")
        if file.headers["ETag"] in (part.strip().removeprefix("W/") for part in known.split(",")):
            return Response(status_code=304, headers=file.headers)
        return Response(file.content, headers=file.headers)

    return Route(path, show)


_LAST_S = 1.0  # for streams to say that it is over


class DaemonApplication:
    """The daemon's ASGI application, and its shutdown."""

    def __init__(
        self, daemon: Daemon, front: AuthMiddleware, access: DaemonAccess, api: HttpApi, sockets: WebSocketEndpoint
    ) -> None:
        self.daemon = daemon
        self.middleware_front = front
        self.access = access
        self._api = api
        self._sockets = sockets

    async def drain(self, server: WebServer) -> None:
        """Let nobody new in; let work come to its end, in time; then tell all who listen, and stop."""
        for listener in server.servers:
            listener.close()
        await self.daemon.executions.drain(self.daemon.settings.drain_s)
        self._api.end_streams(stopping().diagnostic)
        await self._sockets.close()
        server.stop()
        await anyio.sleep(_LAST_S)
        self.access.close()
        await anyio.sleep(_LAST_S)
        server.stop()  # once more: a client that does not read its last messages is not waited for

    async def stop_now(self, server: WebServer) -> None:
        """End everything now."""
        await self.daemon.executions.drain(0)
        self.access.close()
        server.stop()
        server.stop()


def make_application(daemon: Daemon, tokens: ServeTokens, log: Log | None = None) -> DaemonApplication:
    """The daemon, to be served by anything that speaks ASGI."""
    settings = daemon.settings
    metrics = Metrics(daemon)
    if log is not None:
        daemon.topics.note = DaemonLog(log).note
    api = HttpApi(daemon, metrics, log)
    sockets = WebSocketEndpoint(daemon, metrics, log)
    handlers: dict[Any, Any] = {WebError: _tell, ClawftError: _tell, HTTPException: _tell, Exception: _tell_bug}
    routes = [*_routes(daemon, metrics, api), WebSocketRoute("/ws", sockets)]
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=_add_mcp(daemon, routes))
    app.router.redirect_slashes = False
    per_minute: dict[LimitKind, int] = {
        "reads": settings.limits.reads_per_minute,
        "writes": settings.limits.writes_per_minute,
    }
    access = DaemonAccess(
        ServerNames.of(settings),
        tokens,
        ClientLimits(per_minute, time.monotonic),
        metrics,
        log,
        daemon.executions.cancel_unauthenticated,
    )
    front = AuthMiddleware(app, access, MAX_HELD, refusal_response)
    return DaemonApplication(daemon, front, access, api, sockets)


def make_server(front: DaemonApplication) -> WebServer:
    settings = front.daemon.settings
    tls = Tls(settings.tls_cert, settings.tls_key) if settings.tls_cert else None
    bounds = ServerLimits(settings.limits.connections, settings.limits.message_kb << 10)
    return WebServer(front.middleware_front, bounds=bounds, behind_proxy=bool(settings.public_url), tls=tls)


def _routes(daemon: Daemon, metrics: Metrics, api: HttpApi) -> list[BaseRoute]:
    document = msgspec.json.encode(make_daemon_openapi(PREFIX))

    async def healthz(request: Request) -> Response:
        """Report the health of every part; the problem of a part only to clients with a token."""
        request.scope["operation"] = "healthz"
        is_known = "visitor" in request.scope["state"]
        if is_known:
            await daemon.registry.live.refresh()
        found = [view_health(subsystem) for subsystem in daemon.subsystems]
        return _answer_health(found, is_known=is_known)

    async def show_metrics(request: Request) -> Response:
        request.scope["operation"] = "metrics"
        get_request_client(request.scope).caller.need("read")
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
    from clawft.server.mcp import DaemonMcp  # which takes a while to load

    mcp = DaemonMcp(daemon)
    routes.insert(0, Route("/mcp", mcp))  # first: what is asked for over and over is found at once
    return lambda _app: mcp.running()


def _answer_health(found: list[SubsystemHealth], *, is_known: bool) -> Response:
    parts: dict[str, dict[str, object]] = {health.name: {"ok": is_well(health)} for health in found}
    for health in found:
        if health.problem is not None:
            parts[health.name] |= (
                {"problem": health.problem} if is_known else {"warning": True} if is_well(health) else {}
            )
    all_well = all(is_well(health) for health in found)
    return answer_json({"ok": all_well, "subsystems": parts}, 200 if all_well else 503)


async def _list_schemas(_request: Request) -> Response:
    return answer_json(list_schemas())


async def _show_schema(request: Request) -> Response:
    file = request.path_params["file"]
    message = next((message for message in MESSAGES if schema_name(message) == file), None)
    if message is None:
        raise WebError(404, "There is no schema of that name")
    return Response(msgspec.json.encode(schema_of(message)), media_type="application/schema+json")


async def _tell(_request: Request, error: Exception) -> Response:
    if isinstance(error, ClawftError):
        return refusal_response(to_web_error(error))
    if isinstance(error, HTTPException):
        return refusal_response(_explain(error))
    assert isinstance(error, WebError)
    return refusal_response(error)


def _explain(error: HTTPException) -> WebError:
    """Return the error for a request that no route fits."""
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
    return refusal_response(make_refusal(500, BUG))
