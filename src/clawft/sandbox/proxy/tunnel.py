"""A CONNECT tunnel to a checked address, allowed only for the host that the TLS ClientHello names."""

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, SocketStream
from msgspec import Struct

from clawft.sandbox.addresses import CONNECT_TIMEOUT_S, Unreachable, reach
from clawft.sandbox.proxy.connection import DISCONNECTED, ProxyConnection, ProxyRequest
from clawft.sandbox.proxy.host_access import HostAccess, subject_of
from clawft.trust.network import HostGrant, UrlTarget

MAX_HELLO_BYTES = 64 * 1024
_RECORD_HEADER = 5
_MAX_RECORD = 1 << 14
TLS_HANDSHAKE = 0x16  # the first byte of a TLS connection
_CLIENT_HELLO = 0x01
_SERVER_NAME = 0


class NotTls(ValueError):
    """The first bytes of a client are no ClientHello, or one that two programs might read differently."""


class ClientHello(Struct, frozen=True):
    """A ClientHello. `name` is the host it asks for, in lower case; empty where it names none."""

    name: str


def read_hello(data: bytes) -> ClientHello | None:
    """The ClientHello at the start of `data`; None while more is needed. Raises: NotTls."""
    handshake = _join_records(data)
    if len(handshake) >= 1 and handshake[0] != _CLIENT_HELLO:
        raise NotTls("it begins with another message than a ClientHello")
    if len(handshake) < 4:
        return None
    length = int.from_bytes(handshake[1:4], "big")
    if length > MAX_HELLO_BYTES:
        raise NotTls("its ClientHello is too long")
    if len(handshake) < 4 + length:
        return None
    return ClientHello(_read_name(_Reader(handshake[4 : 4 + length])))


def _join_records(data: bytes) -> bytes:
    """Return the content of the records, as far as they have come: a ClientHello may be cut into several."""
    handshake, at = bytearray(), 0
    while at < len(data):
        if data[at] != TLS_HANDSHAKE or (len(data) > at + 1 and data[at + 1] != 3):
            raise NotTls("it is not TLS")
        if len(data) < at + _RECORD_HEADER:
            break
        length = int.from_bytes(data[at + 3 : at + 5], "big")
        if not 0 < length <= _MAX_RECORD:
            raise NotTls("it has a record of no possible length")
        handshake += data[at + _RECORD_HEADER : at + _RECORD_HEADER + length]
        if _is_whole(handshake):
            break  # what follows is not ours to read
        at += _RECORD_HEADER + length
    return bytes(handshake)


def _is_whole(handshake: bytearray) -> bool:
    return len(handshake) >= 4 and len(handshake) >= 4 + int.from_bytes(handshake[1:4], "big")


def _read_name(hello: "_Reader") -> str:
    hello.take(2 + 32)  # version, random
    hello.block(1)  # session
    hello.block(2)  # ciphers
    hello.block(1)  # compression
    if hello.at_end():
        return ""
    extensions = _Reader(hello.block(2))
    names: list[str] = []
    if not hello.at_end():
        raise NotTls("its ClientHello does not end where it should")
    while not extensions.at_end():
        kind, content = extensions.number(2), extensions.block(2)
        if kind == _SERVER_NAME:
            names.append(_read_server_name(content))
    if len(names) > 1:
        raise NotTls("it asks for several names")
    return names[0] if names else ""


def _read_server_name(content: bytes) -> str:
    outer = _Reader(content)
    entries = _Reader(outer.block(2))
    kind, name = entries.number(1), entries.block(2)
    if kind != 0 or not entries.at_end() or not outer.at_end():
        raise NotTls("it asks for several names, or for one that is no host")
    try:
        return name.decode("ascii").lower().removesuffix(".")
    except UnicodeDecodeError as error:
        raise NotTls("it asks for a name that is not ASCII") from error


class _Reader:
    """Takes bytes from the front. Raises: NotTls where there are too few."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise NotTls("its ClientHello is cut off")
        self._at += count
        return taken

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def block(self, width: int) -> bytes:
        """Bytes behind their length."""
        return self.take(self.number(width))


_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_UNRECOGNISED_NAME = b"\x15\x03\x01\x00\x02\x02\x70"  # a fatal alert of TLS
_CHUNK = 64 * 1024


async def tunnel(connection: ProxyConnection, request: ProxyRequest, access: HostAccess, grant: HostGrant) -> None:
    """Connect, and carry bytes until either side ends. Raises: PolicyViolation, FetchError."""
    target = request.target

    async def connect(address: str) -> SocketStream:
        access.note(subject_of(target), "allow", grant.text)
        try:
            with anyio.fail_after(CONNECT_TIMEOUT_S):
                return await anyio.connect_tcp(address, target.connect_port)
        except OSError as error:  # a timeout is one, too
            raise Unreachable(str(error) or "it does not answer") from error

    async with await reach(target, access.policy, access.resolve, connect) as server:
        await connection.begin(_ESTABLISHED)
        carrier = _Carrier(connection, server)
        try:
            await carrier.carry(target, only_tls=target.connect_port in access.tls_ports)
        except NotTls as error:
            access.note(subject_of(target), "deny", f"tunnel: {error}")
            await connection.stream.send(_UNRECOGNISED_NAME)


class _Carrier:
    """Bytes both ways, until both sides have ended or nothing moves any more."""

    def __init__(self, connection: ProxyConnection, server: SocketStream) -> None:
        self._client = connection.stream
        self._source = connection.source
        self._server = server
        self._idle_s = connection.idle_s
        self._scope = anyio.CancelScope()

    async def carry(self, target: UrlTarget, *, only_tls: bool) -> None:
        """Raises: NotTls for what may not be carried; nothing of it has reached the server."""
        self._stir()
        refused: NotTls | None = None
        with self._scope:
            async with anyio.create_task_group() as group:
                if not only_tls:  # the server may be the one to speak first
                    group.start_soon(self._pump, self._server, self._client)
                try:
                    await self._server.send(await self._read_first(target, only_tls=only_tls))
                except NotTls as error:
                    refused = error
                    group.cancel_scope.cancel()
                except DISCONNECTED:
                    group.cancel_scope.cancel()
                if only_tls:
                    group.start_soon(self._pump, self._server, self._client)
                group.start_soon(self._pump, self._source, self._server)
        if refused is not None:
            raise refused

    async def _read_first(self, target: UrlTarget, *, only_tls: bool) -> bytes:
        """Read the first bytes that a program sends, and check that they are meant for the target."""
        data = b""
        while len(data) <= MAX_HELLO_BYTES:
            data += await self._source.receive(_CHUNK)
            if not only_tls and data[0] != TLS_HANDSHAKE:
                return data
            hello = read_hello(data)
            if hello is not None:
                if hello.name not in ("", target.host):
                    raise NotTls(f"it is meant for '{ascii(hello.name[:100])[1:-1]}'")
                return data
        raise NotTls("its ClientHello is too long")

    async def _pump(self, source: ByteReceiveStream, sink: ByteSendStream) -> None:
        try:
            async for chunk in source:
                self._stir()
                await sink.send(chunk)
            await self._server.send_eof() if sink is self._server else await self._client.send_eof()
        except DISCONNECTED:
            self._scope.cancel()

    def _stir(self) -> None:
        self._scope.deadline = anyio.current_time() + self._idle_s
