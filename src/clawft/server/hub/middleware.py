"""Where every request comes in: whom it was meant for, who asks, how much and how slowly, and what is logged of it."""

from collections.abc import Awaitable, Callable

from clawft.hub.model import HubToken
from clawft.web.connection import IS_KNOWN
from clawft.web.errors import WebError
from clawft.web.limits import ClientLimits, Kind, Room
from clawft.web.visit import App, Log, Receive, Scope, Send, Visit, parse_host

__all__ = ["MCP_PATH", "Door"]

MAX_HELD = 512 << 20  # of answers that are whole in memory and wait to be taken
_OPEN = frozenset({"/healthz", "/.well-known/clawhub.json", "/.well-known/clawdhub.json"})
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
MCP_PATH = "/mcp"
# What reads, whatever the method.
_ASKED = frozenset({MCP_PATH, "/api/v1/skills/-/security-verdicts", "/api/v1/skills/-/verify"})
_UPLOAD = "/api/v1/skills/-/upload"


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
        visit = Visit(scope, receive, send, self._room)
        try:
            await self._admit(visit)
            await self._app(scope, visit.receive, visit.send)
        except WebError as error:
            await visit.answer(error)
        finally:
            visit.close()
            if self._log is not None:
                visit.log(self._log)

    async def _admit(self, visit: Visit) -> None:
        """Raises: WebError."""
        scope = visit.scope
        headers = visit.headers
        if self._hosts and parse_host(headers.get(b"host", b"")) not in self._hosts:
            # A page of somebody else whose name now means this machine (DNS rebinding).
            raise WebError(421, "This hub does not go by that name")
        is_open = scope["path"] in _OPEN
        kind: Kind = "reads" if scope["method"] in _READS or scope["path"] in _ASKED else "writes"
        token = await self._authenticate(headers.get(b"authorization", b""), visit.client, kind)
        visit.owner = token.owner if token else ""
        scope.setdefault("state", {}).update({"token": token, IS_KNOWN: token is not None})
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
            raise WebError(401, "Unauthorized", headers={"WWW-Authenticate": "Bearer"})
        return token


def _check_private(token: HubToken | None, path: str, kind: Kind) -> None:
    """Where not everybody may read; what writes asks for its own scope. Raises: WebError."""
    if token is None:
        if path != _UPLOAD:  # which brings a ticket of its own
            raise WebError(401, "Unauthorized", headers={"WWW-Authenticate": "Bearer"})
    elif kind == "reads" and path != "/api/v1/whoami" and {"read", "admin"}.isdisjoint(token.scopes):
        raise WebError(403, "This token may not do that: it lacks the scope read")
