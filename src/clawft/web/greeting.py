"""How a connection begins that is to speak TLS: it counts as one from the start, and does not take for ever."""

import asyncio
from collections.abc import Callable
from ssl import SSLContext
from typing import Any

from clawft.web.connection import MARGIN, Connection, count_surplus, name_peer

__all__ = ["greet_with"]


def greet_with(tls: SSLContext, make: Callable[..., Connection]) -> Callable[..., asyncio.Protocol]:
    """Connections that are secured before anything else; the same arguments as `make` has."""
    return lambda **given: _Greeting(make(**given), tls)


class _Greeting(asyncio.Protocol):
    """A client that has not said yet how it wants to speak.

    The loop could do that by itself, but nobody would know how many such clients there are, and it waits a minute for
    each: a few thousand who say nothing would take every file that the process may open.
    """

    def __init__(self, following: Connection, tls: SSLContext) -> None:
        self._following = following
        self._tls = tls
        self._early = b""
        self._transport: asyncio.Transport
        self._task: asyncio.Task[None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        connections: set[Any] = self._following.connections
        connections.add(self)
        if count_surplus(self._following) > MARGIN:
            self.shutdown()
        else:
            self._following.idle.add(name_peer(transport), self)
            transport.pause_reading()
            self._task = self._following.loop.create_task(self._greet())

    def data_received(self, data: bytes) -> None:
        self._early += data  # with the last word of the greeting

    def connection_lost(self, _exc: Exception | None) -> None:
        self._leave()

    def shutdown(self) -> None:
        """The server ends."""
        self._transport.abort()

    def drop(self) -> None:
        """Make room for somebody else."""
        self._leave()
        self._transport.abort()

    async def _greet(self) -> None:
        loop, wait_s = self._following.loop, Connection.head_s
        try:
            secured = await loop.start_tls(
                self._transport, self, self._tls, server_side=True, ssl_handshake_timeout=wait_s
            )
        except OSError:  # it went, took too long, or speaks something else
            secured = None
        finally:
            self._leave()
        if secured is None or secured.is_closing():
            self._transport.abort()
            return
        secured.set_protocol(self._following)
        self._following.connection_made(secured)
        if self._early:
            self._following.data_received(self._early)

    def _leave(self) -> None:
        connections: set[Any] = self._following.connections
        connections.discard(self)
        self._following.idle.discard(name_peer(self._transport), self)
