"""Where everybody comes in: whom a request was meant for, from which page, who asks, how much, and what is logged."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import anyio
from starlette.responses import Response

from clawft.errors import ClawftError, Diagnostic
from clawft.serve.answers import make_refusal, refuse, to_web
from clawft.serve.caller import Caller
from clawft.serve.executions import stopping
from clawft.serve.metrics import Metrics
from clawft.serve.names import Names
from clawft.serve.tokens import ServeTokens
from clawft.web.errors import WebError
from clawft.web.limits import ClientLimits, Kind, Room
from clawft.web.visit import App, Log, Receive, Scope, Send, Visit, parse_host

__all__ = ["BEARER_PROTOCOL", "RECHECK_S", "Door", "Visitor", "visitor_of"]

BEARER_PROTOCOL = "clawft.bearer."  # a browser's WebSocket has no headers of its own: the token comes as a subprotocol
RECHECK_S = 1.0  # how long after it was removed a token may count where nothing is asked with it
MAX_HELD = 256 << 20  # of answers that are whole in memory and wait to be taken
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
# What needs a token. All else tells nothing of this machine: the console's files, the published descriptions.
_PRIVATE = ("/api/", "/mcp", "/ws", "/metrics")
_PUBLISHED = ("/api/v1/openapi.json", "/api/v1/schemas")
_ONCE = (b"host", b"origin", b"authorization")  # of two, somebody between us might have looked at the other
_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    "Access-Control-Allow-Headers": "authorization, content-type, last-event-id, mcp-session-id, mcp-protocol-version",
    "Access-Control-Max-Age": "600",
}


class Visitor:
    """Who came in. `count` counts one more thing that they ask for, and raises WebError where that is too much."""

    def __init__(
        self, caller: Caller, client: str, count: Callable[[Kind], object], check: Callable[[], Caller | None]
    ) -> None:
        self.caller = caller
        self.client = client
        self.count = count
        self._check = check
        self._checked = time.monotonic()
        self._is_known = True

    def is_known(self, *, after_s: float = 0.0) -> bool:
        """Whether the token still counts as it did, looked up again after so many seconds; one that cannot be does not.

        One that did not count once never does again here.
        """
        now = time.monotonic()
        if self._is_known and now - self._checked >= after_s:
            self._checked = now
            self._is_known = False
            with suppress(ClawftError):
                self._is_known = self._check() == self.caller  # with the same scopes
        return self._is_known

    def tell_slow(self, log: Log | None) -> None:
        """Log that they did not read what they were sent."""
        if log is not None:
            about = {"event": "slow-consumer", "client": self.client, "owner": self.caller.name}
            log(f"{self.client} {self.caller.name} did not read, and was let go", about)


def visitor_of(scope: Scope) -> Visitor:
    """Who asks, where the door asked for a token."""
    visitor: Visitor = scope["state"]["visitor"]
    return visitor


class Door:
    """An ASGI application in front of the daemon's own."""

    def __init__(
        self, app: App, *, names: Names, tokens: ServeTokens, limits: ClientLimits, metrics: Metrics, log: Log | None
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
            return
        scope.setdefault("state", {})
        visit = Visit(scope, receive, send, self._room, refuse)
        try:
            if scope["type"] == "http":
                await self._serve(visit)
            else:
                await self._connect(visit, receive, send)
        finally:
            visit.close()
            if self._log is not None:
                visit.log(self._log)

    def close(self) -> None:
        """End whatever still goes on for somebody."""
        for one in tuple(self._inside):
            one.cancel()

    async def _serve(self, visit: Visit) -> None:
        scope = visit.scope
        try:
            origin = self._check_place(visit)
            if origin:
                visit.taken = _allow(origin)
            if origin and scope["method"] == "OPTIONS" and b"access-control-request-method" in visit.headers:
                return await Response(status_code=204, headers=_PREFLIGHT)(scope, visit.receive, visit.send)
            self._admit(visit)
            with self._letting_in() as inside:
                await self._app(scope, visit.receive, visit.send)
            if inside.cancelled_caught:
                await self._cut_short(visit)
        except WebError as error:
            await visit.answer(error)
        finally:
            spent_s = time.perf_counter() - visit.began
            self._metrics.request(scope.get("operation", ""), visit.status or 499, spent_s)
        return None

    async def _connect(self, visit: Visit, receive: Receive, send: Send) -> None:
        """A WebSocket, which is refused before it is one."""
        visit.scope["method"] = "WS"
        visit.status = 101
        try:
            self._check_place(visit)
            self._admit(visit)
            if visit.scope["path"] != "/ws":
                raise WebError(404, "There is a WebSocket at /ws alone")
        except WebError as error:
            visit.status = error.status
            await receive()
            await _refuse_socket(refuse(error), send)
            return
        with self._letting_in(), self._metrics.connected("websocket"):
            await self._app(visit.scope, receive, send)

    @staticmethod
    async def _cut_short(visit: Visit) -> None:
        """The daemon ends before the answer did."""
        await visit.finish()
        await visit.answer(to_web(stopping()))

    @contextmanager
    def _letting_in(self) -> Iterator[anyio.CancelScope]:
        with anyio.CancelScope() as inside:
            self._inside.add(inside)
            try:
                yield inside
            finally:
                self._inside.discard(inside)

    def _check_place(self, visit: Visit) -> str:
        """Whom it was meant for, and which page sent it: its origin, where that is another's whom we know.

        Raises: WebError.
        """
        named = [name for name, _ in visit.scope["headers"] if name in _ONCE]
        if len(named) != len(set(named)):
            raise WebError(400, "A header that says who asks, or whom, stands there twice")
        host = visit.headers.get(b"host", b"").decode("latin-1").lower()
        if not self._names.has_host(parse_host(host.encode("latin-1"))):
            # A page of somebody else whose name now means this machine (DNS rebinding).
            hint = "Say what it is reached under: serve.public_url"
            raise _error(421, "host-refused", "This daemon does not go by that name", hint)
        origin = visit.headers.get(b"origin", b"").decode("latin-1").lower()
        scheme = "https" if visit.scope["scheme"] in ("https", "wss") else "http"
        if not origin or self._names.is_own(origin, f"{scheme}://{host}"):
            return ""
        if origin not in self._names.origins:
            hint = "Name the page's origin in serve.origins, if it is yours"
            raise _error(403, "origin-refused", "Pages of that origin may not use this daemon", hint)
        return origin

    def _admit(self, visit: Visit) -> None:
        """Who asks, counted. Raises: WebError."""
        scope = visit.scope
        kind: Kind = "reads" if scope["method"] in _READS else "writes"
        secret = _find_secret(visit)
        caller = self._check_token(secret) if secret is not None else None
        if caller is None:
            self._limits.take(visit.client, kind)  # to guess is no way around
            if secret is not None:
                raise _error(401, "token-wrong", "That token does not count", "Run: weft serve token list", _CHALLENGE)
            if scope["path"].startswith(_PRIVATE) and not scope["path"].startswith(_PUBLISHED):
                raise _error(401, "token-missing", "A token is needed", "Authorization: Bearer TOKEN", _CHALLENGE)
            return
        who = f"token {caller.name}"
        self._limits.take(who, kind)
        visit.owner = caller.name
        scope["state"]["visitor"] = Visitor(
            caller=caller,
            client=visit.client,
            count=lambda one: self._limits.take(who, one),
            check=lambda: self._tokens.check(secret or ""),
        )

    def _check_token(self, secret: str) -> Caller | None:
        try:
            return self._tokens.check(secret)
        except ClawftError as error:  # the file of tokens is broken
            raise make_refusal(500, error.diagnostic) from error


def _allow(origin: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"retry-after, mcp-session-id"),
        (b"vary", b"origin"),
    ]


def _find_secret(visit: Visit) -> str | None:
    """What stands for a token, whatever it is worth; None where there is nothing of the kind."""
    header = visit.headers.get(b"authorization")
    if header is not None:
        word, _, secret = header.partition(b" ")
        return secret.strip().decode("latin-1") if word.lower() == b"bearer" else ""
    offered: list[str] = visit.scope.get("subprotocols", [])
    return next((one[len(BEARER_PROTOCOL) :] for one in offered if one.startswith(BEARER_PROTOCOL)), None)


def _error(status: int, code: str, message: str, hint: str, headers: dict[str, str] | None = None) -> WebError:
    return make_refusal(status, Diagnostic(code, "error", message, hint=hint), headers)


async def _refuse_socket(response: Response, send: Send) -> None:
    start = {"status": response.status_code, "headers": response.raw_headers}
    await send({"type": "websocket.http.response.start", **start})
    await send({"type": "websocket.http.response.body", "body": bytes(response.body)})
