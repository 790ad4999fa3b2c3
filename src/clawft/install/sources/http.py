"""HTTP connection to one source: bounded answers, streamed files, and errors by status."""

import hashlib
import os
import re
import shlex
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import IO, TypeVar

import anyio
import httpx2
import msgspec
from msgspec import Struct, structs

from clawft.config.redaction import MASK, MIN_LENGTH
from clawft.config.registries import CLAWHUB
from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, NotFound, Refused
from clawft.install.archive.unpack import MAX_BYTES
from clawft.install.sources.address import join_url, plain_line
from clawft.sandbox.addresses import CONNECT_TIMEOUT_S, FetchError, Resolve, Unreachable, reach, resolve_host
from clawft.trust.network import UrlPolicy, UrlTarget, is_loopback, read_url

_LIST = "Run: weft registries list"


class HttpError(ClawftError):
    """An answer that is none. Codes: `source-denied`, `source-conflict`, `source-gone`, `source-pending`,
    `source-busy`, `source-failed`."""

    status = 0
    body = b""
    reason = ""  # the server's own words


class _Missing(HttpError, NotFound):
    """Code `source-not-found`."""


class SourceEndpoint(msgspec.Struct, frozen=True):
    """A place as people know it: by its address, and by the name of the registry that it is, if it is one."""

    origin: str
    name: str = ""

    def __str__(self) -> str:
        return f"'{self.name}' ({self.origin})" if self.name else f"'{self.origin}'"

    def tell_silence(self, origin: str, error: FetchError) -> FetchError:
        """Build the error for an address that does not answer: the source's own, or one that it redirects to."""
        who = str(self) if origin == self.origin else f"{origin}, to which {self} leads,"
        if error.code == "fetch-unresolved":
            message, hint = f"{who} cannot be found: its name has no address", "Is there a network? "
            drop = f"To do without it: weft registries remove {CLAWHUB}"
            hint += drop if self.name == CLAWHUB else "If there is, check its spelling"
        else:
            message = f"{who} does not answer: {plain_line(str(error).partition(': ')[2] or str(error), 100)}"
            hint = "Is it running, and is this its address? " + (_LIST if self.name else "Is there a network?")
        return FetchError(error.code, message, hint=hint)


def make_status_error(place: SourceEndpoint, status: int, body: bytes, url: str = "") -> HttpError:
    """Build the error for a status: its meaning, the address, and the server's own message."""
    reason = plain_line(_read_message(body), 200)
    code, message = _STATUS.get(status, ("source-failed", f"answers with status {status}"))
    hint = ""
    if status == 401:
        add = f"weft registries add NAME {shlex.quote(place.origin)}, then: weft registries token NAME"
        hint = f"Give it one: weft registries token {place.name}" if place.name else f"Add it as a registry: {add}"
    kind = _Missing if status == 404 else HttpError
    error = kind(code, f"{place} {message}" + (f": {reason}" if reason else ""), path=plain_line(url, 200), hint=hint)
    error.status, error.body, error.reason = status, body, reason
    return error


def _read_message(body: bytes) -> str:
    """Read a server's message: plain text, or the `message` of a JSON document; '' for an HTML page."""
    if body.lstrip().startswith(b"{"):
        try:
            return msgspec.json.decode(body, type=_ErrorBody).message
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""
    text = body.decode("utf-8", "replace")
    return "" if text.lstrip().startswith("<") else text


class _ErrorBody(msgspec.Struct):
    message: str = ""


_STATUS = {
    400: ("source-failed", "does not understand the question"),
    401: ("source-denied", "wants a token, or another one"),
    403: ("source-denied", "does not give this out"),
    404: ("source-not-found", "has no such thing"),
    409: ("source-conflict", "cannot tell which is meant, or has another state by now"),
    410: ("source-gone", "has it no longer"),
    423: ("source-pending", "is still checking it"),
    429: ("source-busy", "was asked too often"),
}


def read_wait(header: str | None) -> float | None:
    """Seconds to wait, if the server says so in seconds or as a date; ours if it cannot be read."""
    if header is None:
        return None
    digits = header.strip()
    if digits.isascii() and digits.isdigit():
        return float(digits[:9])
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


T = TypeVar("T")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_AGAIN = frozenset({429, 502, 503, 504})
_MAX_ERROR = 64 << 10  # bytes of the answer that says what is wrong
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_POOL = httpx2.Limits(max_connections=4, max_keepalive_connections=4, keepalive_expiry=30)
_TOKEN = re.compile(r"[\x21-\x7e]+")


