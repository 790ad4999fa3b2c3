"""One HTTP request and its response, bounded in time and memory, and the middleware that lets requests in."""

import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import anyio
from starlette.responses import Response

from clawft.server.http.limits import ResponseMemory, WebError, answer_error, name_client

AsgiScope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[AsgiScope, Receive, Send], Awaitable[None]]
Log = Callable[[str, Mapping[str, object]], None]  # a line, and the same for a program
RenderError = Callable[[WebError], Response]

BODY_S = 30.0  # for a body to come, and more for a large one
BYTES_PER_S = 16 * 1024  # what the slowest client brings
_LARGE = 2 << 20  # what is counted of whole answers; no piece of what is sent in pieces is so large
_CHUNK = 256 * 1024  # what is sent before it is seen whether the client takes it
_MAX_PATH = 500  # characters of it that are logged: what nobody let in sends does not fill a disk
_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::\d*)?")
# What is served is not to be run, framed or guessed at by a browser; pages bring a policy of their own.
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; sandbox"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class HttpExchange:
    """The messages of one request and its response, with timeouts for slow clients and a limit on memory."""

    def __init__(
        self, scope: AsgiScope, receive: Receive, send: Send, room: ResponseMemory, tell: RenderError = answer_error
    ) -> None:
        self.scope = scope
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.began = time.perf_counter()
        self.client = name_client(scope["client"][0]) if scope.get("client") else "local"
        self.owner = ""  # whose token came with it
        self.taken: list[tuple[bytes, bytes]] = []  # headers that say what is left of a limit
        self.status = 0
        self._receive = receive
        self._send = send
        self._room = room
        self._tell = tell
        self._held = 0
        self._start: Message | None = None  # sent with what follows, when it is known how much that is
        self._is_refused = False
        self._is_sent = False  # all of the answer
        self._got = 0
        self._is_whole = self.headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in self.headers

    @property
    def bearer(self) -> str | None:
        """The token in the header, valid or not; None where there is no header."""
        header = self.headers.get(b"authorization")
        if not header:
            return None
        word, _, secret = header.partition(b" ")
        return secret.strip().decode("latin-1") if word.lower() == b"bearer" else ""

    async def receive(self) -> Message:
        if self._is_whole:  # there is no more, but the client may go
            return await self._receive()
        until = self.began + BODY_S + self._got / BYTES_PER_S
        message: Message | None = None
        with anyio.move_on_after(max(0.0, until - time.perf_counter())):
            message = await self._receive()
        if message is None and self.status:  # the answer does not wait for it, but the sender is taken for gone
            self._is_refused = True
            await self.finish()
            return {"type": "http.disconnect"}
        if message is None:
            raise WebError(408, "The body did not come in time")
        self._got += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if self._is_refused:
            return
        if message["type"] == "http.response.start":
            self._start = message
            if _is_events(message):  # nobody knows when the first one comes
                await self._open(message)
            return
        body = message.get("body", b"")
        if self._start is not None:
            if len(body) > _LARGE and not self._room.take(self.client, len(body)):
                await self._refuse()
                return
            self._held = len(body) if len(body) > _LARGE else 0
            await self._open(self._start)
        self._is_sent = not message.get("more_body", False)
        if len(body) <= _CHUNK and self._is_sent:
            await self._send(message)
            return
        for start in range(0, len(body) or 1, _CHUNK):
            more = start + _CHUNK < len(body) or message.get("more_body", False)
            await self._send({**message, "body": body[start : start + _CHUNK], "more_body": more})

    async def answer(self, error: WebError) -> None:
        """Say what was wrong, unless an answer has begun."""
        if not self.status:
            await self._tell(error)(self.scope, self._receive, self.send)

    async def finish(self) -> None:
        """Let an answer that was cut short end there."""
        if self.status and not self._is_sent:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def close(self) -> None:
        if self._held:
            self._room.free(self.client, self._held)
            self._held = 0

    def log(self, log: Log) -> None:
        """Log the request without query, headers and body: those hold tokens and tickets."""
        spent_ms = round((time.perf_counter() - self.began) * 1000)
        method, path, status = self.scope["method"], self.scope["path"][:_MAX_PATH], self.status or 499
        about = {
            "event": "request",
            "client": self.client,
            "owner": self.owner,
            "method": method,
            "path": path,
            "status": status,
            "ms": spent_ms,
        }
        log(f"{self.client} {self.owner or '-'} {method} {path} {status} {spent_ms} ms", about)

    async def _open(self, start: Message) -> None:
        self._start = None
        self.status = start["status"]
        own = [*start.get("headers", ())]
        named = {name for name, _ in own}
        headers = [*own, *(header for header in _HEADERS if header[0] not in named), *self.taken]
        # The rest is not wanted; and where the length is given twice, a proxy between us may see another end.
        if not self._is_whole or {b"content-length", b"transfer-encoding"} <= self.headers.keys():
            headers.append((b"connection", b"close"))
        await self._send({**start, "headers": headers})

    async def _refuse(self) -> None:
        """Say that there is no room, in place of the answer."""
        self._is_refused = True
        refusal = self._tell(WebError(503, "Too many large answers wait to be taken", headers={"Retry-After": "5"}))
        await self._open({"type": "http.response.start", "status": 503, "headers": refusal.raw_headers})
        await self._send({"type": "http.response.body", "body": refusal.body})


