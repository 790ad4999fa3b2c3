"""Who gets in, how much and how slowly; and what is written down of it."""

import select
import socket
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from clawft.config.registries import HubSettings, QuotaSettings
from clawft.server.http import exchange as visit
from clawft.server.http.server import HttpConnection
from hub_world import ServedHub, serve_hub


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_page_that_comes_by_another_name_is_refused(served_hub: ServedHub) -> None:
    with httpx2.Client(base_url=served_hub.url, trust_env=False, verify=False) as client:
        for name in ("evil.example", "127.0.0.1.evil.example:80", "", "localhost.:80"):
            assert client.get("/api/v1/skills", headers={"Host": name}).status_code == 421, name
        port = urlsplit(served_hub.url).port
        assert client.get("/api/v1/skills", headers={"Host": f"LOCALHOST:{port}"}).status_code == 200


def test_answers_are_nothing_a_browser_would_run_or_another_page_could_read(served_hub: ServedHub) -> None:
    served_hub.put("alice/tides", files={"page.html": "<script>alert(1)</script>"})
    with httpx2.Client(base_url=served_hub.url, trust_env=False, verify=False) as client:
        answer = client.get("/api/v1/skills/tides/file?path=page.html", headers={"Origin": "https://evil.example"})
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        asked = client.options("/api/v1/skills", headers={"Origin": "https://evil.example"})
        assert asked.status_code == 405
        for one in (answer, asked):
            assert not [name for name in one.headers if name.lower().startswith("access-control-")]
        whole, head = client.get("/api/v1/skills"), client.head("/api/v1/skills")
        assert head.content == b""
        assert head.headers["content-length"] == whole.headers["content-length"]


def test_a_wrong_token_is_refused_even_where_everybody_may_read(served_hub: ServedHub) -> None:
    with httpx2.Client(base_url=served_hub.url, trust_env=False, verify=False) as client:
        for header in ("Bearer clh_" + "x" * 43, "Bearer", "Basic YTpi", "Bearer \xff"):
            answer = client.get("/api/v1/skills", headers=[(b"authorization", header.encode("latin-1"))])
            assert answer.status_code == 401, header
            assert answer.text == "Unauthorized"
        assert client.get("/api/v1/skills", headers=bearer(served_hub.token("alice"))).status_code == 200


def test_a_hub_that_is_not_public_shows_nothing_without_a_token(tmp_path: Path) -> None:
    with (
        serve_hub(tmp_path, HubSettings(public_read=False)) as hub,
        httpx2.Client(base_url=hub.url, trust_env=False, verify=False) as client,
    ):
        hub.put("alice/tides")
        paths = (
            "/api/v1/skills",
            "/api/v1/search?q=tides",
            "/api/v1/download?slug=tides",
            "/.well-known/agent-skills/index.json",
            "/@alice/tides/.well-known/skills/tides/SKILL.md",
            "/api/search?q=tides",
            "/api/v1/openapi.json",
            "/",
            "/@alice",
            "/@alice/tides",
        )
        assert {client.get(path).status_code for path in paths} == {401}
        for path in ("/mcp", "/api/v1/skills/-/security-verdicts", "/api/cli/telemetry/install"):
            assert client.post(path, json={"items": [{"slug": "tides", "version": "1.0.0"}]}).status_code == 401
        assert client.post("/api/v1/skills/-/upload").status_code == 403
        assert client.get("/healthz").text == "ok"
        assert client.get("/.well-known/clawhub.json").status_code == 200
        token = hub.token("alice", "read")
        assert {client.get(path, headers=bearer(token)).status_code for path in paths} == {200}
        writer = hub.token("alice", "publish")
        assert client.get("/api/v1/skills", headers=bearer(writer)).status_code == 403
        assert client.get("/api/v1/whoami", headers=bearer(writer)).status_code == 200


def test_who_asks_too_much_is_told_when_to_come_back(tmp_path: Path) -> None:
    settings = HubSettings(quota=QuotaSettings(reads_per_minute=3, writes_per_minute=1))
    with serve_hub(tmp_path, settings) as hub, httpx2.Client(base_url=hub.url, trust_env=False, verify=False) as client:
        first = client.get("/api/v1/skills")
        assert (first.headers["ratelimit-limit"], first.headers["ratelimit-remaining"]) == ("3", "2")
        found = [client.get("/api/v1/skills").status_code for _ in range(3)]
        assert found == [200, 200, 429]
        told = client.get("/api/v1/skills")
        assert told.text == "Rate limit exceeded"
        assert 0 < int(told.headers["retry-after"]) <= 20
        assert told.headers["x-ratelimit-remaining"] == "0"
        assert client.get("/api/v1/skills", headers=bearer("clh_" + "x" * 43)).status_code == 429  # guessing counts
        assert client.get("/api/v1/skills", headers=bearer(hub.token("alice"))).status_code == 200
        assert client.get("/healthz").status_code == 200


