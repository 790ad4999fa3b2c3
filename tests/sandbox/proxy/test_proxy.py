"""The proxy of the sandbox: only granted hosts at judged addresses, whatever the program sends; real sockets."""

import socket
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.config.tools import WebSettings
from clawft.sandbox.proxy import HostAccess, proxy_env
from clawft.sandbox.proxy.connection import BadRequest, read_request
from clawft.sandbox.proxy.host_access import HostDenied
from clawft.trust.network import UrlPolicy, read_url

pytestmark = pytest.mark.anyio
OPEN = UrlPolicy(WebSettings(block_private_ips=False))
STRICT = UrlPolicy(WebSettings())


def get(url: str, *headers: str, method: str = "GET") -> str:
    return "\r\n".join([f"{method} {url} HTTP/1.1", *headers, "", ""])


async def test_granted_host_is_reached_and_recorded_once(start: Any, origin: Any) -> None:
    port = origin.server_port
    proxy = start(f"a.test:{port}")

    answers = [await proxy.send(get(f"http://A.test:{port}/x?y=z", f"Host: a.test:{port}")) for _ in range(2)]

    assert all(one.startswith("HTTP/1.1 200 OK\r\n") and one.endswith("\r\n\r\nhello") for one in answers)
    assert [path for _, path, _, _ in origin.requests] == ["/x?y=z"] * 2
    assert dict(origin.requests[0][2])["Host"] == f"a.test:{port}"
    assert proxy.records == [("url", f"a.test:{port}", "allow", f"a.test:{port}")]


async def test_host_that_was_not_granted_is_refused_with_its_name_and_the_setting(start: Any, origin: Any) -> None:
    port = origin.server_port
    proxy = start("other.test")

    for request in (get(f"http://a.test:{port}/"), get(f"a.test:{port}", method="CONNECT")):
        answer = await proxy.send(request)
        assert answer.startswith("HTTP/1.1 403 Forbidden\r\n")
        assert f"a.test:{port}" in answer
        assert "permissions.allow" in answer

    assert origin.requests == []
    assert proxy.asked == []  # not even its name left the machine
    assert proxy.records == [("url", f"a.test:{port}", "deny", "not-granted")]


async def test_grant_without_a_port_is_for_the_web_alone(start: Any, origin: Any) -> None:
    proxy = start("a.test")

    assert (await proxy.send(get(f"http://a.test:{origin.server_port}/"))).startswith("HTTP/1.1 403")
    assert proxy.decisions == [("deny", "not-granted")]


async def test_wildcard_covers_subdomains_and_not_what_only_ends_alike(start: Any, origin: Any) -> None:
    port = origin.server_port
    proxy = start(f"*.a.test:{port}")

    assert (await proxy.send(get(f"http://x.y.a.test:{port}/"))).startswith("HTTP/1.1 200")
    for host in ("a.test", "nota.test", "a.test.evil.test"):
        assert (await proxy.send(get(f"http://{host}:{port}/"))).startswith("HTTP/1.1 403")


async def test_blocked_domain_stays_blocked_though_granted(start: Any, origin: Any) -> None:
    proxy = start(f"blocked.test:{origin.server_port}")

    answer = await proxy.send(get(f"http://blocked.test:{origin.server_port}/"))

    assert answer.startswith("HTTP/1.1 403")
    assert "tools.web.blocked_domains" in answer
    assert proxy.decisions == [("deny", "url-domain")]


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["169.254.169.254"], ["::ffff:10.0.0.1"]]
)
@pytest.mark.parametrize("method", ["GET", "CONNECT"])
async def test_one_private_address_refuses_the_host(start: Any, origin: Any, addresses: list[str], method: str) -> None:
    port = origin.server_port
    proxy = start(f"a.test:{port}", policy=STRICT)
    proxy.answers["a.test"] = [addresses]

    answer = await proxy.send(get(f"a.test:{port}" if method == "CONNECT" else f"http://a.test:{port}/", method=method))

    assert answer.startswith("HTTP/1.1 403")
    assert "tools.web.block_private_ips" in answer
    assert origin.requests == []
    assert proxy.decisions == [("deny", "url-private-address")]


class OnlyFirstLoopback(UrlPolicy):
    """The policy as configured, except for the one address at which the test's server stands."""

    def check_address(self, address: object) -> object:  # type: ignore[override]
        return None if str(address) == "127.0.0.1" else super().check_address(str(address))


async def test_rebound_name_is_judged_anew_and_each_connection_goes_to_what_was_judged(start: Any, origin: Any) -> None:
    port = origin.server_port
    proxy = start(f"a.test:{port}", policy=OnlyFirstLoopback(WebSettings()))
    proxy.answers["a.test"] = [["127.0.0.1"], ["127.0.0.2"]]

    first = await proxy.send(get(f"http://a.test:{port}/"))
    second = await proxy.send(get(f"http://a.test:{port}/"))

    assert (first[:12], second[:12]) == ("HTTP/1.1 200", "HTTP/1.1 403")
    assert proxy.asked == ["a.test", "a.test"]  # once for each connection
    assert proxy.decisions == [("allow", f"a.test:{port}"), ("deny", "url-private-address")]
    assert len(origin.requests) == 1


