"""Where everybody comes in: whom a request was meant for, from which page, who asks, how much, and what is logged."""

import socket
import time
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import anyio
import msgspec
from msgspec import Struct
from starlette.responses import Response

from clawft.config.serve import ServeSettings
from clawft.describe.diagnostics import to_problem
from clawft.errors import ClawftError, Diagnostic
from clawft.protocol.base import Refusal
from clawft.serve.caller import Caller
from clawft.serve.metrics import Metrics
from clawft.serve.tokens import ServeTokens
from clawft.web.errors import WebError
from clawft.web.limits import ClientLimits, Kind, Room
from clawft.web.listening import bracket, is_loopback
from clawft.web.visit import App, Log, Message, Receive, Scope, Send, Visit, parse_host

__all__ = ["BEARER_PROTOCOL", "Door", "Names", "Visitor", "answer_json", "refuse", "visitor_of"]

BEARER_PROTOCOL = "clawft.bearer."  # a browser's WebSocket has no headers of its own: the token comes as a subprotocol
MAX_HELD = 256 << 20  # of answers that are whole in memory and wait to be taken
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_PRIVATE = ("/api/", "/mcp", "/ws", "/metrics")
_OPEN = frozenset({"/api/v1/openapi.json"})
_OPEN_BELOW = "/api/v1/schemas/"
_CODES = {400: "request-invalid", 401: "token-wrong", 404: "not-found", 405: "method-wrong", 408: "too-slow"} | {
    413: "request-too-large", 415: "not-json", 429: "too-many-requests", 503: "serve-busy"
}  # fmt: skip


class Visitor(Struct, frozen=True):
    """Who came in, for whatever they do next. `count` counts one more request; `recheck` tells if the token counts."""

    caller: Caller
    client: str
    count: Callable[[Kind], object]
    recheck: Callable[[], Caller | None]


def visitor_of(scope: Scope) -> Visitor:
    """Raises: KeyError where the door let somebody in without a token."""
    visitor: Visitor = scope["state"]["visitor"]
    return visitor


class Names(Struct, frozen=True):
    """What the daemon goes by: hosts it is reached under, and origins whose pages may use it."""

    hosts: frozenset[str]
    any_address: bool = False  # it listens on all; a page cannot make an address mean another machine, as it can a name
    own: str = ""  # the origin that it has for clients, where that is another one
    origins: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: ServeSettings) -> "Names":
        public = urlsplit(settings.public_url)
        hosts = {bracket(settings.host).lower(), public.hostname or ""} - {""}
        is_wild = settings.host in ("0.0.0.0", "::")
        if is_wild or is_loopback(settings.host):
            hosts |= {"127.0.0.1", "localhost", "[::1]"}
        if not is_loopback(settings.host):
            hosts.add(socket.gethostname().lower())
        own = f"{public.scheme}://{public.netloc}".lower() if public.netloc else ""
        origins = frozenset(one.rstrip("/").lower() for one in settings.origins)
        return cls(frozenset(hosts), is_wild, own, origins)

    def has_host(self, host: str) -> bool:
        return host in self.hosts or (self.any_address and _is_address(host))

    def is_own(self, origin: str, scheme: str, host: str) -> bool:
        """Whether a page came from here. `host` is what it says it was reached under, which was looked at before."""
        return origin == self.own or origin == f"{scheme}://{host}"


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


