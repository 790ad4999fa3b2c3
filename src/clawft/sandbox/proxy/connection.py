"""A connection of a confined program to the proxy, and the strictly parsed head of its request."""

import re

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from msgspec import Struct

from clawft.trust.network import InvalidUrl, UrlTarget, read_url

# What it looks like when the other side went away.
DISCONNECTED = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, anyio.IncompleteRead)
_LINGER_S = 1.0
_LINGER_BYTES = 256 * 1024
_PHRASES = {
    400: "Bad Request",
    403: "Forbidden",
    408: "Request Timeout",
    500: "Internal Server Error",
    502: "Bad Gateway",
}


class ProxyConnection:
    """`idle_s` is how long nothing may move on it."""

    def __init__(self, stream: SocketStream, idle_s: float) -> None:
        self.stream = stream
        self.source = BufferedByteReceiveStream(stream)
        self.idle_s = idle_s
        self._answered = False  # the head of an answer is out: no other can follow

    async def begin(self, head: bytes) -> None:
        """Send the head of the answer."""
        self._answered = True
        await self.stream.send(head)

    async def refuse(self, status: int, message: str, hint: str = "") -> None:
        """Answer with a text that says why; nothing, where an answer has begun."""
        if self._answered:
            return
        body = "\n".join(filter(None, (f"clawft: {message}", f"hint: {hint}" if hint else ""))).encode() + b"\n"
        head = (
            f"HTTP/1.1 {status} {_PHRASES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        await self.begin(head.encode() + body)
        await self._linger()

    async def _linger(self) -> None:
        """Take what is still on its way: closing on unread bytes would make the system drop the answer."""
        await self.stream.send_eof()
        taken = 0
        with anyio.move_on_after(_LINGER_S):
            while taken < _LINGER_BYTES:
                taken += len(await self.stream.receive())


MAX_HEAD_BYTES = 32 * 1024
_MAX_HEADERS = 200
_REQUEST_LINE = re.compile(rb"([A-Z][A-Z_-]{0,31}) ([\x21-\x7e]{1,8192}) HTTP/1\.([01])")
_HEADER = re.compile(rb"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_AUTHORITY = re.compile(r"(?:\[[^\]]*\]|[^:\[\]/?#@]+):[0-9]{1,5}")
_LENGTH = re.compile(rb"[0-9]{1,18}")
# Meant for the next program on the way, not for the server (RFC 9110, 7.6.1), or answered by us.
HOP_BY_HOP = frozenset(
    b"connection expect http2-settings keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer "
    b"transfer-encoding upgrade".split()
)
# Ours to write, whatever the client wrote.
_OURS = frozenset({b"host", b"content-length"})


class BadRequest(Exception):
    """A request that cannot be parsed, with the reason."""


class ProxyRequest(Struct, frozen=True):
    """A request: `headers` are those that go on to the server, without its host and the length of the body."""

    method: str
    target: UrlTarget
    headers: tuple[tuple[bytes, bytes], ...]
    length: int | None = 0  # of the body; None for one in chunks
    expects: bool = False  # it waits for a word before it sends its body
    minor: int = 1

    @property
    def is_tunnel(self) -> bool:
        return self.method == "CONNECT"


def read_request(head: bytes) -> ProxyRequest:
    """A head up to the blank line, without it. Raises: BadRequest."""
    first, *lines = head.split(b"\r\n")
    parts = _REQUEST_LINE.fullmatch(first)
    if parts is None:
        raise BadRequest("The request line cannot be read")
    if len(lines) > _MAX_HEADERS:
        raise BadRequest(f"There are more than {_MAX_HEADERS} headers")
    headers = [_read_header(line) for line in lines]
    method, minor = parts[1].decode(), int(parts[3])
    target = _read_target(method, parts[2].decode())
    _check_host(headers, target)
    named = {word.strip().lower() for value in _values(headers, b"connection") for word in value.split(b",")}
    forwarded = tuple(header for header in headers if header[0].lower() not in HOP_BY_HOP | _OURS | named)
    length = _read_length(headers, minor)
    if method == "CONNECT" and length != 0:
        raise BadRequest("A tunnel has no body")
    expects = any(value.lower() == b"100-continue" for value in _values(headers, b"expect"))
    return ProxyRequest(method, target, forwarded, length, expects, minor)


def _read_header(line: bytes) -> tuple[bytes, bytes]:
    if line[:1] in (b" ", b"\t"):
        raise BadRequest("A header is folded over several lines")
    match = _HEADER.fullmatch(line)
    if match is None:
        raise BadRequest("A header cannot be read")
    return match[1], match[2]


def _read_target(method: str, text: str) -> UrlTarget:
    try:
        if method == "CONNECT":
            if not _AUTHORITY.fullmatch(text):
                raise BadRequest("A tunnel needs a host and a port")
            return read_url(f"https://{text}/")
        if method == "TRACE" or not text.lower().startswith("http://"):
            raise BadRequest("This is a proxy: send an absolute http:// address, or CONNECT for https")
        return read_url(text)
    except InvalidUrl as error:
        raise BadRequest(str(error)) from error


def _check_host(headers: list[tuple[bytes, bytes]], target: UrlTarget) -> None:
    """Check that the Host header names the host that the request is sent to."""
    hosts = _values(headers, b"host")
    if len(hosts) > 1:
        raise BadRequest("There are several headers 'Host'")
    for host in hosts:
        try:
            named_url = read_url(f"{target.scheme}://{host.decode('latin-1')}/")
        except InvalidUrl as error:
            raise BadRequest("The header 'Host' is no host") from error
        # A tunnel's own port is often left out.
        named = (
            (named_url.host,)
            if target.scheme == "https" and named_url.port is None
            else (named_url.host, named_url.connect_port)
        )
        if named_url.path != "/" or named != (target.host, target.connect_port)[: len(named)]:
            raise BadRequest(f"The header 'Host' names another host than '{target.authority}'")


def _read_length(headers: list[tuple[bytes, bytes]], minor: int) -> int | None:
    lengths, codings = _values(headers, b"content-length"), _values(headers, b"transfer-encoding")
    if codings and lengths:
        raise BadRequest("There are both 'Content-Length' and 'Transfer-Encoding'")
    if codings:
        if len(codings) > 1 or codings[0].lower() != b"chunked" or minor == 0:
            raise BadRequest("Only 'Transfer-Encoding: chunked' is understood")
        return None
    if len(lengths) > 1 or (lengths and not _LENGTH.fullmatch(lengths[0])):
        raise BadRequest("'Content-Length' is not one number")
    return int(lengths[0]) if lengths else 0


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for header, value in headers if header.lower() == name]
