"""Request a page: resolve the host, have every address judged, connect to a judged one; the same at each redirect.

Nothing of the environment is used (no proxies, no netrc), no cookie is kept, and time, size and redirects are bounded.
What may be fetched is `trust/network.py`'s to say.
"""

import math
import re
import ssl
from collections.abc import Mapping
from contextlib import aclosing
from typing import Protocol
from urllib.parse import urljoin

import anyio
import httpx2
from anyio import CancelScope
from msgspec import Struct

from clawft.config.tools import WebSettings
from clawft.sandbox.addresses import CONNECT_TIMEOUT_S, FetchError, Resolve, Unreachable, reach, resolve_host
from clawft.trust.network import PolicyViolation, UrlPolicy, UrlTarget

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DEFAULT_HEADERS = {"user-agent": "clawft", "accept": "*/*"}
# Headers that may also go to another origin.
_HARMLESS_HEADERS = frozenset({"accept", "accept-language", "user-agent"})
# What the connection needs is not the caller's to say.
_OUR_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "cookie",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_KEEPS_METHOD = frozenset({307, 308})
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class FetchVisitor(Protocol):
    """An observer of every address that a fetch leads to, those of redirects too."""

    async def admit(self, target: UrlTarget) -> None:
        """Before its name is resolved. What it raises ends the fetch; it may take its time."""

    def enter(self, target: UrlTarget) -> None:
        """All its addresses were judged, and it is requested now."""


class FetchBody(Struct, frozen=True):
    """The method and body of a request."""

    method: str = "GET"
    body: bytes = b""


class _Redirect(Struct, frozen=True):
    status: int
    location: str


class FetchedPage(Struct, frozen=True):
    """An answer. `url` is where it came from after redirects; `truncated` tells that more than `max_bytes` came."""

    status: int
    url: str
    headers: dict[str, str]
    body: bytes
    truncated: bool


async def fetch(
    url: str,
    policy: UrlPolicy,
    settings: WebSettings,
    *,
    headers: Mapping[str, str] | None = None,
    message: FetchBody = FetchBody(),  # noqa: B008
    visitor: FetchVisitor | None = None,
    resolve: Resolve = resolve_host,
    ssl_context: ssl.SSLContext | None = None,
) -> FetchedPage:
    """Request a URL; without a `message`, GET it.

    Headers about the connection are ours; an origin that a redirect leads to gets none of the caller's but what it
    accepts, and no body. Without an `ssl_context` the certificates of this machine are trusted.
    Raises: PolicyViolation, FetchError.
    """
    if message.method not in _METHODS:
        raise FetchError("fetch-method", f"{message.method[:20]!r} is no method that can be used")
    fetching = _Fetch(policy, settings, resolve, ssl_context, visitor)
    try:
        with anyio.fail_after(settings.timeout_s) as scope:
            return await fetching.follow(url, headers or {}, message, scope)
    except (TimeoutError, httpx2.TimeoutException) as error:
        raise FetchError(
            "fetch-timeout", f"No answer within {settings.timeout_s:g} s", hint="See tools.web.timeout_s in the config"
        ) from error


