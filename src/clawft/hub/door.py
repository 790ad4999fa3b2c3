"""Where every request comes in: whom it was meant for, who asks, how much and how slowly, and what is logged of it."""

import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import anyio
from starlette.responses import JSONResponse, PlainTextResponse, Response

from clawft.hub.errors import HubError
from clawft.hub.limits import ClientLimits, Kind, Room, name_client
from clawft.hub.model import HubToken

__all__ = ["MCP_PATH", "Door", "Log", "Scope", "answer_error"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Log = Callable[[str, Mapping[str, object]], None]  # a line, and the same for a program

BODY_S = 30.0  # for a body to come, and more for a large one
BYTES_PER_S = 16 * 1024  # what the slowest client brings
MAX_HELD = 512 << 20  # of answers that are whole in memory and wait to be taken
_LARGE = 2 << 20  # what is counted of them; no piece of what is sent in pieces is so large
_CHUNK = 256 * 1024  # what is sent before it is seen whether the client takes it
_OPEN = frozenset({"/healthz", "/.well-known/clawhub.json", "/.well-known/clawdhub.json"})
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
MCP_PATH = "/mcp"
# What reads, whatever the method.
_ASKED = frozenset({MCP_PATH, "/api/v1/skills/-/security-verdicts", "/api/v1/skills/-/verify"})
_UPLOAD = "/api/v1/skills/-/upload"
# What a hub serves is not to be run, framed or guessed at by a browser; its few pages bring a policy of their own.
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; sandbox"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Door:
    """An ASGI application in front of the hub's own."""

    def __init__(
        self,
        app: App,
        *,
        hosts: frozenset[str],
        find_token: Callable[[str], Awaitable[HubToken | None]],
        limits: ClientLimits,
        public_read: bool,
        log: Log | None,
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._find_token = find_token
        self._limits = limits
        self._public_read = public_read
        self._log = log
        self._room = Room(MAX_HELD)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        visit = _Visit(scope, receive, send, self._room)
        try:
            await self._admit(visit)
            await self._app(scope, visit.receive, visit.send)
        except HubError as error:
            if not visit.status:
                await answer_error(error)(scope, receive, visit.send)
        finally:
            visit.close()
            if self._log is not None:
                self._write(self._log, visit)

    async def _admit(self, visit: "_Visit") -> None:
        """Raises: HubError."""
        scope = visit.scope
        headers = visit.headers
        if self._hosts and _host(headers.get(b"host", b"")) not in self._hosts:
            # A page of somebody else whose name now means this machine (DNS rebinding).
            raise HubError(421, "This hub does not go by that name")
        is_open = scope["path"] in _OPEN
        visit.client = name_client(scope["client"][0]) if scope.get("client") else "local"
        kind: Kind = "reads" if scope["method"] in _READS or scope["path"] in _ASKED else "writes"
        token = await self._authenticate(headers.get(b"authorization", b""), visit.client, kind)
        visit.token = token
        scope.setdefault("state", {})["token"] = token
        if not is_open:
            visit.taken = self._limits.take(f"token {token.id}" if token else visit.client, kind).headers()
            if not self._public_read:
                _check_private(token, scope["path"], kind)

    async def _authenticate(self, header: bytes, client: str, kind: Kind) -> HubToken | None:
        if not header:
            return None
        word, _, secret = header.partition(b" ")
        token = None
        if word.lower() == b"bearer":
            token = await self._find_token(secret.strip().decode("latin-1"))
        if token is None:
            self._limits.take(client, kind)  # to guess is no way around
            raise HubError(401, "Unauthorized", headers={"WWW-Authenticate": "Bearer"})
        return token

    @staticmethod
    def _write(log: Log, visit: "_Visit") -> None:
        """What is logged has no query, no header and no body: those hold tokens and tickets."""
        spent_ms = round((time.perf_counter() - visit.began) * 1000)
        method, path, status = visit.scope["method"], visit.scope["path"], visit.status or 499
        who = f"{visit.client or '-'} {visit.token.owner if visit.token else '-'}"
        about = {
            "event": "request",
            "client": visit.client,
            "owner": visit.token.owner if visit.token else "",
            "method": method,
            "path": path,
            "status": status,
            "ms": spent_ms,
        }
        log(f"{who} {method} {path} {status} {spent_ms} ms", about)


class _Visit:
    """One request and its answer, seen from the door."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, room: Room) -> None:
        self.scope = scope
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.began = time.perf_counter()
        self.client = ""
        self.token: HubToken | None = None
        self.taken: list[tuple[bytes, bytes]] = []
        self.status = 0
        self._receive = receive
        self._send = send
        self._room = room
        self._held = 0
        self._start: Message | None = None  # sent with what follows, when it is known how much that is
        self._is_refused = False
        self._got = 0
        self._is_whole = self.headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in self.headers

    async def receive(self) -> Message:
        if self._is_whole:  # there is no more, but the client may go
            return await self._receive()
        until = self.began + BODY_S + self._got / BYTES_PER_S
        message: Message | None = None
        with anyio.move_on_after(max(0.0, until - time.perf_counter())):
            message = await self._receive()
        if message is None:
            raise HubError(408, "The body did not come in time")
        self._got += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if self._is_refused:
            return
        if message["type"] == "http.response.start":
            self._start = message
            return
        body = message.get("body", b"")
        if self._start is not None:
            if len(body) > _LARGE and not self._room.take(self.client, len(body)):
                await self._refuse()
                return
            self._held = len(body) if len(body) > _LARGE else 0
            await self._open(self._start)
        if len(body) <= _CHUNK and not message.get("more_body", False):
            await self._send(message)
            return
        for start in range(0, len(body) or 1, _CHUNK):
            more = start + _CHUNK < len(body) or message.get("more_body", False)
            await self._send({**message, "body": body[start : start + _CHUNK], "more_body": more})

    def close(self) -> None:
        if self._held:
            self._room.free(self.client, self._held)
            self._held = 0

    async def _open(self, start: Message) -> None:
        self._start = None
        self.status = start["status"]
        own = [*start.get("headers", ())]
        named = {name for name, _ in own}
        headers = [*own, *(one for one in _HEADERS if one[0] not in named), *self.taken]
        if not self._is_whole:  # nobody wants the rest of it
            headers.append((b"connection", b"close"))
        await self._send({**start, "headers": headers})

    async def _refuse(self) -> None:
        """Say that there is no room, in place of the answer."""
        self._is_refused = True
        refusal = answer_error(HubError(503, "Too many large answers wait to be taken", headers={"Retry-After": "5"}))
        await self._open({"type": "http.response.start", "status": 503, "headers": refusal.raw_headers})
        await self._send({"type": "http.response.body", "body": refusal.body})


def _host(header: bytes) -> str:
    """The name in a `Host` header, without the port."""
    text = header.decode("latin-1").lower()
    return text[: text.find("]") + 1] if text.startswith("[") else text.partition(":")[0]


def _check_private(token: HubToken | None, path: str, kind: Kind) -> None:
    """Where not everybody may read; what writes asks for its own scope. Raises: HubError."""
    if token is None:
        if path != _UPLOAD:  # which brings a ticket of its own
            raise HubError(401, "Unauthorized", headers={"WWW-Authenticate": "Bearer"})
    elif kind == "reads" and path != "/api/v1/whoami" and {"read", "admin"}.isdisjoint(token.scopes):
        raise HubError(403, "This token may not do that: it lacks the scope read")


def answer_error(error: HubError) -> Response:
    """A line of text, or the document that stands for it."""
    if error.document is not None:
        return JSONResponse(error.document, error.status, headers=error.headers)
    return PlainTextResponse(error.text, error.status, headers=error.headers)
