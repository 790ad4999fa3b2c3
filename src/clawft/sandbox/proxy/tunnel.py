"""A tunnel (CONNECT): bytes both ways between a program and a judged address.

The greeting of TLS must name the host that was asked for, or none: else a granted host that shares its address with
others would be the way to all of them. On the ports of the web there is nothing but TLS; on another one, which a grant
has to name, whatever is spoken there.
"""

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, SocketStream

from clawft.sandbox.proxy.connection import GONE, Connection
from clawft.sandbox.proxy.gate import Gate, subject_of
from clawft.sandbox.proxy.hello import MAX_HELLO_BYTES, TLS_HANDSHAKE, NotTls, read_hello
from clawft.sandbox.proxy.request import Request
from clawft.sandbox.reach import CONNECT_TIMEOUT_S, Unreachable, reach
from clawft.trust.hosts import Grant
from clawft.trust.urls import Target

__all__ = ["tunnel"]

_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_UNRECOGNISED_NAME = b"\x15\x03\x01\x00\x02\x02\x70"  # a fatal alert of TLS
_CHUNK = 64 * 1024


async def tunnel(connection: Connection, request: Request, gate: Gate, grant: Grant) -> None:
    """Connect, and carry bytes until either side ends. Raises: PolicyViolation, FetchError."""
    target = request.target

    async def connect(address: str) -> SocketStream:
        gate.note(subject_of(target), "allow", grant.text)
        try:
            with anyio.fail_after(CONNECT_TIMEOUT_S):
                return await anyio.connect_tcp(address, target.connect_port)
        except OSError as error:  # a timeout is one, too
            raise Unreachable(str(error) or "it does not answer") from error

    async with await reach(target, gate.policy, gate.resolve, connect) as server:
        await connection.begin(_ESTABLISHED)
        carrier = _Carrier(connection, server)
        try:
            await carrier.carry(target, only_tls=target.connect_port in gate.tls_ports)
        except NotTls as error:
            gate.note(subject_of(target), "deny", f"tunnel: {error}")
            await connection.stream.send(_UNRECOGNISED_NAME)


class _Carrier:
    """Bytes both ways, until both sides have ended or nothing moves any more."""

    def __init__(self, connection: Connection, server: SocketStream) -> None:
        self._client = connection.stream
        self._source = connection.source
        self._server = server
        self._idle_s = connection.idle_s
        self._scope = anyio.CancelScope()

    async def carry(self, target: Target, *, only_tls: bool) -> None:
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
                except GONE:
                    group.cancel_scope.cancel()
                if only_tls:
                    group.start_soon(self._pump, self._server, self._client)
                group.start_soon(self._pump, self._source, self._server)
        if refused is not None:
            raise refused

    async def _read_first(self, target: Target, *, only_tls: bool) -> bytes:
        """The first that a program sends, once it is known for whom it is meant."""
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
        except GONE:
            self._scope.cancel()

    def _stir(self) -> None:
        self._scope.deadline = anyio.current_time() + self._idle_s
