"""Access to the daemon: host, origin, token, rate limits and access log; errors as JSON responses."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress

import anyio
import msgspec
from starlette.responses import Response

from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.files import encode_json
from clawft.server.callers import DaemonCaller
from clawft.server.executions import stopping
from clawft.server.http.addresses import ServerNames
from clawft.server.http.exchange import AsgiScope, HttpExchange, Log, parse_host
from clawft.server.http.limits import ClientLimits, LimitKind, WebError
from clawft.server.http.server import IS_KNOWN
from clawft.server.observability import Metrics
from clawft.server.protocol.base import Refusal, to_problem
from clawft.server.tokens import ServeTokens

BUG = Diagnostic("bug", "error", "Internal error", hint="The daemon's log says more")
# What is no mistake in the request itself, by the code of the error.
_STATUS = {
    "approval-changed": 409,
    "approval-needless": 409,
    "install-changed": 409,
    "question-grave": 409,
    "questions-full": 503,
    "run-answered": 409,
    "run-status": 409,
    "serve-busy": 503,
    "serve-stopping": 503,
}
# The code of what only has a status.
_CODES = {
    401: "token-missing",
    404: "not-found",
    405: "method-wrong",
    408: "too-slow",
    413: "request-too-large",
    415: "not-json",
    429: "too-many-requests",
    503: "serve-busy",
}


def answer_json(document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode_json(document), status, headers, "application/json")


def make_refusal(status: int, why: Diagnostic, headers: Mapping[str, str] | None = None) -> WebError:
    """An answer that says what is wrong."""
    document = msgspec.to_builtins(Refusal(error=to_problem(why)))
    return WebError(status, why.message, headers=headers, document=document)


def to_web_error(error: ClawftError) -> WebError:
    """An error as an answer: what happened, and what to do about it."""
    by_kind = 404 if isinstance(error, NotFound) else 403 if isinstance(error, Refused) else 400
    status = _STATUS.get(error.code, by_kind)
    return make_refusal(status, error.diagnostic, {"Retry-After": "2"} if status == 503 else None)


def refusal_response(error: WebError) -> Response:
    """The answer itself; where only a text is known, its code follows from the status."""
    if error.document is None:
        code = _CODES.get(error.status, "request-invalid")
        error = make_refusal(error.status, Diagnostic(code, "error", error.text), error.headers)
    return answer_json(error.document, error.status, error.headers)


BEARER_PROTOCOL = "clawft.bearer."  # a browser's WebSocket has no headers of its own: the token comes as a subprotocol
RECHECK_S = 1.0  # how long after it was removed a token may count where nothing is asked with it
MAX_HELD = 256 << 20  # of answers that are whole in memory and wait to be taken
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
# What needs a token. All else tells nothing of this machine: the console's files, the published descriptions.
_PRIVATE = ("/api/", "/mcp", "/ws", "/metrics")
_PUBLISHED = ("/api/v1/openapi.json", "/api/v1/schemas")
_ONCE = (b"host", b"origin", b"authorization")  # of two, a proxy between us might have checked the other
_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    "Access-Control-Allow-Headers": "authorization, content-type, last-event-id, mcp-session-id, mcp-protocol-version",
    "Access-Control-Max-Age": "600",
}


class RequestClient:
    """The client of a request. `count` counts one more request of it, and raises WebError above the rate limit."""

    def __init__(
        self,
        caller: DaemonCaller,
        client: str,
        count: Callable[[LimitKind], object],
        check: Callable[[], DaemonCaller | None],
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
        """Return whether the token still counts as it did, looked up again after so many seconds; one that cannot be
        does not.

        One that did not count once never does again here.
        """
        now = time.monotonic()
        if self._is_known and now - self._checked >= after_s:
            self._checked = now
            self._is_known = False
            with suppress(ClawftError):
                self._is_known = self._check() == self.caller  # with the same scopes
        return self._is_known

    def request_close(self) -> bool:
        """Ask the client's connection to close in order; False where that was asked before, and it is still open."""
        is_first, self.is_sent_away = not self.is_sent_away, True
        if is_first and self.leave is not None:
            self.leave()
        return is_first

    def log_slow_client(self, log: Log | None) -> None:
        """Log that they did not read what they were sent."""
        if log is not None:
            about = {"event": "slow-consumer", "client": self.client, "owner": self.caller.name}
            log(f"{self.client} {self.caller.name} did not read, and was let go", about)


def get_request_client(scope: AsgiScope) -> RequestClient:
    """Return the client of a request, where the middleware required a token."""
    visitor: RequestClient = scope["state"]["visitor"]
    return visitor


