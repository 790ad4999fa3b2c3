"""Forward one plain HTTP request to a checked address, framed anew, and return its response."""

import re
from collections.abc import AsyncIterator
from http.client import responses

import anyio
import httpx2

from clawft.sandbox.addresses import CONNECT_TIMEOUT_S, FetchError, Unreachable, reach
from clawft.sandbox.proxy.connection import HOP_BY_HOP, BadRequest, ProxyConnection, ProxyRequest
from clawft.sandbox.proxy.host_access import HostAccess, subject_of
from clawft.trust.network import HostGrant

_CHUNK = 64 * 1024
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,12}")
_MAX_TRAILERS = 8 * 1024
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


async def forward(connection: ProxyConnection, request: ProxyRequest, access: HostAccess, grant: HostGrant) -> None:
    """Send a request on and give its answer back. Raises: PolicyViolation, FetchError, BadRequest."""
    target = request.target

    async def attempt(address: str) -> None:
        access.note(subject_of(target), "allow", grant.text)
        # Plain HTTP alone is forwarded, so no certificates are loaded, which takes 20 ms.
        async with httpx2.AsyncHTTPTransport(verify=False, trust_env=False) as transport:
            try:
                answer = await transport.handle_async_request(_aim(request, address, connection))
                await _give_back(answer, request, connection)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                raise Unreachable(str(error) or type(error).__name__) from error
            except httpx2.TransportError as error:
                raise FetchError("fetch-failed", f"'{target.host}' did not answer: {error}") from error

    await reach(target, access.policy, access.resolve, attempt)


def _aim(request: ProxyRequest, address: str, connection: ProxyConnection) -> httpx2.Request:
    """The request as the server gets it: to the judged address, speaking of the host, with a body of one length."""
    target = request.target
    url = httpx2.URL(scheme="http", host=address, port=target.connect_port, raw_path=target.path.encode("ascii"))
    idle_s = connection.idle_s
    timeout = {"connect": CONNECT_TIMEOUT_S, "read": idle_s, "write": idle_s, "pool": idle_s}
    framing = [(b"Host", target.authority.encode()), (b"Connection", b"close")]
    if request.length is None:
        framing.append((b"Transfer-Encoding", b"chunked"))
    elif request.length or request.method in ("POST", "PUT", "PATCH"):
        framing.append((b"Content-Length", str(request.length).encode()))
    body = _Body(request, connection)
    headers = [*framing, *request.headers]
    return httpx2.Request(request.method, url, headers=headers, stream=body, extensions={"timeout": timeout})


class _Body(httpx2.AsyncByteStream):
    """The body of a program's request, without the framing that it came in."""

    def __init__(self, request: ProxyRequest, connection: ProxyConnection) -> None:
        self._request = request
        self._connection = connection
        self._source = connection.source

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = self._request.length
        if length == 0:
            return
        if self._request.expects:
            await self._connection.stream.send(_CONTINUE)
        if length is not None:
            async for piece in self._take(length):
                yield piece
            return
        while size := int(await self._line(_CHUNK_SIZE), 16):
            async for piece in self._take(size):
                yield piece
            if await self._source.receive_exactly(2) != b"\r\n":
                raise BadRequest("A chunk of the body is longer than it says")
        await self._skip_trailers()

    async def _take(self, length: int) -> AsyncIterator[bytes]:
        while length:
            with anyio.fail_after(self._connection.idle_s):
                piece = await self._source.receive(min(length, _CHUNK))
            length -= len(piece)
            yield piece

    async def _line(self, pattern: re.Pattern[bytes]) -> bytes:
        try:
            with anyio.fail_after(self._connection.idle_s):
                line = await self._source.receive_until(b"\r\n", 64)
        except anyio.DelimiterNotFound as error:
            raise BadRequest("A chunk of the body cannot be read") from error
        if not pattern.fullmatch(line):
            raise BadRequest("A chunk of the body cannot be read")
        return line

    async def _skip_trailers(self) -> None:
        """Read the trailers after the body and drop them; they are not sent to the server."""
        left = _MAX_TRAILERS
        try:
            while line := await self._source.receive_until(b"\r\n", left):
                left -= len(line)
                if left <= 0:
                    raise BadRequest("The trailers are too long")
        except anyio.DelimiterNotFound as error:
            raise BadRequest("The trailers are too long") from error


async def _give_back(answer: httpx2.Response, request: ProxyRequest, connection: ProxyConnection) -> None:
    """Send the answer to the program, chunked by the proxy where its length is not known in advance."""
    bare = request.method == "HEAD" or answer.status_code in (204, 304)
    chunked = not bare and "content-length" not in answer.headers and request.minor == 1
    named = {word.strip().lower().encode() for word in answer.headers.get("connection", "").split(",")}
    forwarded = [(name, value) for name, value in answer.headers.raw if name.lower() not in HOP_BY_HOP | named]
    forwarded.append((b"Connection", b"close"))
    if chunked:
        forwarded.append((b"Transfer-Encoding", b"chunked"))
    status = f"HTTP/1.1 {answer.status_code} {responses.get(answer.status_code, '')}".encode()
    lines = [status, *(name + b": " + value for name, value in forwarded)]
    await connection.begin(b"\r\n".join(lines) + b"\r\n\r\n")
    async for piece in answer.aiter_raw(_CHUNK):
        await connection.stream.send(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
    if chunked:
        await connection.stream.send(b"0\r\n\r\n")
    await answer.aclose()
