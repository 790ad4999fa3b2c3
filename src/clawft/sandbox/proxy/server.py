"""The proxy: accepts connections, reads what is asked, has it judged, and connects, or says why not.

It answers CONNECT (a tunnel) and absolute `http://` addresses. It never decrypts: of a tunnel it sees the host that is
asked for and the name in the TLS greeting.
"""

import socket

import anyio
from anyio.abc import SocketListener, SocketStream

from clawft.errors import Refused
from clawft.sandbox.addresses import FetchError
from clawft.sandbox.proxy.connection import (
    DISCONNECTED,
    MAX_HEAD_BYTES,
    BadRequest,
    ProxyConnection,
    ProxyRequest,
    read_request,
)
from clawft.sandbox.proxy.host_access import HostAccess, HostDenied, deny, subject_of
from clawft.sandbox.proxy.tunnel import tunnel

_MAX_CONNECTIONS = 64
_IDLE_S = 300.0  # of a connection on which nothing moves
_HEAD_S = 30.0
_PAUSE_S = 0.1
_TOO_LONG = f"Its head is longer than {MAX_HEAD_BYTES} bytes"


def proxy_env(port: int, direct: str = "") -> dict[str, str]:
    """The variables by which programs find a proxy on their loopback; `direct` are hosts that they reach without it."""
    url = f"http://127.0.0.1:{port}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    both = {spelling: url for name in names for spelling in (name, name.lower())}
    places = " ".join(f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}" for scheme in ("http", "https"))
    java = f"{places} -Dhttp.nonProxyHosts={direct.replace(',', '|')}"
    # Node and Java do not look at the others.
    return {**both, "NO_PROXY": direct, "no_proxy": direct, "NODE_USE_ENV_PROXY": "1", "JAVA_TOOL_OPTIONS": java}


async def serve_proxy(
    listener: socket.socket, access: HostAccess, idle_s: float = _IDLE_S, *, max_connections: int = _MAX_CONNECTIONS
) -> None:
    """Serve on a listening socket, which is closed in the end, until cancelled. Who is too many waits at the door."""
    server = _Server(access, idle_s, anyio.Semaphore(max_connections))
    async with await SocketListener.from_socket(listener) as accepting, anyio.create_task_group() as group:
        while True:
            await server.room.acquire()
            try:
                group.start_soon(server.handle, await accepting.accept())
            except OSError:  # it went away again, or we have no descriptor left: the others will give some back
                server.room.release()
                await anyio.sleep(_PAUSE_S)


class _Server:
    def __init__(self, access: HostAccess, idle_s: float, room: anyio.Semaphore) -> None:
        self._access = access
        self._idle_s = idle_s
        self.room = room

    async def handle(self, stream: SocketStream) -> None:
        """One connection, from its request to its end."""
        connection = ProxyConnection(stream, self._idle_s)
        try:
            async with stream:
                try:
                    await self._serve(connection)
                except DISCONNECTED:
                    pass  # the client went away
                except Exception as error:  # what one connection runs into must not end the others
                    await connection.refuse(500, f"The proxy failed: {type(error).__name__}")
        except DISCONNECTED:
            pass
        finally:
            self.room.release()

    async def _serve(self, connection: ProxyConnection) -> None:
        try:
            with anyio.fail_after(min(_HEAD_S, self._idle_s)):
                head = await connection.source.receive_until(b"\r\n\r\n", MAX_HEAD_BYTES)
            if len(head) > MAX_HEAD_BYTES:
                raise BadRequest(_TOO_LONG)
            await self._fulfil(connection, read_request(head))
        except (BadRequest, anyio.DelimiterNotFound) as error:
            why = str(error) if isinstance(error, BadRequest) else _TOO_LONG
            self._access.note("request", "deny", "request-invalid")
            await connection.refuse(400, f"The request was not understood: {why}")
        except TimeoutError:
            await connection.refuse(408, "No request came in time")

    async def _fulfil(self, connection: ProxyConnection, request: ProxyRequest) -> None:
        try:
            grant = await self._access.admit_or_ask(request.target)
            if request.is_tunnel:
                await tunnel(connection, request, self._access, grant)
            else:
                from clawft.sandbox.proxy.http import forward  # its HTTP client is seldom needed

                await forward(connection, request, self._access, grant)
        except Refused as error:  # also of the audit log: what cannot be written down is not done
            denied = error if isinstance(error, HostDenied) else deny(error)
            self._access.note(subject_of(request.target), "deny", denied.rule)
            await connection.refuse(403, f"{subject_of(request.target)}: {denied}", denied.hint)
        except FetchError as error:
            await connection.refuse(502, f"{subject_of(request.target)}: {error}")
