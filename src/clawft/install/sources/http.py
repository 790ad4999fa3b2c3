"""Asking one place over HTTP: answers in JSON, and files that are streamed to the disk; all of it bounded.

The place is the origin that the person typed or configured: it alone may be on a private network, and it alone gets the
token. Wherever else an answer leads is judged as any page is (`trust/urls.py`), and only over https. A connection is
kept for each origin, to the address that was judged. Nothing of the environment is used.
"""

import hashlib
import os
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import IO, TypeVar

import anyio
import httpx2
import msgspec
from msgspec import Struct, structs

from clawft.config.masking import MASK, MIN_LENGTH
from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, Refused
from clawft.packing.unpack import MAX_BYTES
from clawft.sandbox.reach import CONNECT_TIMEOUT_S, FetchError, Resolve, Unreachable, reach, resolve_host
from clawft.sources.plain import join_url, plain_line
from clawft.sources.status import Asked, read_wait, tell_status
from clawft.trust.urls import Target, UrlPolicy, is_loopback, read_url

__all__ = ["Answer", "Downloaded", "Fetching", "Limits", "Outgoing"]

T = TypeVar("T")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_AGAIN = frozenset({429, 502, 503, 504})
_MAX_ERROR = 64 << 10  # bytes of the answer that says what is wrong
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_POOL = httpx2.Limits(max_connections=4, max_keepalive_connections=4, keepalive_expiry=30)
_TOKEN = re.compile(r"[\x21-\x7e]+")


class Limits(Struct, frozen=True):
    """How much is taken from one place."""

    timeout_s: float = 30  # for an answer, and between two pieces of a download
    download_s: float = 300
    redirects: int = 5
    answer_bytes: int = 8 << 20
    download_bytes: int = MAX_BYTES
    attempts: int = 3
    wait_s: float = 20  # the longest that a server may let us wait before the next attempt

    @classmethod
    def of(cls, settings: WebSettings) -> "Limits":
        return cls(settings.timeout_s, 10 * settings.timeout_s, settings.max_redirects)


class Outgoing(Struct, frozen=True):
    """What is sent beside the address."""

    method: str = "GET"
    body: bytes = b""
    content_type: str = "application/json"


class Answer(Struct, frozen=True):
    """A small answer. `url` is where it came from, after redirects."""

    url: str
    body: bytes


class Downloaded(Struct, frozen=True):
    """A file that came. `url` is where from, after redirects."""

    url: str
    sha256: str
    size: int
    content_type: str = ""


class _Busy(Exception):
    """The server may answer if it is asked again, after so many seconds."""

    def __init__(self, error: ClawftError, wait_s: float | None = None) -> None:
        super().__init__()
        self.error = error
        self.wait_s = wait_s