async def test_hop_by_hop_headers_go_no_further(start: Any, origin: Any) -> None:
    port = origin.server_port
    headers = ("Proxy-Authorization: Basic c2VjcmV0", "Proxy-Connection: keep-alive", "Connection: X-Named, keep-alive",
               "X-Named: 1", "Upgrade: websocket", "TE: trailers", "X-Kept: 2")  # fmt: skip

    answer = await start(f"a.test:{port}").send(get(f"http://a.test:{port}/", *headers))

    assert {name.lower() for name, _ in origin.requests[0][2]} == {"host", "connection", "x-kept"}
    assert dict(origin.requests[0][2])["Connection"] == "close"
    assert "X-Served: yes" in answer
    assert "Keep-Alive" not in answer


@pytest.mark.parametrize(
    "request_of",
    [
        "GET http://{a}/ HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST http://{a}/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "POST http://{a}/ HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc",
        "POST http://{a}/ HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\nabc",
        "POST http://{a}/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST http://{a}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "POST http://{a}/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST http://{a}/ HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "GET http://{a}/ HTTP/1.1\r\nX: a\r\n folded: b\r\n\r\n",
        "GET http://{a}/ HTTP/1.1\r\nX: a\nHost: evil.test\r\n\r\n",
        "GET http://{a}/ HTTP/1.1\r\nX: a\rHost: evil.test\r\n\r\n",
        "GET http://{a}/ HTTP/1.1\r\nX: a\0b\r\n\r\n",
        "GET http://{a}/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nHost: {a}\r\n\r\n",
        "GET http://{a}/ HTTP/1.1\r\nHost: {a}@evil.test\r\n\r\n",
        "GET http://user:pass@{a}/ HTTP/1.1\r\n\r\n",
        "GET http://{a}\\@evil.test/ HTTP/1.1\r\n\r\n",
        "GET http://{a}/ HTTP/2.0\r\n\r\n",
        "GET  http://{a}/ HTTP/1.1\r\n\r\n",
        "GET http://{a}/ x HTTP/1.1\r\n\r\n",
        "GET /local HTTP/1.1\r\nHost: {a}\r\n\r\n",
        "GET https://{a}/ HTTP/1.1\r\n\r\n",
        "TRACE http://{a}/ HTTP/1.1\r\n\r\n",
        "CONNECT a.test HTTP/1.1\r\n\r\n",
        "CONNECT http://{a}/ HTTP/1.1\r\n\r\n",
        "CONNECT {a} HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
        "CONNECT {a} HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "GET http://{a}/ HTTP/1.1\r\nX: " + "y" * 40_000 + "\r\n\r\n",
        "GET http://{a}/ HTTP/1.1\r\n" + "X: y\r\n" * 300 + "\r\n",
    ],
)
async def test_request_that_two_programs_might_read_differently_is_refused(
    start: Any, origin: Any, request_of: str
) -> None:
    proxy = start(f"a.test:{origin.server_port}")

    answer = await proxy.send(request_of.replace("{a}", f"a.test:{origin.server_port}"))

    assert answer.startswith("HTTP/1.1 400 Bad Request\r\n")
    assert answer.count("HTTP/1.1") == 1
    assert origin.requests == []
    assert proxy.decisions == [("deny", "request-invalid")]


async def test_second_request_behind_the_first_is_never_seen(start: Any, origin: Any) -> None:
    a = f"a.test:{origin.server_port}"
    behind = get(f"http://{a}/second", "Host: evil.test")

    answer = await start(a).send(get(f"http://{a}/first") + behind)

    assert answer.count("HTTP/1.1 200") == 1
    assert [path for _, path, _, _ in origin.requests] == ["/first"]


async def test_body_arrives_as_it_was_sent(start: Any, origin: Any) -> None:
    a = f"a.test:{origin.server_port}"
    proxy = start(a)
    whole = f"POST http://{a}/ HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nabcdGET /smuggled"
    chunks = (
        f"PUT http://{a}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\nX-Trailer: 1\r\n\r\n"
    )

    first, second = await proxy.send(whole), await proxy.send(chunks)

    assert first.startswith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200")
    assert second.startswith("HTTP/1.1 200")
    assert [(method, body) for method, _, _, body in origin.requests] == [("POST", b"abcd"), ("PUT", b"abcd")]
    assert "x-trailer" not in {name.lower() for name, _ in origin.requests[1][2]}


