"""The server that runs an application: uvicorn, with bounds, and an end that the caller decides."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import uvicorn
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.web.connection import AT_ONCE, Connection, IdleConnections, make_room
from clawft.web.greeting import greet_with
from clawft.web.listening import WAITING
from clawft.web.visit import App

__all__ = ["Bounds", "Tls", "WebServer", "check_tls"]

_MAX_HEAD = 32 * 1024
_KEEP_S = 30  # a connection that is not used
_END_S = 10  # for answers that are being sent when it ends
_PING_S = 20.0  # how often the other end of a WebSocket is asked whether it is there, and how long it may take to say


class Bounds(Struct, frozen=True):
    """How many connections there may be, and how large a WebSocket's message; 0 for none at all."""

    connections: int = 2_000
    message_bytes: int = 0


class Tls(Struct, frozen=True):
    """A certificate with those above it, and its key: PEM files."""

    cert: str
    key: str


class WebServer(uvicorn.Server):
    """Uvicorn, whose end the caller decides: `stop` lets answers that are being sent come to their end."""

    def __init__(
        self, app: App, *, bounds: Bounds | None = None, behind_proxy: bool = False, tls: Tls | None = None
    ) -> None:
        bounds = bounds or Bounds()
        super().__init__(
            uvicorn.Config(
                app,
                http=partial(Connection, IdleConnections()),  # type: ignore[arg-type]
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
                limit_concurrency=make_room(bounds.connections),
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
            self.config.http_protocol_class = greet_with(self.config.ssl, plain)  # type: ignore[assignment,arg-type]
            self.config.ssl = None
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(WAITING)  # again: more may wait than are let in at once

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
    from clawft.web.sockets import SocketConnection  # a hub does without

    return SocketConnection
