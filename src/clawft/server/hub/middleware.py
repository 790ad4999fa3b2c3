"""Access to the hub: host, token, rate limits and access log; store errors as HTTP errors."""

import logging
from collections.abc import Awaitable, Callable

import anyio

from clawft.errors import ClawftError, NotFound
from clawft.server.http.exchange import HttpExchange, Log, parse_host
from clawft.server.http.limits import ClientLimits, Kind, WebError
from clawft.server.http.server import IS_KNOWN
from clawft.server.hub.model import HubToken

# What the store and the intake refuse, by the code of their error; what is not named here is the client's mistake.
_STATUS = {
    "hub-deleted": 410,
    "hub-version-exists": 409,
    "hub-malicious": 422,
    "hub-suspicious": 422,
    "hub-scan": 422,
    "hub-quota": 403,
    "hub-too-large": 413,
    "hub-busy": 503,
    "hub-database": 500,
    "hub-blobs": 500,
}


def from_error(error: ClawftError) -> WebError:
    """The same as an answer: what happened, and what to do about it."""
    status = _STATUS.get(error.code, 404 if isinstance(error, NotFound) else 400)
    if status >= 500:  # what is wrong with the hub is for its operator
        logging.getLogger("clawft.hub").error("%s", error)
        return WebError(status, "The hub cannot do that just now", headers={"Retry-After": "2"})
    return WebError(status, f"{error} ({error.hint})" if error.hint else str(error))


MAX_HELD = 512 << 20  # of answers that are whole in memory and wait to be taken
_OPEN = frozenset({"/healthz", "/.well-known/clawhub.json", "/.well-known/clawdhub.json"})
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
MCP_PATH = "/mcp"
# What reads, whatever the method.
_ASKED = frozenset({MCP_PATH, "/api/v1/skills/-/security-verdicts", "/api/v1/skills/-/verify"})
_UPLOAD = "/api/v1/skills/-/upload"


class HubAccess:
    """The policy of the hub. Without `hosts` it goes by any name."""

    def __init__(
        self,
        hosts: frozenset[str],
        find_token: Callable[[str], Awaitable[HubToken | None]],
        limits: ClientLimits,
        log: Log | None,
        *,
        public_read: bool,
    ) -> None:
        self._hosts = hosts
        self._find_token = find_token
        self._limits = limits
        self._public_read = public_read
        self._log = log

    async def admit(self, exchange: HttpExchange) -> None:
        scope = exchange.scope
        if self._hosts and parse_host(exchange.headers.get(b"host", b"")) not in self._hosts:
            # A page from elsewhere whose name now means this machine (DNS rebinding).
            raise WebError(421, "This hub does not go by that name")
        kind: Kind = "reads" if scope["method"] in _READS or scope["path"] in _ASKED else "writes"
        token = await self._authenticate(exchange, kind)
        exchange.owner = token.owner if token else ""
        scope["state"].update({"token": token, IS_KNOWN: token is not None})
        if scope["path"] not in _OPEN:
            exchange.taken = self._limits.take(f"token {token.id}" if token else exchange.client, kind).headers()
            if not self._public_read:
                _check_private(token, scope["path"], kind)

    def inside(self, exchange: HttpExchange) -> anyio.CancelScope:  # noqa: ARG002  (all are served alike)
        return anyio.CancelScope()

    def why_cut(self, exchange: HttpExchange) -> WebError:  # noqa: ARG002  (none is)
        return WebError(503, "The hub ends")

    def ended(self, exchange: HttpExchange) -> None:
        if self._log is not None:
            exchange.log(self._log)

    async def _authenticate(self, exchange: HttpExchange, kind: Kind) -> HubToken | None:
        if exchange.bearer is None:
            return None
        token = await self._find_token(exchange.bearer)
        if token is None:
            self._limits.take(exchange.client, kind)  # to guess is no way around
            raise WebError(401, "Unauthorized", headers={"WWW-Authenticate": "Bearer"})
        return token


def _check_private(token: HubToken | None, path: str, kind: Kind) -> None:
    """Check that the token may read a private hub; writing needs a scope of its own. Raises: WebError."""
    if token is None:
        if path != _UPLOAD:  # which brings a ticket of its own
            raise WebError(401, "Unauthorized", headers={"WWW-Authenticate": "Bearer"})
    elif kind == "reads" and path != "/api/v1/whoami" and {"read", "admin"}.isdisjoint(token.scopes):
        raise WebError(403, "This token may not do that: it lacks the scope read")