class Door:
    """An ASGI application in front of the daemon's own."""

    def __init__(
        self,
        app: App,
        *,
        names: Names,
        tokens: ServeTokens,
        limits: ClientLimits,
        metrics: Metrics,
        log: Log | None,
    ) -> None:
        self._app = app
        self._names = names
        self._tokens = tokens
        self._limits = limits
        self._metrics = metrics
        self._log = log
        self._room = Room(MAX_HELD)
        self._inside: set[anyio.CancelScope] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve(Visit(scope, receive, send, self._room, refuse))
        elif scope["type"] == "websocket":
            await self._connect(scope, receive, send)

    def close(self) -> None:
        """End every request that still goes on."""
        for one in tuple(self._inside):
            one.cancel()

    async def _serve(self, visit: Visit) -> None:
        scope = visit.scope
        try:
            with anyio.CancelScope() as inside:
                self._inside.add(inside)
                origin = self._check_place(scope, visit.headers)
                if origin:
                    visit.taken += _allow(origin)
                if origin and scope["method"] == "OPTIONS" and b"access-control-request-method" in visit.headers:
                    await Response(status_code=204, headers=_PREFLIGHT)(scope, visit.receive, visit.send)
                    return
                visitor = self._admit(scope, visit.headers, visit.client)
                visit.owner = visitor.caller.name if visitor else ""
                await self._app(scope, visit.receive, visit.send)
        except WebError as error:
            await visit.answer(error)
        except ClawftError as error:
            await visit.answer(WebError(500, str(error), document=_document(error.diagnostic)))
        finally:
            self._inside.discard(inside)
            visit.close()
            self._metrics.request(scope.get("operation", ""), visit.status or 499, time.perf_counter() - visit.began)
            if self._log is not None:
                visit.log(self._log)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A WebSocket, which is refused before it is one."""
        visit = Visit(scope, receive, send, self._room, refuse)
        scope["method"] = "WS"
        visit.status = 101
        try:
            self._check_place(scope, visit.headers)
            visitor = self._admit(scope, visit.headers, visit.client)
            visit.owner = visitor.caller.name if visitor else ""
            with anyio.CancelScope() as inside:
                self._inside.add(inside)
                with self._metrics.connected():
                    await self._app(scope, receive, send)
            self._inside.discard(inside)
        except WebError as error:
            visit.status = error.status
            await receive()
            await _refuse_socket(refuse(error), send)
        finally:
            if self._log is not None:
                visit.log(self._log)

    def _check_place(self, scope: Scope, headers: dict[bytes, bytes]) -> str:
        """Whom it was meant for, and which page sent it: the origin, where that is a page of somebody we know.

        Raises: WebError.
        """
        header = headers.get(b"host", b"")
        if not self._names.has_host(parse_host(header)):
            # A page of somebody else whose name now means this machine (DNS rebinding).
            hint = "Say what it is reached under: serve.public_url"
            raise _error(421, "host-refused", "This daemon does not go by that name", hint)
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        scheme = {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])
        if not origin or self._names.is_own(origin, scheme, header.decode("latin-1").lower()):
            return ""
        if origin not in self._names.origins:
            hint = "Name the page's origin in serve.origins, if it is yours"
            raise _error(403, "origin-refused", "Pages of that origin may not use this daemon", hint)
        return origin

    def _admit(self, scope: Scope, headers: dict[bytes, bytes], client: str) -> Visitor | None:
        """Who asks, counted. Raises: WebError, Unreadable."""
        path = scope["path"]
        kind: Kind = "reads" if scope["method"] in _READS else "writes"
        secret = _find_secret(scope, headers)
        if secret is None:
            if path.startswith(_PRIVATE) and path not in _OPEN and not path.startswith(_OPEN_BELOW):
                self._limits.take(client, kind)
                raise _error(401, "token-missing", "A token is needed", "Authorization: Bearer TOKEN", _CHALLENGE)
            self._limits.take(client, kind)
            return None
        caller = self._tokens.check(secret)
        if caller is None:
            self._limits.take(client, kind)  # to guess is no way around
            raise _error(401, "token-wrong", "That token does not count", "Run: weft serve token list", _CHALLENGE)
        who = f"token {caller.name}"
        self._limits.take(who, kind)
        visitor = Visitor(
            caller=caller,
            client=client,
            count=lambda one: self._limits.take(who, one),
            recheck=lambda: self._tokens.check(secret),
        )
        scope.setdefault("state", {})["visitor"] = visitor
        return visitor


_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    "Access-Control-Allow-Headers": "authorization, content-type, last-event-id, mcp-session-id, mcp-protocol-version",
    "Access-Control-Max-Age": "600",
}


def _allow(origin: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"retry-after, mcp-session-id"),
        (b"vary", b"origin"),
    ]


def _find_secret(scope: Scope, headers: dict[bytes, bytes]) -> str | None:
    """What stands for a token, whatever it is worth; None where there is nothing of the kind."""
    header = headers.get(b"authorization")
    if header is not None:
        word, _, secret = header.partition(b" ")
        return secret.strip().decode("latin-1") if word.lower() == b"bearer" else ""
    for one in scope.get("subprotocols", ()):
        if one.startswith(BEARER_PROTOCOL):
            return str(one[len(BEARER_PROTOCOL) :])
    return None


def _error(
    status: int, code: str, message: str, hint: str = "", headers: dict[str, str] | None = None
) -> WebError:
    return WebError(status, message, headers=headers, document=_document(Diagnostic(code, "error", message, hint=hint)))


def _document(diagnostic: Diagnostic, request: str = "") -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(Refusal(id=request, error=to_problem(diagnostic)))
    return found


def refuse(error: WebError) -> Response:
    """What went wrong, as every error of the daemon is said."""
    code = _CODES.get(error.status, "request-invalid")
    return answer_json(error.document or _document(Diagnostic(code, "error", error.text)), error.status, error.headers)


def answer_json(document: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(document), status, headers, "application/json")


async def _refuse_socket(response: Response, send: Send) -> None:
    start: Message = {
        "type": "websocket.http.response.start", "status": response.status_code, "headers": response.raw_headers
    }  # fmt: skip
    await send(start)
    await send({"type": "websocket.http.response.body", "body": bytes(response.body)})