class Fetching:
    """One place, with its connections. To be closed by who opened it, in the same event loop."""

    def __init__(
        self,
        home: str,
        settings: WebSettings,
        *,
        token: str = "",
        name: str = "",
        typed: bool = True,
        limits: Limits | None = None,
        resolve: Resolve = resolve_host,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """`typed`: a person named this address, so that it may be a private one; `name`: of the registry that it is.

        Raises: ClawftError for an address that cannot be meant, or a token that would be sent in the clear.
        """
        self._strict = UrlPolicy(settings)
        self._lenient = UrlPolicy(structs.replace(settings, block_private_ips=False)) if typed else self._strict
        self.home = self._lenient.read_allowed(home)
        self.asked = Asked(self.home.origin, name)
        self.limits = limits or Limits.of(settings)
        self._token = token
        self._resolve = resolve
        self._ssl = ssl_context
        self._kept: dict[str, tuple[str, httpx2.AsyncHTTPTransport]] = {}
        self._retired: list[httpx2.AsyncHTTPTransport] = []
        self._opening: dict[str, anyio.Lock] = {}
        if token and not _TOKEN.fullmatch(token):
            raise ClawftError("source-token", "The token holds characters that no header may carry")
        if token and self.home.scheme != "https" and not is_loopback(self.home.host):
            message = f"The token of '{self.home.host}' would be sent unencrypted"
            raise Refused("source-token", message, hint="Give the registry's address with https")

    async def aclose(self) -> None:
        """Close every connection."""
        for transport in (*self._retired, *(one for _, one in self._kept.values())):
            await transport.aclose()
        self._kept.clear()
        self._retired.clear()

    async def ask(self, url: str, kind: type[T], outgoing: Outgoing = Outgoing()) -> T:  # noqa: B008
        """The answer in JSON, as a value of a kind. Raises: ClawftError."""
        return self.decode(await self.read(url, outgoing, accept="application/json"), kind)

    def decode(self, answer: Answer, kind: type[T]) -> T:
        """An answer in JSON, as a value of a kind. Raises: ClawftError."""
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            message = f"{self.asked} answers with what cannot be read: {plain_line(str(error), 100)}"
            raise ClawftError("source-answer", message, hint="Is this its address, and its kind?") from error

    async def read(self, url: str, outgoing: Outgoing = Outgoing(), *, accept: str = "*/*") -> Answer:  # noqa: B008
        """A small answer, whole. Raises: ClawftError."""

        async def take() -> Answer:
            async with self._open(url, outgoing, accept) as (response, target):
                if response.headers.get("content-encoding", "identity").lower() != "identity":
                    raise FetchError("fetch-failed", f"{self.asked} compresses what was asked for uncompressed")
                self._check_length(response, self.limits.answer_bytes)
                return Answer(target.url, await self._collect(response))

        return await self._try(take, self.limits.timeout_s)

    async def download(self, url: str, path: str, *, max_bytes: int | None = None) -> Downloaded:
        """Write what is there to a new file; a part of it is never left. Raises: ClawftError."""
        try:
            with open(os.open(path, _NEW, 0o600), "wb") as file:
                return await self.download_to(url, file, max_bytes=max_bytes)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(path)
            raise

    async def download_to(self, url: str, file: IO[bytes], *, max_bytes: int | None = None) -> Downloaded:
        """Write what is there to an open file, which is good for nothing where that fails. Raises: ClawftError."""

        async def take() -> Downloaded:
            async with self._open(url, Outgoing(), "*/*") as (response, target):
                return await self._store(response, target, file, max_bytes or self.limits.download_bytes)

        return await self._try(take, self.limits.download_s)

    def judge(self, url: str) -> Target:
        """What may be requested. Raises: Refused."""
        target = read_url(url)
        if target.origin == self.home.origin:
            return self._lenient.read_allowed(url)
        if target.scheme == "http":
            message = f"{self.asked} leads to another address without encryption: {target.origin}"
            raise Refused("fetch-insecure", message)
        return self._strict.read_allowed(url)

    async def _try(self, take: Callable[[], Awaitable[T]], limit_s: float) -> T:
        """The same again, a few times, where a server is busy. Raises: ClawftError."""
        for attempt in range(1, self.limits.attempts + 1):
            try:
                with anyio.fail_after(limit_s):
                    return await take()
            except _Busy as busy:
                wait = 0.2 * 2**attempt if busy.wait_s is None else busy.wait_s
                if attempt == self.limits.attempts or wait > self.limits.wait_s:
                    raise busy.error from busy
                await anyio.sleep(wait)
            except (TimeoutError, httpx2.TimeoutException) as error:
                raise FetchError("fetch-timeout", f"{self.asked} did not send all within {limit_s:g} s") from error
        raise AssertionError("the last attempt returns or raises")

    @asynccontextmanager
    async def _open(self, url: str, outgoing: Outgoing, accept: str) -> AsyncIterator[tuple[httpx2.Response, Target]]:
        """A good answer, its body unread; redirects are followed. Raises: ClawftError, _Busy."""
        target = self.judge(url)
        for _ in range(self.limits.redirects + 1):
            response = await self._send(target, outgoing, accept)
            try:
                location = response.headers.get("location")
                if not (response.status_code in _REDIRECTS and location):
                    await self._check(response, target)
                    try:
                        yield response, target
                    except (httpx2.TransportError, httpx2.StreamError) as error:
                        raise self._cut_off(error) from error
                    return
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
            if outgoing.method != "GET":
                raise FetchError("fetch-redirects", f"{self.asked} redirects what is sent to it")
            target = self.judge(join_url(target.url, location))
        raise FetchError("fetch-redirects", f"{self.asked} redirects more than {self.limits.redirects} times")

    def _cut_off(self, error: Exception) -> Exception:
        if isinstance(error, httpx2.TimeoutException):
            return error
        why = plain_line(str(error) or type(error).__name__, 100)
        return Refused("download-truncated", f"{self.asked} ended before all was sent: {why}")

    async def _send(self, target: Target, outgoing: Outgoing, accept: str) -> httpx2.Response:
        """The beginning of an answer, over the connection that is there or a new one. Raises: ClawftError, _Busy."""
        async with self._opening.setdefault(target.origin, anyio.Lock()):
            kept = self._kept.get(target.origin)
            if kept is None:
                return await self._connect(target, outgoing, accept)
        try:
            return await kept[1].handle_async_request(self._aim(target, kept[0], outgoing, accept))
        except httpx2.TimeoutException:
            raise
        except httpx2.TransportError as error:  # it was closed meanwhile, or its address is another one by now
            if self._kept.get(target.origin) is kept:
                del self._kept[target.origin]
                self._retired.append(kept[1])
            raise self._give_up(target, outgoing, error, 0) from error

    async def _connect(self, target: Target, outgoing: Outgoing, accept: str) -> httpx2.Response:
        """The same over a new connection, to an address that was judged. Raises: ClawftError, _Busy."""

        async def attempt(address: str) -> httpx2.Response:
            transport = self._transport(target)
            self._retired.append(transport)
            try:
                response = await transport.handle_async_request(self._aim(target, address, outgoing, accept))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                raise Unreachable(str(error) or type(error).__name__) from error
            except httpx2.TimeoutException:
                raise
            except httpx2.TransportError as error:
                raise self._give_up(target, outgoing, error) from error
            self._retired.remove(transport)
            self._kept[target.origin] = (address, transport)
            return response

        policy = self._lenient if target.origin == self.home.origin else self._strict
        try:
            return await reach(target, policy, self._resolve, attempt)
        except FetchError as error:
            raise self.asked.tell_silence(target.origin, error) from error

    def _transport(self, target: Target) -> httpx2.AsyncHTTPTransport:
        # Loading certificates takes longer than many an answer, and where there is no TLS there are none to check.
        verify = (self._ssl or True) if target.scheme == "https" else False
        return httpx2.AsyncHTTPTransport(verify=verify, trust_env=False, limits=_POOL)

    def _give_up(self, target: Target, outgoing: Outgoing, error: Exception, wait_s: float | None = None) -> Exception:
        """No answer: a question is asked again, but what was sent may have been taken, and is not sent twice."""
        why = plain_line(str(error) or type(error).__name__, 100)
        failed = self.asked.tell_silence(target.origin, FetchError("fetch-failed", why))
        return _Busy(failed, wait_s) if outgoing.method == "GET" else failed

    def _aim(self, target: Target, address: str, outgoing: Outgoing, accept: str) -> httpx2.Request:
        """A request to the judged address that speaks of, and wants the certificate of, the host."""
        url = httpx2.URL(
            scheme=target.scheme, host=address, port=target.connect_port, raw_path=target.path.encode("ascii")
        )
        headers = {"host": target.authority, "user-agent": "clawft", "accept": accept, "accept-encoding": "identity"}
        if self._token and target.origin == self.home.origin:
            headers["authorization"] = f"Bearer {self._token}"
        wait = self.limits.timeout_s
        timeout = {"connect": min(CONNECT_TIMEOUT_S, wait), "read": wait, "write": wait, "pool": wait}
        extensions = {"sni_hostname": target.host, "timeout": timeout}
        if outgoing.method == "GET":
            return httpx2.Request("GET", url, headers=headers, extensions=extensions)
        headers["content-type"] = outgoing.content_type
        return httpx2.Request(outgoing.method, url, headers=headers, content=outgoing.body, extensions=extensions)

    async def _check(self, response: httpx2.Response, target: Target) -> None:
        """Raises: HttpError for a status that is no success; _Busy where another attempt may be one."""
        status = response.status_code
        if 200 <= status < 300 and status not in (204, 205, 206):
            return
        with suppress(httpx2.TransportError, httpx2.StreamError):
            error = tell_status(self.asked, status, await self._collect(response, _MAX_ERROR), target.url)
            if status in _AGAIN:
                raise _Busy(error, read_wait(response.headers.get("retry-after")))
            raise error
        raise tell_status(self.asked, status, b"", target.url)

    def _check_length(self, response: httpx2.Response, max_bytes: int) -> None:
        """Raises: Refused for what is too large, or would not be missed if it were cut off."""
        length = response.headers.get("content-length", "")
        if length.isdigit() and int(length) > max_bytes:
            raise _too_large(self.asked, max_bytes)
        if not length and "chunked" not in response.headers.get("transfer-encoding", "").lower():
            message = f"{self.asked} does not say how much it sends: nobody could tell whether it is all"
            raise Refused("download-truncated", message)

    async def _collect(self, response: httpx2.Response, at_most: int = 0) -> bytes:
        """A body within bounds. Raises: Refused; of an error's the beginning is enough."""
        body = bytearray()
        async with aclosing(response.aiter_raw()) as pieces:
            async for piece in pieces:
                body += piece
                if at_most and len(body) >= at_most:
                    break
                if not at_most and len(body) > self.limits.answer_bytes:
                    raise _too_large(self.asked, self.limits.answer_bytes)
        said = bytes(body[:at_most] if at_most else body)
        hidden = len(self._token) >= MIN_LENGTH  # some servers repeat what they were sent
        return said.replace(self._token.encode(), MASK.encode()) if hidden else said

    async def _store(self, response: httpx2.Response, target: Target, file: IO[bytes], max_bytes: int) -> Downloaded:
        """The bytes as they are sent, whatever they are said to be encoded as. Raises: Refused."""
        self._check_length(response, max_bytes)
        digest, size = hashlib.sha256(), 0
        async with aclosing(response.aiter_raw()) as pieces:
            async for piece in pieces:
                size += len(piece)
                if size > max_bytes:
                    raise _too_large(self.asked, max_bytes)
                digest.update(piece)
                file.write(piece)
        content_type = plain_line(response.headers.get("content-type", ""), 100).lower()
        return Downloaded(target.url, digest.hexdigest(), size, content_type)


def _too_large(place: Asked, limit: int) -> Refused:
    much = f"{limit >> 20} MB" if limit >> 20 else f"{limit} bytes"
    return Refused("download-too-large", f"{place} sends more than {much}")