class _Fetch:
    """One fetch with all its redirects."""

    def __init__(
        self,
        policy: UrlPolicy,
        settings: WebSettings,
        resolve: Resolve,
        ssl_context: ssl.SSLContext | None,
        visitor: FetchVisitor | None,
    ) -> None:
        self._policy = policy
        self._settings = settings
        self._resolve = resolve
        self._ssl_context = ssl_context or True
        self._visitor = visitor

    async def follow(self, url: str, asked: Mapping[str, str], message: FetchBody, scope: CancelScope) -> FetchedPage:
        target = self._policy.read_allowed(url)
        headers = _DEFAULT_HEADERS | _read_headers(asked)
        for _ in range(self._settings.max_redirects + 1):
            await self._admit(target, scope)
            answer = await self._request(target, headers, message)
            if isinstance(answer, FetchedPage):
                return answer
            following = self._read_redirect(urljoin(target.url, answer.location))
            if answer.status not in _KEEPS_METHOD and message.method != "HEAD":
                message = FetchBody()
            if following.origin != target.origin:
                headers = {name: value for name, value in headers.items() if name in _HARMLESS_HEADERS}
                if message.method not in ("GET", "HEAD"):
                    raise FetchError("fetch-redirects", f"A redirect of {message.method} to another host")
            target = following
        raise FetchError(
            "fetch-redirects",
            f"More than {self._settings.max_redirects} redirects",
            hint="See tools.web.max_redirects in the config",
        )

    def _read_redirect(self, url: str) -> UrlTarget:
        try:
            return self._policy.read_allowed(url)
        except PolicyViolation as error:
            error.url = url
            raise

    async def _admit(self, target: UrlTarget, scope: CancelScope) -> None:
        """Admit a target without counting the wait against the fetch: a person who is asked may take longer."""
        if self._visitor is not None:
            left, scope.deadline = scope.deadline - anyio.current_time(), math.inf
            await self._visitor.admit(target)
            scope.deadline = anyio.current_time() + left

    async def _request(self, target: UrlTarget, headers: dict[str, str], message: FetchBody) -> FetchedPage | _Redirect:
        """The answer, or where it redirects to."""
        if target.scheme not in ("http", "https"):
            raise FetchError("fetch-scheme", f"'{target.scheme}' is a scheme that cannot be fetched")

        async def attempt(address: str) -> FetchedPage | _Redirect:
            if self._visitor is not None:
                self._visitor.enter(target)
            # A connection is never shared: it was opened, and its certificate checked, for one name.
            # Loading certificates takes longer than many an answer; where there is no TLS there are none to check.
            verify = self._ssl_context if target.scheme == "https" else False
            async with httpx2.AsyncHTTPTransport(verify=verify, trust_env=False) as transport:
                try:
                    response = await transport.handle_async_request(self._aim(target, address, headers, message))
                    return await self._read(response, target)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    raise Unreachable(str(error) or type(error).__name__) from error
                except (httpx2.TransportError, httpx2.DecodingError) as error:
                    if isinstance(error, httpx2.TimeoutException):
                        raise
                    why = str(error) or type(error).__name__
                    raise FetchError("fetch-failed", f"'{target.host}' could not be fetched: {why}") from error

        return await reach(target, self._policy, self._resolve, attempt)

    def _aim(self, target: UrlTarget, address: str, headers: dict[str, str], message: FetchBody) -> httpx2.Request:
        """A request to the judged address that speaks of, and wants the certificate of, the host."""
        url = httpx2.URL(
            scheme=target.scheme, host=address, port=target.connect_port, raw_path=target.path.encode("ascii")
        )
        seconds = self._settings.timeout_s
        timeout = {"connect": min(CONNECT_TIMEOUT_S, seconds), "read": seconds, "write": seconds, "pool": seconds}
        ours = {"host": target.authority, "accept-encoding": "gzip, deflate", "connection": "close"}
        extensions = {"sni_hostname": target.host, "timeout": timeout}
        body = message.body or (b"" if message.method in ("PATCH", "POST", "PUT") else None)
        return httpx2.Request(message.method, url, headers=headers | ours, content=body, extensions=extensions)

    async def _read(self, response: httpx2.Response, target: UrlTarget) -> FetchedPage | _Redirect:
        location = response.headers.get("location")
        if response.status_code in _REDIRECTS and location:
            await response.aclose()
            return _Redirect(response.status_code, location)
        body = bytearray()
        # Decoded in pieces of a bounded size, so that what a few bytes blow up to is not held.
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > self._settings.max_bytes:
                    break
        await response.aclose()
        limit = self._settings.max_bytes
        content, truncated = bytes(body[:limit]), len(body) > limit
        return FetchedPage(response.status_code, target.url, dict(response.headers), content, truncated)


def _read_headers(asked: Mapping[str, str]) -> dict[str, str]:
    for name, value in asked.items():
        if not (_HEADER_NAME.fullmatch(name) and value.isascii() and value.isprintable()):
            raise FetchError(
                "fetch-header", f"{name[:60]!r} is no header that can be sent", hint="Write it in plain ASCII"
            )
    return {name.lower(): value for name, value in asked.items() if name.lower() not in _OUR_HEADERS}