def test_a_client_that_speaks_too_slowly_is_not_waited_for(
    served_hub: ServedHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HttpConnection, "head_s", 0.6)
    monkeypatch.setattr(visit, "BODY_S", 0.6)
    token = served_hub.token("alice")
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nContent-Length: 90"
    for begun, answer in (
        (b"", b""),  # says nothing at all
        (b"GET /api/v1/skills HTTP/1.1\r\nHost: 127.", b""),
        (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /he", b"HTTP/1.1 200"),  # the second one never comes
        (f'POST /api/v1/skills HTTP/1.1\r\n{head}\r\n\r\n{{"slug"'.encode(), b"HTTP/1.1 408"),
    ):
        with closing(socket.create_connection(("127.0.0.1", urlsplit(served_hub.url).port or 0), 60)) as peer:
            peer.sendall(begun)
            got = b""
            while chunk := peer.recv(65536):
                got += chunk
        assert got.startswith(answer), got


def test_a_client_that_takes_nothing_is_not_waited_for(served_hub: ServedHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpConnection, "stall_s", 0.2)
    size = 30 << 20
    served_hub.put("alice/tides", files={"large.bin": b"x" * size})
    with closing(socket.socket()) as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.settimeout(60)
        peer.connect(("127.0.0.1", urlsplit(served_hub.url).port or 0))
        peer.sendall(b"GET /api/v1/download?slug=tides HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert select.select([], [], [peer], 0.6) == ([], [], [])
        got = 0
        with suppress(ConnectionResetError):
            while chunk := peer.recv(1 << 20):
                got += len(chunk)
        assert got < size


def test_a_request_that_is_not_one_gets_an_answer_and_the_hub_goes_on(served_hub: ServedHub) -> None:
    twice = b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"
    for sent in (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", twice, b"GET /" + b"a" * 80_000):
        with closing(socket.create_connection(("127.0.0.1", urlsplit(served_hub.url).port or 0), 60)) as peer:
            peer.sendall(sent)
            assert peer.recv(65536).startswith(b"HTTP/1.1 4")
    assert httpx2.get(f"{served_hub.url}/healthz", trust_env=False, verify=False).text == "ok"


def test_what_is_logged_holds_no_secret(tmp_path: Path) -> None:
    lines: list[str] = []

    def log(text: str, about: Mapping[str, object]) -> None:
        lines.append(f"{text} {about}")

    with serve_hub(tmp_path, log=log) as hub, httpx2.Client(base_url=hub.url, trust_env=False, verify=False) as client:
        token = hub.token("alice")
        wanted = {"path": "a", "size": 1, "sha256": "0" * 64}
        ticket = client.post("/api/v1/skills/-/upload-url", json=wanted, headers=bearer(token)).json()["uploadTicket"]
        client.post(f"/api/v1/skills/-/upload?ticket={ticket}", content=b"x")
        client.get("/api/v1/whoami", headers=bearer("clh_" + "y" * 43))
    assert [line.split(" {")[0].rsplit(" ", 2)[0] for line in lines] == [
        "127.0.0.1 alice POST /api/v1/skills/-/upload-url 200",
        "127.0.0.1 - POST /api/v1/skills/-/upload 400",
        "127.0.0.1 - GET /api/v1/whoami 401",
    ]
    assert not [line for line in lines if token in line or ticket in line or "clh_" in line]


def test_the_skills_are_served_over_mcp(served_hub: ServedHub) -> None:
    served_hub.put("alice/tides")
    params = {"name": "skill-search", "arguments": {"query": "tides"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    answer = httpx2.post(f"{served_hub.url}/mcp", json=call, headers=headers, trust_env=False, verify=False)
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"]["structuredContent"]["results"][0]["reference"] == "@alice/tides"
    assert httpx2.get(f"{served_hub.url}/mcp", trust_env=False, verify=False).status_code == 405
