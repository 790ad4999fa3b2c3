"""Requests with a method and a body: what of them passes a redirect."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from clawft.config.tools import WebSettings
from clawft.sandbox.addresses import FetchError
from clawft.sandbox.net import FetchBody, FetchedPage, fetch
from clawft.trust.network import UrlPolicy

pytestmark = pytest.mark.anyio
OPEN = WebSettings(block_private_ips=False, timeout_s=20)


class Handler(BaseHTTPRequestHandler):
    """`/STATUS/URL` redirects there; anything else answers with what came: the method, and the body."""

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        status, _, location = self.path[1:].partition("/")
        if status.isdigit():
            self.send_response(int(status))
            self.send_header("location", location)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        said = self.command.encode() + b" " + body
        self.send_response(200)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None:
        pass


for one in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"):
    setattr(Handler, f"do_{one}", Handler.answer)


def _serve() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def server() -> Iterator[str]:
    yield from _serve()


@pytest.fixture
def other() -> Iterator[str]:
    yield from _serve()


async def send(url: str, method: str, body: bytes = b"") -> FetchedPage:
    return await fetch(url, UrlPolicy(OPEN), OPEN, message=FetchBody(method, body))


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_the_server_gets_the_method_and_the_body(server: str, method: str) -> None:
    assert (await send(f"{server}/a", method, b"body")).body == f"{method} body".encode()


async def test_an_empty_body_and_none_of_an_answer_are_fine(server: str) -> None:
    assert (await send(f"{server}/a", "POST")).body == b"POST "
    assert (await send(f"{server}/a", "HEAD")).body == b""


@pytest.mark.parametrize(("status", "said"), [(301, b"GET "), (302, b"GET "), (303, b"GET "), (307, b"POST body")])
async def test_a_redirect_asks_again_or_sends_again_as_it_says(server: str, status: int, said: bytes) -> None:
    assert (await send(f"{server}/{status}/{server}/b", "POST", b"body")).body == said


async def test_no_body_goes_to_another_host(server: str, other: str) -> None:
    assert (await send(f"{server}/303/{other}/b", "POST", b"body")).body == b"GET "
    for status in (307, 308):
        with pytest.raises(FetchError) as refused:
            await send(f"{server}/{status}/{other}/b", "POST", b"body")
        assert refused.value.code == "fetch-redirects"


@pytest.mark.parametrize("method", ["", "get", "TRACE", "CONNECT", "GET /x HTTP/1.1\r\nA: b\r\n\r\nGET"])
async def test_a_method_that_is_not_known_is_not_sent(server: str, method: str) -> None:
    with pytest.raises(FetchError) as refused:
        await send(f"{server}/a", method)
    assert refused.value.code == "fetch-method"
