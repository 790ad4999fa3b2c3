"""Tunnels of the proxy: TLS to the host that was asked for, and to no other that shares its address."""

import http.client
import ssl
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from anyio.abc import SocketStream
from hypothesis import given
from hypothesis import strategies as st

from clawft.sandbox.proxy.tunnel import ClientHello, NotTls, read_hello

TLS = Path(__file__).parents[2] / "agent" / "providers" / "tls"
ALERT = b"\x15\x03\x01\x00\x02\x02\x70"


@pytest.fixture
def names(origin: Any) -> list[str | None]:
    """The names that clients asked `origin` for, which speaks TLS now."""
    seen: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
    context.sni_callback = lambda _, name, __: seen.append(name)
    origin.socket = context.wrap_socket(origin.socket, server_side=True)
    return seen


@cache
def make_hello(name: str | None) -> bytes:
    """What a TLS client sends first."""
    context = ssl.create_default_context()
    context.check_hostname = name is not None
    outgoing = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


async def open_tunnel(proxy: Any, authority: str) -> SocketStream:
    stream = await anyio.connect_tcp("127.0.0.1", proxy.port)
    await stream.send(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    assert await stream.receive() == b"HTTP/1.1 200 Connection established\r\n\r\n"
    return stream


async def exchange(stream: SocketStream, *pieces: bytes) -> bytes:
    """What comes back for bytes, until the other side closes."""
    answer = b""
    with anyio.fail_after(60):
        async with stream:
            for piece in pieces:
                await stream.send(piece)
            async for chunk in stream:
                answer += chunk
    return answer


@pytest.mark.anyio
async def test_a_client_speaks_tls_with_the_granted_host(start: Any, origin: Any, names: list[str]) -> None:
    port = origin.server_port
    proxy = start(f"a.test:{port}", tls_ports=[port])

    def ask() -> bytes:
        context = ssl._create_unverified_context()
        client = http.client.HTTPSConnection("127.0.0.1", proxy.port, timeout=10, context=context)
        client.set_tunnel("a.test", port)
        client.request("GET", "/x")
        answer = client.getresponse().read()
        client.close()
        return answer

    assert await to_thread.run_sync(ask) == b"hello"
    assert names == ["a.test"]
    assert proxy.records == [("url", f"a.test:{port}", "allow", f"a.test:{port}")]
    assert proxy.asked == ["a.test"]


@pytest.mark.anyio
async def test_greeting_for_another_host_does_not_reach_the_server(start: Any, origin: Any, names: list[str]) -> None:
    port = origin.server_port
    proxy = start(f"a.test:{port}")

    answer = await exchange(await open_tunnel(proxy, f"a.test:{port}"), make_hello("evil.test"))

    assert answer == ALERT
    assert names == []
    assert proxy.decisions[-1] == ("deny", "tunnel: it is meant for 'evil.test'")


@pytest.mark.anyio
async def test_greeting_cut_into_pieces_is_read_whole(start: Any, origin: Any, names: list[str]) -> None:
    port = origin.server_port
    proxy = start(f"a.test:{port}", tls_ports=[port])
    hello = make_hello("evil.test")
    body = hello[5:]
    records = b"".join(b"\x16\x03\x01" + len(body[at : at + 7]).to_bytes(2, "big") + body[at : at + 7]
                       for at in range(0, len(body), 7))  # fmt: skip

    for pieces in ([hello[:3], hello[3:90], hello[90:]], [records]):
        assert await exchange(await open_tunnel(proxy, f"a.test:{port}"), *pieces) == ALERT

    assert names == []


@pytest.mark.anyio
async def test_greeting_without_a_name_is_carried(start: Any, origin: Any, names: list[str]) -> None:
    port = origin.server_port
    stream = await open_tunnel(start(f"a.test:{port}", tls_ports=[port]), f"a.test:{port}")

    async with stream:
        await stream.send(make_hello(None))
        assert (await stream.receive())[:1] == b"\x16"  # the server greets

    assert names == [None]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "first", [b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", b"SSH-2.0-x\r\n", b"\x16\x02", b"\x16\x03\x01\0\0"]
)
async def test_what_is_not_tls_does_not_pass_on_the_ports_of_the_web(start: Any, origin: Any, first: bytes) -> None:
    port = origin.server_port
    proxy = start(f"a.test:{port}", tls_ports=[port])

    assert await exchange(await open_tunnel(proxy, f"a.test:{port}"), first) == ALERT
    assert origin.requests == []
    assert proxy.decisions[-1][1].startswith("tunnel: it ")


@pytest.mark.anyio
async def test_on_a_port_that_was_granted_by_number_anything_is_spoken(start: Any, origin: Any) -> None:
    port = origin.server_port
    stream = await open_tunnel(start(f"a.test:{port}"), f"a.test:{port}")

    answer = await exchange(stream, b"GET / HTTP/1.0\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.anyio
async def test_tunnel_that_nobody_uses_ends_with_whoever_opened_it(start: Any, origin: Any) -> None:
    port = origin.server_port
    proxy = start(f"a.test:{port}", max_connections=1)
    for _ in range(3):  # each has the only place there is
        await (await open_tunnel(proxy, f"a.test:{port}")).aclose()


@pytest.mark.anyio
async def test_server_may_be_the_one_to_speak_first(start: Any) -> None:
    async def greet(stream: SocketStream) -> None:
        async with stream:
            await stream.send(b"220 ready")
            await stream.send(await stream.receive())

    async with anyio.create_task_group() as group:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        group.start_soon(listener.serve, greet)
        with anyio.fail_after(60):
            stream = await open_tunnel(start(f"mail.test:{port}"), f"mail.test:{port}")
            async with stream:
                assert await stream.receive() == b"220 ready"
                await stream.send(b"HELO")
                assert await stream.receive() == b"HELO"
        group.cancel_scope.cancel()
    await listener.aclose()


def test_a_hello_is_read_whatever_cuts_it() -> None:
    hello = make_hello("Some.Host.Test")

    assert read_hello(hello) == read_hello(hello + b"\x17\x03more") == ClientHello("some.host.test")
    assert {read_hello(hello[:length]) for length in range(len(hello))} == {None}


def test_two_names_are_one_too_many() -> None:
    name = b"\0\0" + (11).to_bytes(2, "big") + (9).to_bytes(2, "big") + b"\0" + (6).to_bytes(2, "big") + b"a.test"
    for extensions, expected in ((name, "a.test"), (name * 2, None)):
        inner = (
            b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\x01" + b"\1\0" + len(extensions).to_bytes(2, "big") + extensions
        )
        handshake = b"\1" + len(inner).to_bytes(3, "big") + inner
        record = b"\x16\3\1" + len(handshake).to_bytes(2, "big") + handshake
        if expected:
            assert read_hello(record) == ClientHello(expected)
        else:
            with pytest.raises(NotTls):
                read_hello(record)


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_hello_is_refused_or_read_and_nothing_else(at: int, byte: int) -> None:
    hello = bytearray(make_hello("a.test"))
    hello[min(at, len(hello) - 1)] = byte
    with suppress(NotTls):
        read_hello(bytes(hello))