def _is_events(start: Message) -> bool:
    kinds = (value for name, value in start.get("headers", ()) if name.lower() == b"content-type")
    return any(kind.startswith(b"text/event-stream") for kind in kinds)


def parse_host(header: bytes) -> str:
    """The name in a `LocalMachine` header, without the port; '' for what is none."""
    found = _HOST.fullmatch(header.decode("latin-1").lower())
    return found[1] if found else ""


class AccessPolicy(Protocol):
    """The rules of a server: its clients, and notes on their requests."""

    async def admit(self, exchange: HttpExchange) -> Response | None:
        """Check the host and the token of a request; a response here is all of the answer. Raises: WebError."""

    def inside(self, exchange: HttpExchange) -> AbstractContextManager[anyio.CancelScope]:
        """The block in which a request is answered; to cancel it cuts the answer short."""

    def why_cut(self, exchange: HttpExchange) -> WebError:
        """Return the answer for a client of whose answer nothing was sent before it was cut short."""

    def ended(self, exchange: HttpExchange) -> None:
        """Note how it ended."""


class AuthMiddleware:
    """An ASGI application in front of a server's own, which sees only what the policy lets in."""

    def __init__(self, app: App, policy: AccessPolicy, max_held: int, tell: RenderError = answer_error) -> None:
        """`max_held` bounds the answers that are whole in memory and wait to be taken."""
        self._app = app
        self._policy = policy
        self._room = ResponseMemory(max_held)
        self._tell = tell

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})
        exchange = HttpExchange(scope, receive, send, self._room, self._tell)
        try:
            if scope["type"] == "http":
                await self._serve(exchange)
            else:
                await self._connect(exchange, receive, send)
        finally:
            exchange.close()
            self._policy.ended(exchange)

    async def _serve(self, exchange: HttpExchange) -> None:
        try:
            response = await self._policy.admit(exchange)
            if response is not None:
                await response(exchange.scope, exchange.receive, exchange.send)
                return
            with self._policy.inside(exchange) as inside:
                await self._app(exchange.scope, exchange.receive, exchange.send)
            if inside.cancelled_caught:
                await exchange.finish()
                await exchange.answer(self._policy.why_cut(exchange))
        except WebError as error:
            await exchange.answer(error)

    async def _connect(self, exchange: HttpExchange, receive: Receive, send: Send) -> None:
        """A WebSocket, which is refused before it is one."""
        exchange.scope["method"] = "WS"
        exchange.status = 101
        try:
            await self._policy.admit(exchange)
        except WebError as error:
            exchange.status = error.status
            await receive()
            refusal = self._tell(error)
            start = {"status": refusal.status_code, "headers": refusal.raw_headers}
            await send({"type": "websocket.http.response.start", **start})
            await send({"type": "websocket.http.response.body", "body": bytes(refusal.body)})
            return
        with self._policy.inside(exchange):
            await self._app(exchange.scope, receive, send)
