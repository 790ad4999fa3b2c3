"""What the server does about clients that are slow, many, or take nothing; on requests and on WebSockets."""

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import anyio
import httpx2
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close, Frame, Opcode
from websockets.sync.client import ClientConnection, connect

from clawft.errors import ClawftError
from clawft.server.http.addresses import listen
from clawft.server.http.exchange import AsgiScope, HttpExchange, Receive, Send
from clawft.server.http.limits import ResponseMemory
from clawft.server.http.server import HttpConnection, ServerLimits, Tls, WebServer, check_tls

START_S = 60.0
UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


async def echo(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """Says back what it is told; to `flood` it answers without end."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        return await send({"type": "lifespan.shutdown.complete"})
    if scope["type"] == "http":
        visit = HttpExchange(scope, receive, send, ResponseMemory(64 << 20))
        body = b"x" * (8 << 20) if scope["path"] == "/large" else b"ok"
        await visit.send({"type": "http.response.start", "status": 200, "headers": []})
        return await visit.send({"type": "http.response.body", "body": body})
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] != "websocket.disconnect":
        while message.get("text") == "flood":
            await send({"type": "websocket.send", "text": "x" * 65_536})
        await send({"type": "websocket.send", "text": message.get("text", "")[:10]})
    return None


@contextmanager
def serve_echo(bounds: ServerLimits, tls: Tls | None = None) -> Iterator[int]:
    listening = listen("127.0.0.1", 0, name="The echo", code="echo-address")
    server = WebServer(echo, bounds=bounds, tls=tls)
    thread = threading.Thread(target=anyio.run, args=(server.serve, [listening]), daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.stop()
        thread.join(START_S)
        listening.close()


@pytest.fixture
def port() -> Iterator[int]:
    with serve_echo(ServerLimits(message_bytes=100_000)) as found:
        yield found


def open_socket(port: int) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{port}/ws", proxy=None, open_timeout=START_S, close_timeout=1)


def read_all(peer: socket.socket) -> bytes:
    got = b""
    with suppress(ConnectionResetError):
        while chunk := peer.recv(65_536):
            got += chunk
    return got


def closed_with(peer: ClientConnection) -> Close:
    with pytest.raises(ConnectionClosed) as ended:
        peer.recv(timeout=START_S)
    assert ended.value.rcvd is not None
    return ended.value.rcvd


def test_a_head_that_never_ends_is_not_waited_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpConnection, "head_s", 0.3)
    for begun in (b"", b"GET / HTTP/1.1\r\nHost: 127.", UPGRADE[:-2]):
        with closing(socket.create_connection(("127.0.0.1", port), START_S)) as peer:
            peer.sendall(begun)
            assert read_all(peer) == b""


def test_a_websocket_is_no_slow_head(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpConnection, "head_s", 0.3)
    with open_socket(port) as peer:
        with pytest.raises(TimeoutError):
            peer.recv(timeout=0.6)
        peer.send("", text=True)
        peer.send("still here")
        assert [peer.recv(START_S), peer.recv(START_S)] == ["", "still here"]


def test_a_websocket_that_takes_nothing_is_closed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpConnection, "stall_s", 0.3)
    with closing(socket.socket()) as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.settimeout(START_S)
        peer.connect(("127.0.0.1", port))
        peer.sendall(UPGRADE)
        frame = Frame(Opcode.TEXT, b"flood").serialize(mask=True)
        ping = Frame(Opcode.PING, b"x" * 100).serialize(mask=True)
        peer.sendall(frame + ping)
        until = time.monotonic() + START_S
        with suppress(ConnectionResetError, BrokenPipeError):
            while time.monotonic() < until:
                peer.sendall(ping)
            pytest.fail("It is still open")


def test_a_message_that_is_too_large_or_in_crumbs_ends_the_websocket(port: int) -> None:
    with open_socket(port) as peer:
        peer.send("x" * 100_001)
        assert closed_with(peer).code == 1009
    with open_socket(port) as peer:
        with suppress(ConnectionClosed):
            peer.send([""] * 5_000)
        closed = closed_with(peer)
        assert (closed.code, closed.reason) == (1009, "too many pieces")
    with open_socket(port) as peer:
        peer.send(["one ", "message"])
        assert peer.recv(START_S) == "one messag"


def test_a_server_that_ends_says_so_to_its_websockets() -> None:
    with ExitStack() as stack:
        with serve_echo(ServerLimits(message_bytes=1_000)) as port:
            peer = stack.enter_context(open_socket(port))
        closed = closed_with(peer)
    assert (closed.code, closed.reason) == (1012, "The server is stopping")


def test_with_too_many_there_a_websocket_is_told_so_as_others_are() -> None:
    with serve_echo(ServerLimits(connections=3, message_bytes=1_000)) as port, ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(open_socket(port))
        with closing(socket.create_connection(("127.0.0.1", port), 10)) as peer:
            peer.sendall(UPGRADE)
            assert peer.recv(65_536).startswith(b"HTTP/1.1 503")


def test_silent_connections_of_one_address_do_not_cost_another_its_own() -> None:
    with serve_echo(ServerLimits(connections=20)) as port, ExitStack() as stack:
        slow = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 10, ("127.0.0.2", 0))))
        slow.sendall(b"GET / HTTP/1.1\r\n")
        silent = [stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 10))) for _ in range(200)]
        until = time.monotonic() + START_S
        while sum(map(is_closed, silent)) < 150 and time.monotonic() < until:
            time.sleep(0.02)
        assert is_closed(silent[0])  # the oldest go first
        assert not is_closed(silent[-1])
        slow.sendall(b"Host: 127.0.0.1\r\n\r\n")
        assert slow.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize("ending", [b"", b"Connection: close\r\n"])
def test_clients_that_do_not_take_their_answers_keep_nobody_out(ending: bytes) -> None:
    with serve_echo(ServerLimits(connections=20)) as port, ExitStack() as stack:
        for _ in range(20):
            peer = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 10)))
            peer.sendall(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n" + ending + b"\r\n")
            assert peer.recv(12) == b"HTTP/1.1 200"
        with closing(socket.create_connection(("127.0.0.1", port), 10)) as peer:
            peer.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert peer.recv(12) == b"HTTP/1.1 200"


def test_without_websockets_there_are_none() -> None:
    with serve_echo(ServerLimits()) as port, closing(socket.create_connection(("127.0.0.1", port), 10)) as peer:
        peer.sendall(UPGRADE)
        assert peer.recv(65_536).startswith(b"HTTP/1.1 200")


def test_it_speaks_tls_with_a_certificate_of_its_own(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make_certificate(cert, key)
    trusted = ssl.create_default_context(cafile=str(cert))
    with serve_echo(ServerLimits(message_bytes=1_000), Tls(str(cert), str(key))) as port:
        with httpx2.Client(verify=trusted, trust_env=False) as client:
            assert client.get(f"https://127.0.0.1:{port}/").text == "ok"
        with connect(f"wss://127.0.0.1:{port}/ws", ssl=trusted, proxy=None, open_timeout=START_S) as peer:
            peer.send("hello")
            assert peer.recv(START_S) == "hello"
    with pytest.raises(ClawftError, match="cannot be used"):
        check_tls(Tls(str(key), str(cert)), "echo-tls")


def test_whoever_is_to_speak_tls_and_says_nothing_is_counted_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make_certificate(cert, key)
    with serve_echo(ServerLimits(connections=10), Tls(str(cert), str(key))) as port, ExitStack() as stack:
        silent = [stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 10))) for _ in range(200)]
        until = time.monotonic() + START_S
        while sum(map(is_closed, silent)) < 50 and time.monotonic() < until:
            time.sleep(0.02)
        assert sum(map(is_closed, silent)) >= 50  # but for those who may be there, or are to be told that they may not
        for one in silent:
            one.close()
        monkeypatch.setattr(HttpConnection, "head_s", 0.2)
        last = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 10)))
        assert read_all(last) == b""
        with httpx2.Client(verify=ssl.create_default_context(cafile=str(cert)), trust_env=False) as client:
            assert client.get(f"https://127.0.0.1:{port}/").text == "ok"


def is_closed(peer: socket.socket) -> bool:
    peer.setblocking(False)
    try:
        return peer.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def make_certificate(cert: Path, key: Path) -> None:
    words = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(["openssl", "req", "-x509", "-nodes", *words, *names], check=True, capture_output=True, timeout=60)
