"""The daemon of a ServeWorld behind its door, in this process: a real server on loopback, in the loop of the caller."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from typing import Any

import anyio
import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from clawft.config.serve import ServeSettings
from clawft.server.application import DaemonApplication, make_application, make_server
from clawft.server.daemon import Daemon
from clawft.server.http.addresses import listen
from clawft.server.http.server import WebServer
from clawft.server.tokens import ServeTokens
from serve_world import ServeWorld

TOKEN = "a-token-of-the-user-for-tests"
START_S = 20.0


class Site:
    """A daemon that listens: where, and what it logged."""

    def __init__(
        self,
        url: str,
        front: DaemonApplication,
        server: WebServer,
        tokens: ServeTokens,
        log: list[Mapping[str, object]],
    ) -> None:
        self.url = url
        self.front = front
        self.server = server
        self.tokens = tokens
        self.log = log

    @property
    def daemon(self) -> Daemon:
        return self.front.daemon

    @property
    def socket_url(self) -> str:
        return f"{self.url.replace('http', 'ws', 1)}/ws"

    def connect(self, token: str = TOKEN, **more: Any) -> connect:
        """A WebSocket as any program opens one."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        told: dict[str, Any] = {"proxy": None, "open_timeout": START_S, "close_timeout": 1, "max_size": None}
        told |= {"subprotocols": [Subprotocol("clawft.v1")], "additional_headers": headers, "compression": None}
        return connect(self.socket_url, **(told | more))


@asynccontextmanager
async def open_site(world: ServeWorld, settings: ServeSettings | None = None) -> AsyncIterator[Site]:
    """Serve on a free port until the end of the block."""
    tokens = ServeTokens(str(world.user_dir), TOKEN)
    listening = listen("127.0.0.1", 0, name="The daemon", code="serve-address")
    logged: list[Mapping[str, object]] = []
    with closing(listening):
        async with world.open_daemon(settings or ServeSettings(drain_s=0.2)) as daemon:
            front = make_application(daemon, tokens, lambda _line, about: logged.append(about))
            server = make_server(front)
            async with anyio.create_task_group() as group:
                group.start_soon(server.serve, [listening])
                with anyio.fail_after(START_S):
                    while not server.started:
                        await anyio.sleep(0.002)
                try:
                    yield Site(f"http://127.0.0.1:{listening.getsockname()[1]}", front, server, tokens, logged)
                finally:
                    front.access.close()
                    server.stop()
                    server.stop()


async def ask(socket: ClientConnection, **request: Any) -> None:
    await socket.send(msgspec.json.encode(request).decode())


async def hear(socket: ClientConnection) -> dict[str, Any]:
    """The next message."""
    with anyio.fail_after(START_S):
        message: dict[str, Any] = msgspec.json.decode(await socket.recv())
    return message


async def hear_until(socket: ClientConnection, *kinds: str) -> list[dict[str, Any]]:
    """All messages up to one of these types."""
    heard = [await hear(socket)]
    while heard[-1]["type"] not in kinds:
        assert heard[-1]["type"] != "error", heard[-1]
        heard.append(await hear(socket))
    return heard
