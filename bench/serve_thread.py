"""A daemon to speak with over HTTP: served in a thread of this process, on a port of its own."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from msgspec import structs

from clawft.config.serve import ServeSettings
from serve_world import ServeWorld

if TYPE_CHECKING:
    from clawft.server.application import DaemonApplication
    from clawft.server.daemon import Daemon
    from clawft.server.http.server import WebServer

START_S = 20.0


class ServedDaemon:
    """A daemon that listens. `token` is its user's own; `token_for` makes others. `log` is what it logged."""

    def __init__(self, world: ServeWorld, token: str) -> None:
        self.world = world
        self.token = token
        self.url = ""
        self.log: list[tuple[str, Mapping[str, object]]] = []
        self.daemon: Daemon
        self.front: DaemonApplication
        self.server: WebServer
        self.loop: asyncio.AbstractEventLoop

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def token_for(self, name: str, *scopes: str) -> str:
        from clawft.server.tokens import ServeTokens

        return ServeTokens(str(self.world.user_dir)).create(name, scopes)[0]

    def client(self, token: str | None = None, headers: Mapping[str, str] | None = None, **more: Any) -> httpx2.Client:
        """One who asks, with the user's own token if no other is given; '' for none."""
        secret = self.token if token is None else token
        own = {"Authorization": f"Bearer {secret}"} if secret else {}
        more = {"verify": False, **more}  # plain HTTP has no certificates, and loading them takes 20 ms
        return httpx2.Client(
            base_url=self.url, headers={**own, **(headers or {})}, trust_env=False, timeout=START_S, **more
        )

    def call(self, function: Callable[[], Any]) -> Any:
        """Do something where the daemon lives."""

        async def do() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(do(), self.loop).result(START_S)


@contextmanager
def serve_here(world: ServeWorld, settings: ServeSettings | None = None) -> Iterator[ServedDaemon]:
    """Serve on loopback until the end of the block, which drains it as a signal would."""
    from clawft.server.application import make_application, make_server
    from clawft.server.http.addresses import listen
    from clawft.server.tokens import ServeTokens, load_own

    settings = settings or ServeSettings(drain_s=1.0)
    token = load_own(settings, str(world.user_dir), world.environ, make=True)
    served = ServedDaemon(world, token)
    listening = listen("127.0.0.1", 0, name="The daemon", code="serve-address")
    port = listening.getsockname()[1]
    served.url = f"{'https' if settings.tls_cert else 'http'}://127.0.0.1:{port}"
    ready = threading.Event()

    async def run() -> None:
        async with world.open_daemon(structs.replace(settings, port=port)) as daemon:
            served.daemon, served.loop = daemon, asyncio.get_running_loop()
            tokens = ServeTokens(str(world.user_dir), token)
            served.front = make_application(daemon, tokens, lambda text, about: served.log.append((text, about)))
            served.server = make_server(served.front)
            async with anyio.create_task_group() as group:
                group.start_soon(served.server.serve, [listening])
                with anyio.fail_after(START_S):
                    while not served.server.started:
                        await anyio.sleep(0.005)
                ready.set()

    thread = threading.Thread(target=anyio.run, args=(run,), daemon=True)
    thread.start()
    try:
        if not ready.wait(START_S):
            raise RuntimeError("the daemon did not start")
        yield served
    finally:
        if ready.is_set():
            stop(served)
        thread.join(START_S)
        listening.close()


def stop(served: ServedDaemon) -> None:
    """As the first signal does."""
    if not served.server.should_exit:
        asyncio.run_coroutine_threadsafe(served.front.drain(served.server), served.loop)
