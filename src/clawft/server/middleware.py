"""Where everybody comes in: whom a request was meant for, from which page, who asks, how much, and what is logged."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import anyio
from msgspec import Struct
from starlette.responses import Response

from clawft.errors import ClawftError, Diagnostic
from clawft.serve.answers import make_refusal, refuse, to_web
from clawft.serve.caller import Caller
from clawft.serve.executions import stopping
from clawft.serve.metrics import Metrics
from clawft.serve.names import Names
from clawft.serve.tokens import ServeTokens
from clawft.web.connection import IS_KNOWN
from clawft.web.errors import WebError
from clawft.web.limits import ClientLimits, Kind, Room
from clawft.web.visit import App, Log, Receive, Scope, Send, Visit, parse_host

__all__ = ["BEARER_PROTOCOL", "RECHECK_S", "Around", "Door", "Visitor", "visitor_of"]

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
        self.leave: Callable[[], None] | None = None  # ends what they are given in order, where that can be
        self.is_sent_away = False
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

    def send_away(self) -> bool:
        """Have them leave in order; False for one who was told so before, and is still there."""
        is_first, self.is_sent_away = not self.is_sent_away, True
        if is_first and self.leave is not None:
            self.leave()
        return is_first

    def tell_slow(self, log: Log | None) -> None:
        """Log that they did not read what they were sent."""
        if log is not None:
            about = {"event": "slow-consumer", "client": self.client, "owner": self.caller.name}
            log(f"{self.client} {self.caller.name} did not read, and was let go", about)


def visitor_of(scope: Scope) -> Visitor:
    """Who asks, where the door asked for a token."""
    visitor: Visitor = scope["state"]["visitor"]
    return visitor


class Around(Struct, frozen=True):
    """What the door tells. `end_unknown` ends work whose caller is not known any more."""

    metrics: Metrics
    log: Log | None
    end_unknown: Callable[[], None]


class Door:
    """An ASGI application in front of the daemon's own."""

    def __init__(self, app: App, *, names: Names, tokens: ServeTokens, limits: ClientLimits, around: Around) -> None:
        self._app = app
        self._names = names
        self._tokens = tokens
        self._limits = limits
        self._metrics = around.metrics
        self._log = around.log
        self._end_unknown = around.end_unknown
        self._room = Room(MAX_HELD)
        self._inside: dict[anyio.CancelScope, Visitor | None] = {}
        self._is_looking = False

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
            is_page = scope.get("operation") == "console" and visit.status < 400  # dozens of files each time
            if self._log is not None and not is_page:
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
            with self._letting_in(scope) as inside:
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
        with self._letting_in(visit.scope), self._metrics.connected("websocket"):
            await self._app(visit.scope, receive, send)

    @staticmethod
    async def _cut_short(visit: Visit) -> None:
        """The daemon ends before the answer did, or the token went."""
        await visit.finish()
        visitor: Visitor | None = visit.scope["state"].get("visitor")
        await visit.answer(_token_wrong() if visitor and visitor.is_sent_away else to_web(stopping()))

    @contextmanager
    def _letting_in(self, scope: Scope) -> Iterator[anyio.CancelScope]:
        with anyio.CancelScope() as inside:
            self._inside[inside] = scope["state"].get("visitor")
            self._look_soon()
            try:
                yield inside
            finally:
                del self._inside[inside]

    def _look_soon(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            asyncio.get_running_loop().call_later(RECHECK_S, self._look)

    def _look(self) -> None:
        """Once a second while anybody is inside: whose token was removed is sent away, however little happens."""
        self._is_looking = False
        self._end_unknown()
        for inside, visitor in tuple(self._inside.items()):
            if visitor is not None and not visitor.is_known() and not visitor.send_away():
                inside.cancel()
        if self._inside:
            self._look_soon()

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
                raise _token_wrong()
            if scope["path"].startswith(_PRIVATE) and not scope["path"].startswith(_PUBLISHED):
                raise _error(401, "token-missing", "A token is needed", "Authorization: Bearer TOKEN", _CHALLENGE)
            return
        who = f"token {caller.name}"
        self._limits.take(who, kind)
        visit.owner = caller.name
        scope["state"][IS_KNOWN] = True
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


def _token_wrong() -> WebError:
    hint = "Make another: weft serve token new NAME --scope SCOPE; yours is in the file that weft serve status names"
    return _error(401, "token-wrong", "That token does not count, or not any more", hint, _CHALLENGE)


async def _refuse_socket(response: Response, send: Send) -> None:
    start = {"status": response.status_code, "headers": response.raw_headers}
    await send({"type": "websocket.http.response.start", **start})
    await send({"type": "websocket.http.response.body", "body": bytes(response.body)})
