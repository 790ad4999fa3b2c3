"""Servers on loopback, and proxies in front of them."""

import socket
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream, TaskGroup

from clawft.config.tools import WebSettings
from clawft.sandbox.proxy import HostAccess, serve_proxy
from clawft.trust.network import UrlPolicy

OPEN = UrlPolicy(WebSettings(block_private_ips=False, blocked_domains=("blocked.test",)))


class Handler(BaseHTTPRequestHandler):
    """Answers every request with what it was sent; `/long` with a body of no length that was told."""

    server: "Origin"
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = self._read_chunks()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, self.headers.items(), body))
        self.send_response(200)
        self.send_header("X-Served", "yes")
        self.send_header("Keep-Alive", "timeout=5")
        if self.path == "/long":
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"part1" + b"part2")
            self.close_connection = True
            return
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def do_POST(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        self.do_GET()

    def _read_chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, format: str, *args: object) -> None:
        pass


class Origin(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str, Sequence[tuple[str, str]], bytes]] = []

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a request that broke off


@pytest.fixture
def origin() -> Iterator[Origin]:
    with Origin() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join(60)


class Proxy:
    """A running proxy, and what it recorded. Names resolve to what the test says, each answer once, the last always."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.records: list[tuple[str, str, str, str]] = []
        self.answers: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []

    def record(self, kind: str, subject: str, decision: str, rule: str) -> None:
        self.records.append((kind, subject, decision, rule))

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self.answers.get(host, [["127.0.0.1"]])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def send(self, request: str | bytes) -> str:
        """What comes back for bytes, until the proxy closes."""
        raw = request.encode() if isinstance(request, str) else request
        with anyio.fail_after(60):
            async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
                await stream.send(raw)
                return (await _read_all(stream)).decode("latin-1")

    @property
    def decisions(self) -> list[tuple[str, str]]:
        return [(decision, rule) for _, _, decision, rule in self.records]


async def _read_all(stream: SocketStream) -> bytes:
    data = b""
    try:
        async for chunk in stream:
            data += chunk
    except anyio.BrokenResourceError:
        pass
    return data


class Start:
    """Starts proxies; they end with the test."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group

    def __call__(
        self, *hosts: str, policy: UrlPolicy = OPEN, tls_ports: Sequence[int] = (80, 443), **limits: Any
    ) -> Proxy:
        listener = socket.create_server(("127.0.0.1", 0))
        proxy = Proxy(listener.getsockname()[1])
        access = HostAccess(hosts, policy, proxy.record, resolve=proxy.resolve, tls_ports=frozenset(tls_ports))

        async def serve() -> None:
            await serve_proxy(listener, access, **limits)

        self._group.start_soon(serve)
        return proxy


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    async with anyio.create_task_group() as group:
        yield Start(group)
        group.cancel_scope.cancel()
