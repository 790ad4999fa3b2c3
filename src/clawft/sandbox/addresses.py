"""The addresses of a host: resolve its name, check every address, and connect only to a checked one."""

import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

from clawft.errors import ClawftError
from clawft.trust.network import UrlPolicy, UrlTarget

T = TypeVar("T")
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
CONNECT_TIMEOUT_S = 10.0


class FetchError(ClawftError):
    """Codes: `fetch-unresolved`, `fetch-failed`, `fetch-timeout`, `fetch-redirects`, `fetch-scheme`, `fetch-header`,
    `fetch-method`."""


class Unreachable(Exception):
    """Nothing answers at one address; the next may."""


async def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """The addresses of a host. Raises: FetchError."""
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        hint = "Is there a network? If there is, check its spelling"
        raise FetchError("fetch-unresolved", f"The host '{host}' has no address", hint=hint) from error
    return tuple(dict.fromkeys(str(address[4][0]) for address in found))


async def reach(target: UrlTarget, policy: UrlPolicy, resolve: Resolve, attempt: Callable[[str], Awaitable[T]]) -> T:
    """Return the result of `attempt` for the first allowed address that answers; `attempt` raises Unreachable for one
    that does not.

    Raises: PolicyViolation, FetchError.
    """
    failure: Exception | None = None
    for address in await _judged_addresses(target, policy, resolve):
        try:
            return await attempt(address)
        except Unreachable as error:
            failure = error
    why = str(failure) if failure else "it has no address"
    raise FetchError("fetch-failed", f"'{target.host}' could not be fetched: {why}") from failure


async def _judged_addresses(target: UrlTarget, policy: UrlPolicy, resolve: Resolve) -> Sequence[str]:
    """Resolve the addresses to connect to: one that is refused refuses them all. Raises: PolicyViolation,
    FetchError."""
    if target.address is not None:
        return (str(target.address),)
    addresses = await resolve(target.host, target.connect_port)
    for address in addresses:
        if violation := policy.check_address(address):
            raise violation
    return addresses
