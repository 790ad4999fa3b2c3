"""Limits on HTTP clients: errors with a status, requests per minute, memory for responses, size of request bodies."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from ipaddress import IPv6Address, ip_address
from math import ceil
from typing import Any, Literal

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from clawft.config.tools import RateLimit, RateLimitStrategy
from clawft.sandbox.rate_limit import RateLimiter


class WebError(Exception):
    """An answer that is no success. `document` is sent as JSON in place of the text, where a client reads one."""

    def __init__(
        self,
        status: int,
        text: str,
        *,
        headers: Mapping[str, str] | None = None,
        document: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = dict(headers or {})
        self.document = document


def answer_error(error: WebError) -> Response:
    """Make a response from an error: a line of text, or its document where it has one."""
    if error.document is not None:
        return JSONResponse(error.document, error.status, headers=error.headers)
    return PlainTextResponse(error.text, error.status, headers=error.headers)


LimitKind = Literal["reads", "writes"]
MAX_CLIENTS = 10_000  # that are remembered; of more, those who asked longest ago begin anew
_WINDOW_S = 60.0


class RateLimitState(Struct, frozen=True, gc=False):
    """A request that was counted, and what is left."""

    limit: int
    left: int

    def headers(self) -> list[tuple[bytes, bytes]]:
        """The rate limit headers that go with every answer."""
        return [
            (b"ratelimit-limit", b"%d" % self.limit),
            (b"ratelimit-remaining", b"%d" % self.left),
            (b"ratelimit-reset", b"%d" % ceil((self.limit - self.left) * _WINDOW_S / self.limit)),
        ]


class ClientLimits:
    """Counts the requests of each client, on a clock that never goes back. A burst is let through, then a pace."""

    def __init__(self, per_minute: Mapping[LimitKind, int], clock: Callable[[], float]) -> None:
        self._settings = {
            kind: RateLimit(max_requests=most, window_s=_WINDOW_S, strategy=RateLimitStrategy.TOKEN_BUCKET)
            for kind, most in per_minute.items()
        }
        self._clock = clock
        self._known: OrderedDict[tuple[str, LimitKind], RateLimiter] = OrderedDict()

    def take(self, client: str, kind: LimitKind) -> RateLimitState:
        """Count a request of a client. Raises: WebError, if there were too many."""
        settings = self._settings[kind]
        limiter = self._known.pop((client, kind), None) or RateLimiter(settings, self._clock)
        self._known[client, kind] = limiter  # the last who asked
        if len(self._known) > MAX_CLIENTS:
            self._known.popitem(last=False)
        wait_s = ceil(limiter.try_acquire())
        if not wait_s:
            return RateLimitState(settings.max_requests, limiter.left())
        headers = {
            "Retry-After": str(wait_s),
            "RateLimit-Limit": str(settings.max_requests),
            "RateLimit-Remaining": "0",
            "RateLimit-Reset": str(wait_s),
            "X-RateLimit-Limit": str(settings.max_requests),
            "X-RateLimit-Remaining": "0",
        }
        raise WebError(429, "Rate limit exceeded", headers=headers)


class ResponseMemory:
    """The memory for large answers that wait for clients to take them; one client has no more than half of it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[str, int] = {}

    def take(self, client: str, size: int) -> bool:
        """Return whether there was room."""
        mine = self._held.get(client, 0) + size
        if mine > self._most // 2 or sum(self._held.values()) + size > self._most:
            return False
        self._held[client] = mine
        return True

    def free(self, client: str, size: int) -> None:
        self._held[client] -= size
        if not self._held[client]:
            del self._held[client]


def name_client(address: str) -> str:
    """Return the key of a client by its address; a whole network of IPv6 addresses is one client."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64)
    return str(found)


MAX_JSON = 4 * 1024 * 1024


def limit_body(request: Request, most: int) -> Request:
    """The same request, whose body ends in a WebError where it gets too long."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > most:
        raise _too_large(most)
    got = 0

    async def receive() -> Any:
        nonlocal got
        message = await request.receive()
        got += len(message.get("body", b""))
        if got > most:
            raise _too_large(most)
        return message

    return Request(request.scope, receive)


async def read_body(request: Request, most: int) -> bytes:
    """Everything that comes, as long as it is no more than `most` bytes. Raises: WebError."""
    try:
        return await limit_body(request, most).body()
    except ClientDisconnect as error:
        raise WebError(400, "The body did not come to its end") from error


async def read_json(request: Request) -> Any:
    """A JSON document; {} where there is no body. Raises: WebError."""
    body = await read_body(request, MAX_JSON)
    return parse_json(body, "body") if body else {}


def parse_json(text: bytes | str, what: str) -> Any:
    """Raises: WebError, also where it is too deep."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise WebError(400, f"The {what} is no JSON") from error


def _too_large(most: int) -> WebError:
    return WebError(413, f"The body is too large: at most {most} bytes are taken")