class FetchLimits(Struct, frozen=True):
    """The limits on what is fetched from one source."""

    timeout_s: float = 30  # for an answer, and between two pieces of a download
    download_s: float = 300
    redirects: int = 5
    answer_bytes: int = 8 << 20
    download_bytes: int = MAX_BYTES
    attempts: int = 3
    wait_s: float = 20  # the longest that a server may let us wait before the next attempt

    @classmethod
    def of(cls, settings: WebSettings) -> "FetchLimits":
        return cls(settings.timeout_s, 10 * settings.timeout_s, settings.max_redirects)


class FetchRequest(Struct, frozen=True):
    """The method and the body of a request."""

    method: str = "GET"
    body: bytes = b""
    content_type: str = "application/json"


class FetchResponse(Struct, frozen=True):
    """A small answer. `url` is where it came from, after redirects."""

    url: str
    body: bytes


class DownloadedFile(Struct, frozen=True):
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


class SourceConnection:
    """One place, with its connections. To be closed by who opened it, in the same event loop."""

    def __init__(
        self,
        home: str,
        settings: WebSettings,
        *,
        token: str = "",
        name: str = "",
        typed: bool = True,
        limits: FetchLimits | None = None,
        resolve: Resolve = resolve_host,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """`typed`: a person named this address, so that it may be a private one; `name`: of the registry that it is.

        Raises: ClawftError for an address that cannot be meant, or a token that would be sent in the clear.
        """
        self._strict = UrlPolicy(settings)
        self._lenient = UrlPolicy(structs.replace(settings, block_private_ips=False)) if typed else self._strict
        self.home = self._lenient.read_allowed(home)
        self.asked = SourceEndpoint(self.home.origin, name)
        self.limits = limits or FetchLimits.of(settings)
        self._token = token
        self._resolve = resolve
        self._ssl = ssl_context
        self._transports: dict[str, tuple[str, httpx2.AsyncHTTPTransport]] = {}
        self._retired: list[httpx2.AsyncHTTPTransport] = []
        self._opening: dict[str, anyio.Lock] = {}
        if token and not _TOKEN.fullmatch(token):
            raise ClawftError("source-token", "The token holds characters that no header may carry")
        if token and self.home.scheme != "https" and not is_loopback(self.home.host):
            message = f"The token of '{self.home.host}' would be sent unencrypted"
            raise Refused("source-token", message, hint="Give the registry's address with https")

    async def aclose(self) -> None:
        """Close every connection."""
        for transport in (*self._retired, *(open_transport for _, open_transport in self._transports.values())):
            await transport.aclose()
        self._transports.clear()
        self._retired.clear()

    async def ask(self, url: str, kind: type[T], outgoing: FetchRequest = FetchRequest()) -> T:  # noqa: B008
        """The answer in JSON, as a value of a kind. Raises: ClawftError."""
        return self.decode(await self.read(url, outgoing, accept="application/json"), kind)

    def decode(self, answer: FetchResponse, kind: type[T]) -> T:
        """An answer in JSON, as a value of a kind. Raises: ClawftError."""
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            message = f"{self.asked} answers with what cannot be read: {plain_line(str(error), 100)}"
            raise ClawftError("source-answer", message, hint="Is this its address, and its kind?") from error

    async def read(self, url: str, outgoing: FetchRequest = FetchRequest(), *, accept: str = "*/*") -> FetchResponse:  # noqa: B008
        """A small answer, whole. Raises: ClawftError."""

        async def take() -> FetchResponse:
            async with self._open(url, outgoing, accept) as (response, target):
                if response.headers.get("content-encoding", "identity").lower() != "identity":
                    raise FetchError("fetch-failed", f"{self.asked} compresses what was asked for uncompressed")
                self._check_length(response, self.limits.answer_bytes)
                return FetchResponse(target.url, await self._collect(response))

        return await self._try(take, self.limits.timeout_s)

    async def download(self, url: str, path: str, *, max_bytes: int | None = None) -> DownloadedFile:
        """Write what is there to a new file; a part of it is never left. Raises: ClawftError."""
        try:
            with open(os.open(path, _NEW, 0o600), "wb") as file:
                return await self.download_to(url, file, max_bytes=max_bytes)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(path)
            raise

    async def download_to(self, url: str, file: IO[bytes], *, max_bytes: int | None = None) -> DownloadedFile:
        """Write what is there to an open file, which is good for nothing where that fails. Raises: ClawftError."""

        async def take() -> DownloadedFile:
            async with self._open(url, FetchRequest(), "*/*") as (response, target):
                return await self._store(response, target, file, max_bytes or self.limits.download_bytes)

        return await self._try(take, self.limits.download_s)

    def judge(self, url: str) -> UrlTarget:
        """Check that an address may be requested, and return it parsed. Raises: Refused."""
        target = read_url(url)
        if target.origin == self.home.origin:
            return self._lenient.read_allowed(url)
        if target.scheme == "http":
            message = f"{self.asked} leads to another address without encryption: {target.origin}"
            raise Refused("fetch-insecure", message)
        return self._strict.read_allowed(url)

    async def _try(self, take: Callable[[], Awaitable[T]], limit_s: float) -> T:
        """Try a request again, a few times, where a server is busy. Raises: ClawftError."""
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
    async def _open(
        self, url: str, outgoing: FetchRequest, accept: str
    ) -> AsyncIterator[tuple[httpx2.Response, UrlTarget]]:
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
                    except httpx2.TimeoutException:
                        raise
                    except (httpx2.TransportError, httpx2.StreamError) as error:
                        why = plain_line(str(error) or type(error).__name__, 100)
                        message = f"{self.asked} ended before all was sent: {why}"
                        raise Refused("download-truncated", message) from error
                    return
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
            if outgoing.method != "GET":
                raise FetchError("fetch-redirects", f"{self.asked} redirects what is sent to it")
            target = self.judge(join_url(target.url, location))
        raise FetchError("fetch-redirects", f"{self.asked} redirects more than {self.limits.redirects} times")

    async def _send(self, target: UrlTarget, outgoing: FetchRequest, accept: str) -> httpx2.Response:
        """The beginning of an answer, over the connection that is there or a new one. Raises: ClawftError, _Busy."""
        async with self._opening.setdefault(target.origin, anyio.Lock()):
            connection = self._transports.get(target.origin)
            if connection is None:
                return await self._connect(target, outgoing, accept)
        try:
            return await connection[1].handle_async_request(self._aim(target, connection[0], outgoing, accept))
        except httpx2.TimeoutException:
            raise
        except httpx2.TransportError as error:  # it was closed meanwhile, or its address is another one by now
            if self._transports.get(target.origin) is connection:
                del self._transports[target.origin]
                self._retired.append(connection[1])
            raise self._give_up(target, outgoing, error, 0) from error

    async def _connect(self, target: UrlTarget, outgoing: FetchRequest, accept: str) -> httpx2.Response:
        """Send a request over a new connection, to an address that was judged. Raises: ClawftError, _Busy."""

        async def attempt(address: str) -> httpx2.Response:
            # Loading certificates takes longer than many an answer; where there is no TLS there are none to check.
            verify = (self._ssl or True) if target.scheme == "https" else False
            transport = httpx2.AsyncHTTPTransport(verify=verify, trust_env=False, limits=_POOL)
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
            self._transports[target.origin] = (address, transport)
            return response

        policy = self._lenient if target.origin == self.home.origin else self._strict
        try:
            return await reach(target, policy, self._resolve, attempt)
        except FetchError as error:
            raise self.asked.tell_silence(target.origin, error) from error

    def _give_up(
        self, target: UrlTarget, outgoing: FetchRequest, error: Exception, wait_s: float | None = None
    ) -> Exception:
        """No answer: a question is asked again, but what was sent may have been taken, and is not sent twice."""
        why = plain_line(str(error) or type(error).__name__, 100)
        failed = self.asked.tell_silence(target.origin, FetchError("fetch-failed", why))
        return _Busy(failed, wait_s) if outgoing.method == "GET" else failed

    def _aim(self, target: UrlTarget, address: str, outgoing: FetchRequest, accept: str) -> httpx2.Request:
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

    async def _check(self, response: httpx2.Response, target: UrlTarget) -> None:
        """Raises: HttpError for a status that is no success; _Busy where another attempt may be one."""
        status = response.status_code
        if 200 <= status < 300 and status not in (204, 205, 206):
            return
        with suppress(httpx2.TransportError, httpx2.StreamError):
            error = make_status_error(self.asked, status, await self._collect(response, _MAX_ERROR), target.url)
            if status in _AGAIN:
                raise _Busy(error, read_wait(response.headers.get("retry-after")))
            raise error
        raise make_status_error(self.asked, status, b"", target.url)

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
        content = bytes(body[:at_most] if at_most else body)
        hidden = len(self._token) >= MIN_LENGTH  # some servers repeat what they were sent
        return content.replace(self._token.encode(), MASK.encode()) if hidden else content

    async def _store(
        self, response: httpx2.Response, target: UrlTarget, file: IO[bytes], max_bytes: int
    ) -> DownloadedFile:
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
        return DownloadedFile(target.url, digest.hexdigest(), size, content_type)


def _too_large(place: SourceEndpoint, limit: int) -> Refused:
    much = f"{limit >> 20} MB" if limit >> 20 else f"{limit} bytes"
    return Refused("download-too-large", f"{place} sends more than {much}")
