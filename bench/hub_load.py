"""Many clients of one web server at once, each on a connection that is kept; nothing but what HTTP needs.

It has to be quicker than the servers: what is slow here would make both look alike.
"""

import asyncio
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

WAIT_S = 60.0
_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


def time_clients(url: str, paths: Sequence[str], clients: int, each: int) -> float:
    """Seconds until so many clients have asked for so many paths each. Raises: RuntimeError at the first error."""
    return asyncio.run(_time(url, paths, clients, each))


async def _time(url: str, paths: Sequence[str], clients: int, each: int) -> float:
    parts = urlsplit(url)
    requests = [f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode() for path in paths]
    loop = asyncio.get_running_loop()
    opened: list[_Client] = []
    for number in range(clients):
        wanted = [requests[(number * each + turn) % len(requests)] for turn in range(each)]
        client = _Client(wanted, loop.create_future())
        await loop.create_connection(lambda client=client: client, parts.hostname or "", parts.port or 0)  # type: ignore[misc]
        opened.append(client)
    try:
        start = time.perf_counter()
        for client in opened:
            client.ask()
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(*(client.done for client in opened))
        return time.perf_counter() - start
    finally:
        for client in opened:
            client.transport.close()


class _Client(asyncio.Protocol):
    """One client: the next request goes out when the last answer is whole."""

    transport: asyncio.Transport

    def __init__(self, requests: list[bytes], done: "asyncio.Future[None]") -> None:
        self._requests = requests[::-1]
        self._got = b""
        self.done = done

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(f"a connection ended: {exc}"))

    def data_received(self, data: bytes) -> None:
        got = self._got + data if self._got else data
        end = got.find(_END)
        at = got.find(_LENGTH)
        if end < 0 or len(got) < end + 4 + int(got[at + len(_LENGTH) : got.index(b"\r", at)]):
            self._got = got
            return
        self._got = b""
        if not got.startswith(b"HTTP/1.1 200 "):
            self.done.set_exception(RuntimeError(f"an answer was {got[:100]!r}"))
        else:
            self.ask()

    def ask(self) -> None:
        if self._requests:
            self.transport.write(self._requests.pop())
        elif not self.done.done():
            self.done.set_result(None)