@pytest.mark.parametrize(
    "chunks", ["3\r\nabcd\r\n", "0x3\r\nabc\r\n", "3;ext=1\r\nabc\r\n", "-1\r\n", "f" * 100, "3\nabc"]
)
async def test_chunk_that_does_not_hold_what_it_says_ends_the_request(start: Any, origin: Any, chunks: str) -> None:
    a = f"a.test:{origin.server_port}"

    answer = await start(a).send(f"POST http://{a}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")

    assert answer.startswith("HTTP/1.1 400")
    assert origin.requests == []


async def test_answer_without_a_length_is_whole_and_known_to_be(start: Any, origin: Any) -> None:
    a = f"a.test:{origin.server_port}"
    proxy = start(a)

    new = await proxy.send(get(f"http://{a}/long"))
    old = await proxy.send(f"GET http://{a}/long HTTP/1.0\r\n\r\n")

    assert new.endswith("\r\n0\r\n\r\n")
    assert "Transfer-Encoding: chunked" in new
    assert old.endswith("\r\n\r\npart1part2")


async def test_host_that_does_not_answer_is_said(start: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    proxy = start(f"a.test:{port}")

    for request in (get(f"http://a.test:{port}/"), get(f"a.test:{port}", method="CONNECT")):
        answer = await proxy.send(request)
        assert answer.startswith("HTTP/1.1 502 Bad Gateway")
        assert f"a.test:{port}" in answer


async def test_whoever_is_too_many_waits_until_another_has_ended(start: Any, origin: Any) -> None:
    a = f"a.test:{origin.server_port}"
    proxy = start(a, max_connections=1)
    answers: list[str] = []

    async def ask() -> None:
        answers.append(await proxy.send(get(f"http://{a}/")))

    async with anyio.create_task_group() as group, await anyio.connect_tcp("127.0.0.1", proxy.port) as held:
        await held.send(b"GET ")
        group.start_soon(ask)
        await held.send(b"x\r\n\r\n")
        assert (await held.receive()).startswith(b"HTTP/1.1 400")
        assert origin.requests == []  # it is still held
    assert answers[0].startswith("HTTP/1.1 200")


async def test_hundreds_of_connections_at_once_do_not_end_the_proxy(start: Any, origin: Any) -> None:
    a = f"a.test:{origin.server_port}"
    proxy = start(a)
    sockets = [socket.socket() for _ in range(200)]
    for one in sockets:
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", proxy.port))
    for one in sockets:
        one.close()

    assert (await proxy.send(get(f"http://{a}/"))).startswith("HTTP/1.1 200")


async def test_connection_on_which_nothing_moves_is_ended(start: Any, origin: Any) -> None:
    proxy = start(f"a.test:{origin.server_port}", idle_s=0.1)

    assert (await proxy.send("GET http://")).startswith("HTTP/1.1 408")
    assert (await proxy.send(get(f"a.test:{origin.server_port}", method="CONNECT"))).startswith("HTTP/1.1 200")


def test_program_that_asks_for_endless_hosts_is_cut_off_and_does_not_fill_the_log() -> None:
    records: list[tuple[str, ...]] = []
    access = HostAccess(("*",), OPEN, lambda *one: records.append(one))
    for number in range(3000):
        access.note(f"h{number}.test:443", "deny", "not-granted")

    with pytest.raises(HostDenied) as caught:
        access.admit(read_url("https://a.test/"))

    assert caught.value.rule == "too-many-hosts"
    assert len(records) == 1001
    assert records[-1] == ("url", "all further hosts", "deny", "too-many-hosts")


def test_programs_are_told_where_the_proxy_is() -> None:
    told = proxy_env(8123)

    assert {told[name] for name in ("http_proxy", "HTTPS_PROXY", "all_proxy")} == {"http://127.0.0.1:8123"}
    assert told["no_proxy"] == told["NO_PROXY"] == ""


PIECES = [b" ", b"\r\n", b"\n", b"\r", b"Host: a.test", b"Host: evil.test", b"Content-Length: 5", b"X-A", b":", b"\t",
          b"\0", b"Transfer-Encoding: chunked", b"Connection: x-a", b"\xff"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=9))
def test_any_headers_are_understood_in_one_way_or_refused(pieces: list[bytes]) -> None:
    headers = b"\r\n".join([b"GET http://a.test/ HTTP/1.1", b"X-First: 1", b"".join(pieces) or b"X-A: 2"])
    try:
        request = read_request(headers)
    except BadRequest:
        return
    written = [line.partition(b":")[0] for line in headers.split(b"\r\n")[1:]]
    assert b"\r\nHost: evil" not in headers
    assert written.count(b"Content-Length") + written.count(b"Transfer-Encoding") < 2
    assert not any(byte in name + value for name, value in request.headers for byte in b"\r\n\0")
    names = {name.lower() for name, _ in request.headers}
    assert names.isdisjoint({b"host", b"content-length", b"transfer-encoding", b"connection"})
