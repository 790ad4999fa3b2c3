"""How much one client may ask of a server in a minute, and how much may wait for it. Each process counts for itself."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from ipaddress import IPv6Address, ip_address
from math import ceil
from typing import Literal

from msgspec import Struct

from clawft.config.tools import RateLimit, RateLimitStrategy
from clawft.sandbox.limit import Limiter
from clawft.web.errors import WebError

__all__ = ["ClientLimits", "Kind", "Room", "Taken", "name_client"]

Kind = Literal["reads", "writes"]
MAX_CLIENTS = 10_000  # that are remembered; of more, those who asked longest ago begin anew
_WINDOW_S = 60.0


class Taken(Struct, frozen=True, gc=False):
    """A request that was counted, and what is left."""

    limit: int
    left: int

    def headers(self) -> list[tuple[bytes, bytes]]:
        """What a client is told of it with every answer."""
        return [
            (b"ratelimit-limit", b"%d" % self.limit),
            (b"ratelimit-remaining", b"%d" % self.left),
            (b"ratelimit-reset", b"%d" % ceil((self.limit - self.left) * _WINDOW_S / self.limit)),
        ]


class ClientLimits:
    """Counts the requests of each client, on a clock that never goes back. A burst is let through, then a pace."""

    def __init__(self, per_minute: Mapping[Kind, int], clock: Callable[[], float]) -> None:
        self._settings = {
            kind: RateLimit(max_requests=most, window_s=_WINDOW_S, strategy=RateLimitStrategy.TOKEN_BUCKET)
            for kind, most in per_minute.items()
        }
        self._clock = clock
        self._known: OrderedDict[tuple[str, Kind], Limiter] = OrderedDict()

    def take(self, client: str, kind: Kind) -> Taken:
        """Count a request of a client. Raises: WebError, if there were too many."""
        settings = self._settings[kind]
        limiter = self._known.pop((client, kind), None) or Limiter(settings, self._clock)
        self._known[client, kind] = limiter  # the last who asked
        if len(self._known) > MAX_CLIENTS:
            self._known.popitem(last=False)
        wait_s = ceil(limiter.try_acquire())
        if not wait_s:
            return Taken(settings.max_requests, limiter.left())
        headers = {
            "Retry-After": str(wait_s),
            "RateLimit-Limit": str(settings.max_requests),
            "RateLimit-Remaining": "0",
            "RateLimit-Reset": str(wait_s),
            "X-RateLimit-Limit": str(settings.max_requests),
            "X-RateLimit-Remaining": "0",
        }
        raise WebError(429, "Rate limit exceeded", headers=headers)


class Room:
    """The memory for large answers that wait for clients to take them; one client has no more than half of it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[str, int] = {}

    def take(self, client: str, size: int) -> bool:
        """Whether there was room."""
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
    """Who asks, by its address; one who has a whole network of IPv6 addresses is still one client."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64)
    return str(found)
