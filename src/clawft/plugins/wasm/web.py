"""Requests of a component: to hosts that it was granted and that the URL policy lets pass, redirects too."""

import time
from collections.abc import Callable, Sequence

from anyio import CancelScope, from_thread
from anyio.lowlevel import EventLoopToken
from msgspec import structs

from clawft.config.tools import WebSettings
from clawft.contracts import PluginError
from clawft.plugins.wasm.files import Denied
from clawft.sandbox.limit import Limiter
from clawft.sandbox.net import Fetched, FetchError, Message, fetch
from clawft.trust.hosts import find_grant
from clawft.trust.urls import PolicyViolation, Target, UrlPolicy

__all__ = ["Record", "Web"]

MAX_BODY_BYTES = 1 << 20
MAX_ANSWER_BYTES = 4 << 20
_MAX_HEADERS = 64
_SHOWN = 500  # characters of an answer that is an error
Record = Callable[[str, str, str, str], None]


class Web:
    """Makes requests for one plugin, from its thread, on the event loop of `token`.

    `record` writes down what was decided about an address.
    """

    def __init__(self, hosts: Sequence[str], settings: WebSettings, record: Record, token: EventLoopToken) -> None:
        self._hosts = tuple(hosts)
        self._settings = settings
        self._policy = UrlPolicy(settings)
        self._limiter = Limiter(settings.rate_limit, time.monotonic)
        self._record = record
        self._token = token
        self._scope: CancelScope | None = None

    def cancel(self) -> None:
        """End the request that is under way. Called on the event loop."""
        if self._scope is not None:
            self._scope.cancel()

    def request(self, message: Message, url: str, headers: Sequence[tuple[str, str]], timeout_s: float) -> str:
        """The body of an answer; the thread waits for it. Raises: Denied; PluginError."""
        if not self._hosts:
            self._record("url", url, "deny", "no host was granted")
            raise Denied(f"'{url[:200]}' may not be reached: no host was granted")
        if len(message.body) > MAX_BODY_BYTES:
            raise PluginError(f"The body has {len(message.body)} bytes; {MAX_BODY_BYTES} is the limit")
        if len(headers) > _MAX_HEADERS:
            raise PluginError(f"There are {len(headers)} headers; {_MAX_HEADERS} is the limit")
        if wait_s := self._limiter.try_acquire():
            raise PluginError(f"Too many requests; the next may go in {wait_s:.0f} seconds")
        limit = min(self._settings.max_bytes, MAX_ANSWER_BYTES)
        seconds = min(self._settings.timeout_s, max(timeout_s, 0.001))
        settings = structs.replace(self._settings, max_bytes=limit, timeout_s=seconds)
        return from_thread.run(self._fetch, message, url, dict(headers), settings, token=self._token)

    async def _fetch(self, message: Message, url: str, headers: dict[str, str], settings: WebSettings) -> str:
        fetched: Fetched | None = None
        try:
            with CancelScope() as self._scope:
                fetched = await fetch(url, self._policy, settings, headers=headers, message=message, visitor=self)
        except PolicyViolation as error:
            self._record("url", error.url or url, "deny", f"{error.code}: {error}")
            raise Denied(str(error)) from error
        except FetchError as error:
            raise PluginError(str(error)) from error
        finally:
            self._scope = None
        if fetched is None:
            raise PluginError("The request was cancelled")
        text = fetched.body.decode("utf-8", "replace")
        if fetched.truncated:
            raise PluginError(f"The answer has more than {settings.max_bytes} bytes")
        if fetched.status >= 400:
            raise PluginError(f"HTTP {fetched.status}: {text[:_SHOWN]}")
        return text

    async def admit(self, target: Target) -> None:
        """Raises: Denied for a host that was not granted."""
        if find_grant(target.host, target.connect_port, self._hosts) is None:
            self._record("url", target.url, "deny", "not granted")
            raise Denied(f"'{target.authority}' may not be reached: it was not granted")

    def enter(self, target: Target) -> None:
        """Raises: Refused if it cannot be written down."""
        grant = find_grant(target.host, target.connect_port, self._hosts)
        self._record("url", target.url, "allow", f"granted {grant.text}" if grant else "granted")
