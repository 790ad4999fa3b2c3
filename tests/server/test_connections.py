"""Who gets in, from where, how much and how slowly; and what is written down of it."""

import http.client
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx2
import pytest
from websockets.sync.client import connect

from clawft.config.serve import LimitSettings, ServeSettings
from clawft.server.http import exchange as visit
from clawft.server.http.addresses import ServerNames
from clawft.server.http.server import HttpConnection
from serve_thread import ServedDaemon, serve_here
from serve_world import ServeWorld

PRIVATE = ("/api/v1/skills", "/api/v1/status", "/api/v1/events?topics=skills", "/metrics", "/mcp", "/api/v1/nothing")
APP = "https://app.example.com"
KEY = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + "A" * 22 + "=="


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDaemon]:
    """A daemon of all tests here that change nothing."""
    world = ServeWorld(tmp_path_factory.mktemp("door"))
    settings = ServeSettings(drain_s=1.0, origins=(APP,), limits=LimitSettings(message_kb=64))
    with serve_here(world, settings) as here:
        yield here


def upgrade(served: ServedDaemon, *headers: str, host: str = "", path: str = "/ws") -> int:
    """The status that a WebSocket gets."""
    lines = [f"Host: {host or f'127.0.0.1:{served.port}'}", KEY, *headers]
    with closing(socket.create_connection(("127.0.0.1", served.port), 10)) as peer:
        peer.sendall((f"GET {path} HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode())
        return int(peer.recv(65_536).split()[1])


def find_logged(served: ServedDaemon, field: str, value: str) -> tuple[str, Mapping[str, object]]:
    """A line of the log, which is written after the answer."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        for one in tuple(served.log):
            if one[1].get(field) == value:
                return one
        time.sleep(0.005)
    raise AssertionError(served.log)


def test_without_a_token_nothing_of_this_machine_is_told(served: ServedDaemon) -> None:
    with served.client("") as client:
        for path in PRIVATE:
            for method in ("GET", "POST", "DELETE", "OPTIONS"):
                answer = client.request(method, path)
                assert (answer.status_code, answer.json()["error"]["code"]) == (401, "token-missing"), (method, path)
                assert answer.headers["www-authenticate"] == "Bearer"
        for path in ("/", "/healthz", "/api/v1/openapi.json", "/api/v1/schemas/chat.v1.json"):
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert served.token not in answer.text
            assert "set-cookie" not in answer.headers
    assert upgrade(served) == 401


def test_a_wrong_token_is_refused_even_where_none_is_needed(served: ServedDaemon) -> None:
    wrong = [
        f"Bearer {served.token[:-1]}",
        f"Bearer {served.token}x",
        "Bearer",
        "Basic YTpi",
        "Bearer \xff",
        served.token,
    ]
    with served.client("") as client:
        for path in ("/api/v1/skills", "/healthz", "/"):
            for header in wrong:
                answer = client.get(path, headers=[(b"authorization", header.encode("latin-1"))])
                assert (answer.status_code, answer.json()["error"]["code"]) == (401, "token-wrong"), header
        assert client.get(f"/api/v1/skills?token={served.token}").status_code == 401
        assert client.get("/api/v1/skills", headers={"Cookie": f"token={served.token}"}).status_code == 401
        twice = [("Authorization", f"Bearer {served.token}"), ("Authorization", "Bearer x")]
        assert client.get("/api/v1/skills", headers=twice).status_code == 400
    assert upgrade(served, "Sec-WebSocket-Protocol: clawft.v1, clawft.bearer.wft_wrong") == 401
    assert upgrade(served, f"Sec-WebSocket-Protocol: clawft.v1, clawft.bearer.{served.token}") == 101


def test_a_page_that_comes_by_another_name_is_refused(served: ServedDaemon) -> None:
    with served.client() as client:
        others = ("evil.example", f"127.0.0.1.evil.example:{served.port}", "", "localhost.:80", "10.0.0.1", "[::2]")
        for name in (*others, "[::1].evil.example", "localhost:evil.example", "evil@localhost", "["):
            answer = client.get("/api/v1/skills", headers={"Host": name})
            assert (answer.status_code, answer.json()["error"]["code"]) == (421, "host-refused"), name
            assert upgrade(served, f"Authorization: Bearer {served.token}", host=name or " ") == 421
        for name in (f"LOCALHOST:{served.port}", "[::1]"):
            assert client.get("/api/v1/skills", headers={"Host": name}).status_code == 200, name


def test_a_strangers_page_is_refused_whatever_it_brings(served: ServedDaemon) -> None:
    own = f"http://127.0.0.1:{served.port}"
    wrong = (
        "https://evil.example",
        "null",
        own.replace("http:", "https:"),
        f"{own}0",
        f"{own}.evil.example",
        f"{APP}.x",
    )
    with served.client() as client:
        for origin in wrong:
            for method, path in (("GET", "/api/v1/skills"), ("POST", "/api/v1/chat"), ("OPTIONS", "/"), ("GET", "/")):
                answer = client.request(method, path, headers={"Origin": origin})
                assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin-refused"), origin
                assert not [name for name in answer.headers if name.startswith("access-control")]
            assert upgrade(served, f"Authorization: Bearer {served.token}", f"Origin: {origin}") == 403
        mine = client.get("/api/v1/skills", headers={"Origin": own})
        assert mine.status_code == 200
        assert "access-control-allow-origin" not in mine.headers
    assert upgrade(served, f"Authorization: Bearer {served.token}", f"Origin: {own}") == 101


def test_pages_of_an_origin_that_the_user_named_may_use_it(served: ServedDaemon) -> None:
    with served.client("") as client:
        asks = {
            "Origin": APP,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization",
        }
        allowed = client.options("/api/v1/chat", headers=asks)
        assert allowed.status_code == 204
        assert allowed.headers["access-control-allow-origin"] == APP
        assert "authorization" in allowed.headers["access-control-allow-headers"]
        assert "access-control-allow-credentials" not in allowed.headers
        assert client.get("/api/v1/skills", headers={"Origin": APP}).status_code == 401
    with served.client() as client:
        answer = client.get("/api/v1/skills", headers={"Origin": APP})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, APP)
        assert "origin" in answer.headers["vary"]


def test_a_form_of_another_page_has_nothing_to_ride_on(served: ServedDaemon) -> None:
    with served.client("") as stranger, served.client() as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            headers = {"Content-Type": kind}
            assert stranger.post("/api/v1/chat", content=b'{"text":"hi"}', headers=headers).status_code == 401
            answer = client.post("/api/v1/chat", content=b'{"text":"hi"}', headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (415, "not-json"), kind


def test_answers_are_nothing_that_a_browser_would_run(served: ServedDaemon) -> None:
    with served.client() as client:
        for path in ("/api/v1/skills", "/api/v1/skills/%3Cscript%3E", "/metrics", "/nothing"):
            answer = client.get(path)
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in answer.headers["content-security-policy"]
            assert "html" not in answer.headers["content-type"]


def test_a_body_that_is_too_large_is_not_read(served: ServedDaemon) -> None:
    large = b'{"text": "' + b"x" * (65 << 10) + b'"}'
    json = {"Content-Type": "application/json"}
    with served.client() as client:
        announced = client.post("/api/v1/chat", content=large, headers=json)
        assert (announced.status_code, announced.json()["error"]["code"]) == (413, "request-too-large")
        assert client.post("/api/v1/chat", content=iter([large]), headers=json).status_code == 413
    with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)) as peer:
        peer.putrequest("POST", "/api/v1/chat")
        peer.putheader("Authorization", f"Bearer {served.token}")
        peer.putheader("Content-Length", str(1 << 40))
        peer.endheaders()
        assert peer.getresponse().status == 413


def test_a_client_that_speaks_too_slowly_is_not_waited_for(
    served: ServedDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HttpConnection, "head_s", 0.3)
    monkeypatch.setattr(visit, "BODY_S", 0.3)
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {served.token}\r\n"
    for begun, answer in (
        ("", b""),
        ("GET /api/v1/skills HTTP/1.1\r\nHost: 127.", b""),
        (f"GET /ws HTTP/1.1\r\n{head}{KEY}\r\n", b""),
        (f'POST /api/v1/chat HTTP/1.1\r\n{head}Content-Length: 90\r\n\r\n{{"text"', b"HTTP/1.1 408"),
    ):
        began = time.monotonic()
        with closing(socket.create_connection(("127.0.0.1", served.port), 10)) as peer:
            peer.sendall(begun.encode())
            got = b""
            with suppress(ConnectionResetError):
                while chunk := peer.recv(65_536):
                    got += chunk
        assert got.startswith(answer), got
        assert time.monotonic() - began < 8


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/skills/../../etc/passwd",
        "/api/v1/skills/..%2f..%2fetc%2fpasswd",
        "/api/v1/skills/%2e%2e%2fstatus",
        "/api/v1/skills/a%00b",
        "/api/v1/skills/%ff%fe",
        "/api/v1/skills/" + "a" * 3_000,
        "/api/v1/skills//review",
        "//api/v1/skills/x",
        "/console/../../../etc/passwd",
        "/console/..%2f..%2ftokens.py",
        "/console/%2e%2e/door.py",
        "/console//etc/passwd",
        "/api/v1/schemas/..%2fopenapi.json",
        "/api/v1/schemas/%00",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/API/V1/SKILLS",
    ],
)
def test_no_path_leads_where_none_should(served: ServedDaemon, path: str) -> None:
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {served.token}\r\nConnection: close"
    with closing(socket.create_connection(("127.0.0.1", served.port), 10)) as peer:
        peer.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n\r\n".encode("latin-1"))
        got = b""
        while chunk := peer.recv(65_536):
            got += chunk
    assert int(got.split()[1]) in (400, 404), got[:200]
    assert b"root:" not in got
    assert b'"type":"error"' in got


def test_what_is_no_request_gets_an_answer_and_the_daemon_goes_on(served: ServedDaemon) -> None:
    twice = b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"
    smuggled = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x"
    for sent in (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", twice, smuggled, b"GET /" + b"a" * 80_000):
        with closing(socket.create_connection(("127.0.0.1", served.port), 10)) as peer:
            peer.sendall(sent)
            assert peer.recv(65_536).startswith(b"HTTP/1.1 4")
    with served.client("") as client:
        assert client.get("/healthz").status_code == 200


def test_of_what_says_twice_where_it_ends_nothing_that_follows_is_read(served: ServedDaemon) -> None:
    both = "Content-Length: 4\r\nTransfer-Encoding: chunked"
    first = f"POST /api/v1/nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n{both}\r\n\r\n0\r\n\r\n"
    with closing(socket.create_connection(("127.0.0.1", served.port), 10)) as peer:
        peer.sendall(f"{first}GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        got = b""
        while chunk := peer.recv(65_536):
            got += chunk
    assert (got.count(b"HTTP/1.1 "), got[:12]) == (1, b"HTTP/1.1 401")


def test_a_websocket_that_is_refused_is_no_error_of_the_daemon(
    served: ServedDaemon, caplog: pytest.LogCaptureFixture
) -> None:
    assert upgrade(served) == 401
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {served.token}\r\n{KEY}\r\n\r\n"
    with closing(socket.create_connection(("127.0.0.1", served.port), 10)) as peer:
        peer.sendall(f"GET /ws HTTP/1.1\r\n{head}".encode())
        assert peer.recv(65_536).startswith(b"HTTP/1.1 101")
        peer.sendall(b"\x81\x82\0\0\0\0\xff\xfe")  # a text that is no UTF-8
        got = peer.recv(65_536)
        assert int.from_bytes(got[2:4], "big") == 1007
    assert not [one for one in caplog.records if one.levelname == "ERROR"]
    assert upgrade(served, f"Authorization: Bearer {served.token}", path="/nothing") == 404
    assert find_logged(served, "path", "/nothing")[1]["status"] == 404


def test_who_asks_too_much_is_told_when_to_come_back(world: ServeWorld) -> None:
    limits = LimitSettings(reads_per_minute=3, writes_per_minute=1)
    with serve_here(world, ServeSettings(drain_s=1.0, limits=limits)) as served:
        with served.client("") as guessing:
            answers = [guessing.get("/api/v1/skills", headers={"Authorization": "Bearer x"}) for _ in range(4)]
            assert [one.status_code for one in answers] == [401, 401, 401, 429]
            assert 0 < int(answers[-1].headers["retry-after"]) <= 20
            assert answers[-1].json()["error"]["code"] == "too-many-requests"
            assert guessing.get("/healthz").status_code == 429
        with served.client() as client, served.client(served.token_for("ci", "read")) as other:
            assert [client.get("/api/v1/status").status_code for _ in range(4)] == [200, 200, 200, 429]
            assert other.get("/api/v1/status").status_code == 200


def test_what_is_logged_holds_no_secret_and_stays_on_its_line(served: ServedDaemon) -> None:
    secret = served.token_for("logged", "read")
    with served.client(secret) as client:
        client.get("/api/v1/search", params={"query": "hush-hush"})
    text, about = find_logged(served, "owner", "logged")
    assert text.startswith("127.0.0.1 logged GET /api/v1/search 200 ")
    assert (about["event"], about["status"]) == ("request", 200)
    with served.client("") as client:
        assert client.get(f"/{'x' * 20_000}").status_code == 404
    assert len(find_logged(served, "path", f"/{'x' * 499}")[0]) < 600
    everything = repr(served.log)
    assert secret not in everything
    assert served.token not in everything
    assert "hush-hush" not in everything


def test_it_goes_by_the_names_that_lead_to_it() -> None:
    local = ServerNames.of(ServeSettings(public_url="https://skills.example.com/x"))
    assert local.has_host("skills.example.com")
    assert not local.has_host("192.0.2.7")
    assert local.is_own("https://skills.example.com", "http://127.0.0.1:8717")
    everywhere = ServerNames.of(ServeSettings(host="0.0.0.0"))
    assert everywhere.has_host("192.0.2.7")
    assert everywhere.has_host("[2001:db8::1]")
    assert not everywhere.has_host("evil.example")
    one = ServerNames.of(ServeSettings(host="192.0.2.7"))
    assert one.has_host("192.0.2.7")
    assert not one.has_host("localhost")


def test_it_speaks_tls_of_its_own(world: ServeWorld, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(["openssl", "req", "-x509", "-nodes", *words, *names], check=True, capture_output=True, timeout=30)
    settings = ServeSettings(drain_s=1.0, tls_cert=str(cert), tls_key=str(key))
    trusted = ssl.create_default_context(cafile=str(cert))
    with serve_here(world, settings) as served, served.client(verify=trusted) as client:
        assert client.get("/api/v1/status").status_code == 200
        assert client.get("/api/v1/status", headers={"Origin": served.url}).status_code == 200
        assert client.get("/api/v1/status", headers={"Origin": served.url.replace("https", "http")}).status_code == 403
        with closing(socket.create_connection(("127.0.0.1", served.port), 10)) as peer:
            peer.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            with suppress(ConnectionResetError):
                assert not peer.recv(100).startswith(b"HTTP/1.1 2")


def test_two_thousand_connections_are_held_off_and_those_inside_are_answered(world: ServeWorld) -> None:
    world.config += "[serve.limits]\nconnections = 200\n"
    with (
        world.serve() as daemon,
        httpx2.Client(base_url=daemon.url, trust_env=False, verify=False, timeout=20) as inside,
    ):
        inside.headers["Authorization"] = f"Bearer {daemon.token}"
        assert inside.get("/api/v1/status").status_code == 200
        with ExitStack() as stack:
            port = int(daemon.url.rpartition(":")[2])
            many = []
            for _ in range(2_000):
                with suppress(OSError):
                    peer = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 20)))
                    peer.settimeout(20)
                    many.append(peer)
            request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            assert inside.get("/api/v1/status").status_code == 200  # as before
            answers = []
            for peer in many:
                try:
                    peer.sendall(request)
                    answers.append(peer.recv(12))
                except OSError:
                    answers.append(b"")
        assert len(many) > 1_000
        assert set(answers) <= {b"HTTP/1.1 200", b""}  # older ones, that had said nothing, made room for newer ones
        assert answers.count(b"") > 1_000
        assert answers[-1] == b"HTTP/1.1 200"
        assert inside.get("/api/v1/status").status_code == 200
        assert not daemon.errors


@pytest.mark.parametrize("first", [b"", b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"])
def test_silent_connections_without_a_token_keep_nobody_out_who_has_one(world: ServeWorld, first: bytes) -> None:
    """All of this machine share one address. Some say nothing, some stop halfway, some stay after an answer."""
    world.config += "[serve.limits]\nconnections = 200\n"
    with world.serve() as daemon, ExitStack() as stack:
        port = int(daemon.url.rpartition(":")[2])
        inside = stack.enter_context(httpx2.Client(base_url=daemon.url, trust_env=False, verify=False, timeout=20))
        inside.headers["Authorization"] = f"Bearer {daemon.token}"
        assert inside.get("/api/v1/status").status_code == 200
        for _ in range(500):
            peer = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 20)))
            with suppress(OSError):
                peer.sendall(first)
        for _ in range(20):
            with httpx2.Client(base_url=daemon.url, trust_env=False, verify=False, timeout=30) as fresh:
                fresh.headers["Authorization"] = f"Bearer {daemon.token}"
                assert fresh.get("/api/v1/status").status_code == 200
        bearer = {"Authorization": f"Bearer {daemon.token}"}
        with connect(f"ws://127.0.0.1:{port}/ws", additional_headers=bearer, proxy=None, open_timeout=30):
            assert inside.get("/api/v1/status").status_code == 200  # on the connection from before
        assert not daemon.errors
