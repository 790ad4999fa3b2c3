"""Uvicorn with bounded connections, TLS handshakes with a deadline, and a shutdown that the caller controls."""

import asyncio
import resource
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from ssl import SSLContext
from typing import Any, Protocol

import h11
import uvicorn
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol

from clawft.errors import ClawftError
from clawft.server.http.addresses import WAITING
from clawft.server.http.exchange import App
from clawft.server.http.limits import name_client

AT_ONCE = 64  # are let in before one of them is looked at
MARGIN = 100  # that get an answer that there are too many; further ones are hung up on
_FILES = 4 * AT_ONCE + 100  # of everything else; it takes some turns until one who was hung up on is gone
_FEWEST = 10
IS_KNOWN = "is_known"  # in the state of a request: it came with a token that counts


def raise_connection_limit(connections: int) -> int:
    """Raise the limit of open files as far as the system allows; return how many connections fit, at two files each."""
    rest = MARGIN + _FILES
    wanted = 2 * connections + rest
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):  # not everywhere may one ask
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        wanted = min(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    return max(_FEWEST, (wanted - rest) // 2)


class IdleConnection(Protocol):
    """A connection that can be dropped."""

    def drop(self) -> None: ...


class IdleConnections:
    """The connections of one server without a token on which no request is answered, or the answer is not taken.

    When the server is full, the oldest of them makes room for a newcomer: of the address that has the most of them, so
    that nobody's silent connections keep others out.
    """

    def __init__(self) -> None:
        self._of_peer: dict[str, dict[IdleConnection, None]] = {}  # oldest first

    def add(self, peer: str, one: IdleConnection) -> None:
        self._of_peer.setdefault(peer, {})[one] = None

    def discard(self, peer: str, one: IdleConnection) -> None:
        mine = self._of_peer.get(peer, {})
        mine.pop(one, None)
        if not mine:
            self._of_peer.pop(peer, None)

    def drop_oldest(self) -> bool:
        """Drop one; False if there is none."""
        if not self._of_peer:
            return False
        peer, most = max(self._of_peer.items(), key=lambda found: len(found[1]))
        oldest = next(iter(most))
        self.discard(peer, oldest)
        oldest.drop()
        return True


def count_surplus(one: "HttpConnection") -> int:
    """Count the connections above the limit, after an idle one was dropped to make room for the new one, if there is
    one."""
    most = one.config.limit_concurrency
    if most is None or len(one.connections) <= most or one.idle.drop_oldest():
        return 0
    return len(one.connections) - most


def name_peer(transport: asyncio.BaseTransport) -> str:
    """The address of the other end, as one client of limits."""
    address = transport.get_extra_info("peername")
    return name_client(str(address[0])) if isinstance(address, tuple) and address else ""


class HttpConnection(H11Protocol):
    """Uvicorn waits for ever for the head of a request, and for a client that does not read; here both have an end.

    It also keeps those who come when there are too many. With no file left for the next one, the loop only logs that.
    """

    head_s = 15.0  # for a request to be whole up to its body
    stall_s = 60.0  # for a client to take some of what it is sent
    _deadline: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _peer = ""

    def __init__(self, idle: IdleConnections, **options: Any) -> None:
        super().__init__(**options)
        self.idle = idle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer = name_peer(transport)
        surplus = count_surplus(self)
        if surplus > MARGIN:  # too many to tell one more that there are
            transport.abort()
            return
        # A client that was here before it got too full is served; one that comes then gets a refusal.
        self.limit_concurrency = 0 if surplus else None
        self.idle.add(self._peer, self)
        self._wait_for_head()

    def drop(self) -> None:
        """Drop the connection to make room for another client."""
        self.connections.discard(self)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY) and self._stalled is None:  # it is answered
            self.idle.discard(self._peer, self)
        if self.conn.their_state is h11.IDLE:  # the head of a request has begun and is not whole
            self._wait_for_head()
        else:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():  # it stays until the last answer was taken
            self.loop.call_later(self.stall_s, self.transport.abort)
        self._note_idle()
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:  # a part of the next came with the last
            self._wait_for_head()

    def _should_upgrade(self) -> bool:
        """Return whether to upgrade to a WebSocket: no above the connection limit, where uvicorn would let it in."""
        return super()._should_upgrade() and self.limit_concurrency is None

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        super().handle_websocket_upgrade(event)
        self.idle.discard(self._peer, self)
        self._stop_waiting()  # it belongs to another protocol from now on

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(self.stall_s, self.transport.abort)
        self._note_idle()  # an answer that is not taken keeps nobody else out

    def resume_writing(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self.loop.call_later(self.stall_s, self.transport.abort)  # else it stays until the last answer was taken

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self.idle.discard(self._peer, self)
        super().connection_lost(exc)

    def _note_idle(self) -> None:
        """Count as idle, unless the last request came with a token."""
        if self.scope["state"].get(IS_KNOWN):
            self.idle.discard(self._peer, self)
        else:
            self.idle.add(self._peer, self)

    def _wait_for_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.head_s, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def with_tls_deadline(tls: SSLContext, make: Callable[..., HttpConnection]) -> Callable[..., asyncio.Protocol]:
    """Connections that are secured before anything else; the same arguments as `make` has."""
    return lambda **options: _Greeting(make(**options), tls)


class _Greeting(asyncio.Protocol):
    """A client that has not said yet how it wants to speak.

    The loop could do that by itself, but nobody would know how many such clients there are, and it waits a minute for
    each: a few thousand who say nothing would take every file that the process may open.
    """

    def __init__(self, following: HttpConnection, tls: SSLContext) -> None:
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
        """Drop the connection to make room for another client."""
        self._leave()
        self._transport.abort()

    async def _greet(self) -> None:
        loop, wait_s = self._following.loop, HttpConnection.head_s
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


_MAX_HEAD = 32 * 1024
_KEEP_S = 30  # a connection that is not used
_END_S = 10  # for answers that are being sent when it ends
_PING_S = 20.0  # how often the other end of a WebSocket is asked whether it is there, and how long it may take to say


class ServerLimits(Struct, frozen=True):
    """The limits of a server: its connections, and the bytes of a WebSocket message; 0 for no WebSockets at all."""

    connections: int = 2_000
    message_bytes: int = 0


class Tls(Struct, frozen=True):
    """A certificate with those above it, and its key: PEM files."""

    cert: str
    key: str


class WebServer(uvicorn.Server):
    """Uvicorn, whose end the caller decides: `stop` lets answers that are being sent come to their end."""

    def __init__(
        self, app: App, *, bounds: ServerLimits | None = None, behind_proxy: bool = False, tls: Tls | None = None
    ) -> None:
        bounds = bounds or ServerLimits()
        super().__init__(
            uvicorn.Config(
                app,
                http=partial(HttpConnection, IdleConnections()),  # type: ignore[arg-type]
                ws=_find_sockets() if bounds.message_bytes else "none",
                ws_max_size=bounds.message_bytes,
                ws_ping_interval=_PING_S,
                ws_ping_timeout=_PING_S,
                ws_per_message_deflate=False,  # a small message could become a large one
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=behind_proxy,  # a proxy on this machine says who asks; else anybody could say so
                forwarded_allow_ips=["127.0.0.1", "::1"],
                limit_concurrency=raise_connection_limit(bounds.connections),
                backlog=AT_ONCE,
                timeout_keep_alive=_KEEP_S,
                timeout_graceful_shutdown=_END_S,
                h11_max_incomplete_event_size=_MAX_HEAD,
                ssl_certfile=tls.cert if tls else None,
                ssl_keyfile=tls.key if tls else None,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self.config.ssl is not None:
            plain = self.config.http_protocol_class
            self.config.http_protocol_class = with_tls_deadline(self.config.ssl, plain)  # type: ignore[assignment,arg-type]
            self.config.ssl = None
        await super().startup(sockets)
        for listening_socket in sockets or ():
            listening_socket.listen(WAITING)  # again: more may wait than are let in at once

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self.force_exit:  # uvicorn would leave the application without a word
            await self.lifespan.shutdown()

    def stop(self) -> None:
        self.force_exit = self.should_exit  # the second time it waits for nobody
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the caller's."""
        yield


def check_tls(tls: Tls, code: str) -> None:
    """Raises: ClawftError of the `code` for a certificate that cannot be used."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.cert, tls.key, lambda: "")
    except (OSError, ValueError) as error:  # ssl.SSLError is one
        message = f"The certificate and its key cannot be used: {getattr(error, 'strerror', None) or error}"
        raise ClawftError(code, message, path=tls.cert, hint=f"Its key is {tls.key}") from error


def _find_sockets() -> type:
    from clawft.server.http.websocket import SocketConnection  # a hub does without

    return SocketConnection