class DaemonAccess:
    """The policy of the daemon. `cancel_unauthenticated` ends work whose caller's token is not valid any more."""

    def __init__(
        self,
        names: ServerNames,
        tokens: ServeTokens,
        limits: ClientLimits,
        metrics: Metrics,
        log: Log | None,
        cancel_unauthenticated: Callable[[], None],
    ) -> None:
        self._names = names
        self._tokens = tokens
        self._limits = limits
        self._metrics = metrics
        self._log = log
        self._end_unknown = cancel_unauthenticated
        self._inside: dict[anyio.CancelScope, RequestClient | None] = {}
        self._is_looking = False

    async def admit(self, exchange: HttpExchange) -> Response | None:
        scope = exchange.scope
        origin = self._check_place(exchange)
        is_socket = scope["type"] == "websocket"
        if origin and not is_socket:
            exchange.taken = _allow(origin)
            if scope["method"] == "OPTIONS" and b"access-control-request-method" in exchange.headers:
                return Response(status_code=204, headers=_PREFLIGHT)
        self._identify(exchange)
        if is_socket and scope["path"] != "/ws":
            raise WebError(404, "There is a WebSocket at /ws alone")
        return None

    @contextmanager
    def inside(self, exchange: HttpExchange) -> Iterator[anyio.CancelScope]:
        is_socket = exchange.scope["type"] == "websocket"
        with (
            self._metrics.connected("websocket") if is_socket else nullcontext(),
            anyio.CancelScope() as inside,
        ):
            self._inside[inside] = exchange.scope["state"].get("visitor")
            self._look_soon()
            try:
                yield inside
            finally:
                del self._inside[inside]

    def why_cut(self, exchange: HttpExchange) -> WebError:
        """The daemon ends before the answer did, or the token went."""
        visitor: RequestClient | None = exchange.scope["state"].get("visitor")
        return _token_wrong() if visitor and visitor.is_sent_away else to_web_error(stopping())

    def ended(self, exchange: HttpExchange) -> None:
        scope = exchange.scope
        if scope["type"] == "http":
            spent_s = time.perf_counter() - exchange.began
            self._metrics.request(scope.get("operation", ""), exchange.status or 499, spent_s)
        is_page = scope.get("operation") == "console" and exchange.status < 400  # dozens of files each time
        if self._log is not None and not is_page:
            exchange.log(self._log)

    def close(self) -> None:
        """Cancel all requests that are still open."""
        for scope in tuple(self._inside):
            scope.cancel()

    def _look_soon(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            asyncio.get_running_loop().call_later(RECHECK_S, self._look)

    def _look(self) -> None:
        """Once a second while anybody is inside: whose token was removed is sent away, however little happens."""
        self._is_looking = False
        self._end_unknown()
        for inside, visitor in tuple(self._inside.items()):
            if visitor is not None and not visitor.is_known() and not visitor.request_close():
                inside.cancel()
        if self._inside:
            self._look_soon()

    def _check_place(self, visit: HttpExchange) -> str:
        """Check the host a request is for and the page that sent it; return the page's origin if it is another one we
        accept.

        Raises: WebError.
        """
        named = [name for name, _ in visit.scope["headers"] if name in _ONCE]
        if len(named) != len(set(named)):
            raise WebError(400, "A header that says who asks, or whom, stands there twice")
        host = visit.headers.get(b"host", b"").decode("latin-1").lower()
        if not self._names.has_host(parse_host(host.encode("latin-1"))):
            # A page from elsewhere whose name now means this machine (DNS rebinding).
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

    def _identify(self, visit: HttpExchange) -> None:
        """Identify the caller by its token, and count the request. Raises: WebError."""
        scope = visit.scope
        kind: LimitKind = "reads" if scope["method"] in _READS else "writes"
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
        scope["state"]["visitor"] = RequestClient(
            caller=caller,
            client=visit.client,
            count=lambda one: self._limits.take(who, one),
            check=lambda: self._tokens.check(secret or ""),
        )

    def _check_token(self, secret: str) -> DaemonCaller | None:
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


def _find_secret(visit: HttpExchange) -> str | None:
    """Find the token in a request, valid or not; None where there is none."""
    if visit.bearer is not None:
        return visit.bearer
    offered: list[str] = visit.scope.get("subprotocols", [])
    return next(
        (protocol[len(BEARER_PROTOCOL) :] for protocol in offered if protocol.startswith(BEARER_PROTOCOL)), None
    )


def _error(status: int, code: str, message: str, hint: str, headers: dict[str, str] | None = None) -> WebError:
    return make_refusal(status, Diagnostic(code, "error", message, hint=hint), headers)


def _token_wrong() -> WebError:
    hint = "Make another: weft serve token new NAME --scope SCOPE; yours is in the file that weft serve status names"
    return _error(401, "token-wrong", "That token does not count, or not any more", hint, _CHALLENGE)
