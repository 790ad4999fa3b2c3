"""The operations over HTTP: requests of path, query and body; answers, streams of events, and what goes wrong."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx2
import pytest

from clawft.config.serve import LimitSettings, ServeSettings
from clawft.server import event_stream as sse
from clawft.server.http import exchange as visit
from clawft.server.protocol.operations import MESSAGES
from clawft.server.protocol.subscriptions import SkillsChanged
from clawft.server.tokens import ServeTokens
from serve_thread import ServedDaemon, serve_here, stop
from serve_world import ServeWorld

_ASKS: list[dict[str, Any]] = [
    {"tool_calls": [{"name": "exec_shell", "arguments": {"command": "touch made"}}]},
    {"text": "It was asked."},
]
EVENTS = {"Accept": "text/event-stream"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDaemon]:
    """A daemon of all tests here that change nothing."""
    world = ServeWorld(tmp_path_factory.mktemp("http"))
    world.add_skill("tides", description="Tells when the tide is high.")
    world.add_skill("stranger", strangers=True)
    with serve_here(world) as here:
        yield here


def read_events(answer: httpx2.Response) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each event: its id, its name and what it says."""
    found: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            found[name] = value
        elif "data" in found:
            yield found.get("id", ""), found["event"], json.loads(found["data"])
            found = {}


def test_a_request_is_made_of_path_and_query(served: ServedDaemon) -> None:
    with served.client() as client:
        listed = client.get("/api/v1/skills").json()
        assert listed["type"] == "skills_list"
        assert {"tides", "stranger"} <= {one["name"] for one in listed["skills"]}
        untrusted = client.get("/api/v1/skills", params={"state": "untrusted", "id": "7"}).json()
        assert ([one["name"] for one in untrusted["skills"]], untrusted["id"]) == (["stranger"], "7")
        assert client.get("/api/v1/skills/tides").json()["skill"]["summary"]["name"] == "tides"
        found = client.get("/api/v1/search", params={"query": "high tide", "limit": "1"}).json()
        assert [one["name"] for one in found["results"]] == ["tides"]
        assert client.head("/api/v1/skills").headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/v1/skills?state=odd", None, 400, "request-invalid"),
        ("GET", "/api/v1/skills?stat=ready", None, 400, "request-invalid"),
        ("GET", "/api/v1/skills?state=ready&state=ready", None, 400, "request-invalid"),
        ("GET", "/api/v1/search?query=a&limit=many", None, 400, "request-invalid"),
        ("GET", "/api/v1/search", None, 400, "request-invalid"),
        ("GET", "/api/v1/skills/nothing", None, 404, "skill-not-found"),
        ("GET", "/api/v1/nothing", None, 404, "not-found"),
        ("GET", "/api/v1/events?topics=odd", None, 400, "request-invalid"),
        ("PUT", "/api/v1/skills", None, 405, "method-wrong"),
        ("POST", "/api/v1/events", None, 405, "method-wrong"),
        ("POST", "/api/v1/chat", b"{", 400, "request-invalid"),
        ("POST", "/api/v1/chat", b"[]", 400, "request-invalid"),
        ("POST", "/api/v1/chat", b"[" * 100_000, 400, "request-invalid"),
        ("POST", "/api/v1/chat", b'{"text": 7}', 400, "request-invalid"),
        ("POST", "/api/v1/chat", b'{"text": "a", "more": 1}', 400, "request-invalid"),
        ("POST", "/api/v1/chat", b'{"text": "\xff"}', 400, "request-invalid"),
        ("POST", "/api/v1/chat?text=a", b"", 400, "request-invalid"),
        ("POST", "/api/v1/skills/tides/execute", b'{"name": "other"}', 400, "request-invalid"),
        ("POST", "/api/v1/skills/nothing/execute", b"{}", 404, "skill-not-found"),
        ("POST", "/api/v1/skills/tides/approve", b'{"digest": "x"}', 409, "approval-needless"),
        ("POST", "/api/v1/skills/stranger/approve", b'{"digest": "x"}', 409, "approval-changed"),
        ("POST", "/api/v1/questions/none", b'{"answer": "once"}', 404, "question-not-found"),
        ("POST", "/api/v1/executions/none/cancel", b"", 404, "execution-not-found"),
    ],
)
def test_what_is_wrong_is_said_with_a_code_and_a_status(
    served: ServedDaemon, method: str, path: str, body: bytes | None, status: int, code: str
) -> None:
    headers = {"Content-Type": "application/json"} if body else {}
    with served.client() as client:
        answer = client.request(method, path, content=body, headers=headers)
    document = answer.json()
    assert (answer.status_code, document["type"], document["error"]["code"]) == (status, "error", code)
    assert document["error"]["message"]
    if status == 405:
        assert set(answer.headers["allow"].split(", ")) == ({"GET"} if "events" in path else {"GET", "HEAD"})


def test_a_token_may_do_what_its_scopes_say(served: ServedDaemon) -> None:
    reader = served.token_for("reader", "read")
    with served.client(reader) as client:
        assert client.get("/api/v1/status").json()["you"] == "reader"
        for method, path in (("POST", "/api/v1/chat"), ("GET", "/api/v1/questions")):
            answer = client.request(method, path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope-missing"), path
        refused = client.get("/api/v1/events", params={"topics": "skills,approvals"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "scope-missing")
        assert client.post("/api/v1/scan", json={"path": "/etc"}).status_code == 403
        assert client.get("/metrics").status_code == 200
    with served.client(served.token_for("runner", "run")) as client:
        assert client.get("/metrics").status_code == 403
        assert client.post("/api/v1/chat", json={"text": "hello"}).json()["status"] == "done"


def test_a_turn_is_answered_whole_or_as_it_happens(served: ServedDaemon) -> None:
    with served.client() as client:
        whole = client.post("/api/v1/skills/tides/execute", json={"arguments": "today", "id": "a"}).json()
        assert (whole["type"], whole["id"], whole["status"]) == ("skill_result", "a", "done")
        with client.stream("POST", "/api/v1/chat", json={"text": "hello", "id": "b"}, headers=EVENTS) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            told = [*read_events(answer)]
    *events, (number, name, result) = told
    assert [(one, kind) for one, kind, _ in events] == [(str(count), "event") for count in range(1, len(events) + 1)]
    assert (number, name, result["status"], result["events"]) == ("", "turn_result", "done", len(events))
    assert {one["id"] for _, _, one in told} == {"b"}
    assert "".join(one["event"].get("text", "") for _, _, one in events if one["event"]["event"] == "TextDelta")


def test_what_goes_wrong_before_a_stream_begins_has_its_status(served: ServedDaemon) -> None:
    with served.client() as client:
        answer = client.post("/api/v1/skills/nothing/execute", json={}, headers=EVENTS)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "skill-not-found")


def test_a_question_comes_with_the_stream_and_is_answered_beside_it(world: ServeWorld) -> None:
    world.config = f'mode = "ask"\n{world.config}'
    world.say(_ASKS)
    with serve_here(world) as served, served.client() as client, served.client() as other:
        with client.stream("POST", "/api/v1/chat", json={"text": "do it"}, headers=EVENTS) as answer:
            told = {}
            for _, name, one in read_events(answer):
                told[name] = one
                if name == "question_asked":
                    asked = one["question"]["question"]
                    assert [one["question"] for one in other.get("/api/v1/questions").json()["questions"]] == [asked]
                    said = other.post(f"/api/v1/questions/{asked}", json={"answer": "once"})
                    assert said.json()["answer"] == "once"
        assert told["question_closed"]["answer"] == "once"
        assert told["turn_result"]["text"] == "It was asked."
        assert (world.project / "made").exists()


def test_without_a_stream_nobody_is_asked(world: ServeWorld) -> None:
    world.config = f'mode = "ask"\n{world.config}'
    world.say(_ASKS)
    with serve_here(world) as served, served.client() as client:
        assert client.post("/api/v1/chat", json={"text": "do it"}).json()["refused"] == 1
        assert not (world.project / "made").exists()


def test_whoever_subscribes_is_told_until_they_go(world: ServeWorld) -> None:
    with serve_here(world) as served, served.client() as client:
        with client.stream("GET", "/api/v1/events", params={"topics": "skills"}) as answer:
            events = read_events(answer)
            assert next(events)[1:] == (
                "subscribed",
                {"type": "subscribed", "id": "", "topics": ["skills"], "generation": 1},
            )
            world.add_skill("fresh")
            _, name, change = next(events)
            assert (name, [one["name"] for one in change["added"]]) == ("skills_changed", ["fresh"])
            assert 'clawft_connections{kind="events"} 1.0' in metrics(served)
        until(lambda: not served.call(lambda: served.daemon.topics.has_listeners("skills")))
        assert 'clawft_connections{kind="events"} 0.0' in metrics(served)
        assert 'clawft_reloads_total{result="ok"} 1.0' in metrics(served)


def test_a_body_that_never_comes_ends_a_stream_and_is_no_error_of_the_daemon(
    served: ServedDaemon, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(visit, "BODY_S", 0.5)
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {served.token}\r\nContent-Length: 9\r\n\r\n"
    with closing(socket.create_connection(("127.0.0.1", served.port), 10)) as peer:
        peer.sendall(f"GET /api/v1/events?topics=skills HTTP/1.1\r\n{head}".encode())
        got = b""
        while chunk := peer.recv(65_536):
            got += chunk
    assert b"event: subscribed" in got
    assert got.endswith(b"\r\n0\r\n\r\n")
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


def until(happened: Callable[[], bool]) -> None:
    gone = threading.Event()
    for _ in range(1_000):
        if happened():
            return
        gone.wait(0.01)
    raise AssertionError("it did not happen")


def metrics(served: ServedDaemon) -> str:
    with served.client() as client:
        return client.get("/metrics").text


def test_a_client_that_goes_has_its_work_ended(world: ServeWorld) -> None:
    world.say([{"text": "late", "delay_ms": 60_000}])
    with serve_here(world) as served, served.client() as client:
        with client.stream("POST", "/api/v1/chat", json={"text": "hello"}, headers=EVENTS) as answer:
            events = read_events(answer)
            next(events)
            assert len(client_entries(served)) == 1
        until(lambda: not client_entries(served))


def client_entries(served: ServedDaemon) -> list[Any]:
    with served.client() as client:
        found: list[Any] = client.get("/api/v1/executions").json()["executions"]
        return found


def publish(served: ServedDaemon, change: SkillsChanged) -> None:
    def tell() -> None:
        served.daemon.topics.publish("skills", change)

    served.call(tell)


def test_a_token_that_went_is_told_nothing_more(world: ServeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "RECHECK_S", 0.0)
    with serve_here(world) as served, served.client(served.token_for("ci", "read")) as client:
        with client.stream("GET", "/api/v1/events", params={"topics": "skills"}) as answer:
            events = read_events(answer)
            next(events)
            ServeTokens(str(world.user_dir)).remove("ci")
            publish(served, SkillsChanged(generation=1, at="secret"))
            assert [(name, one["error"]["code"]) for _, name, one in events] == [("error", "token-wrong")]
        assert client.head("/api/v1/events").status_code == 401


def test_one_that_does_not_read_is_let_go_with_a_reason(world: ServeWorld) -> None:
    settings = ServeSettings(drain_s=1.0, limits=LimitSettings(unread_kb=64))
    loud = SkillsChanged(generation=1, at="x" * 60_000)
    with serve_here(world, settings) as served, closing(socket.socket()) as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        peer.settimeout(20)
        peer.connect(("127.0.0.1", served.port))
        head = f"Host: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.token}"
        peer.sendall(f"GET /api/v1/events?topics=skills HTTP/1.1\r\n{head}\r\n\r\n".encode())
        until(lambda: served.call(lambda: served.daemon.topics.has_listeners("skills")))

        def many(served: ServedDaemon) -> None:
            for _ in range(20):
                served.daemon.topics.publish("skills", loud)

        def shout() -> bool:
            served.call(lambda: many(served))
            return not served.call(lambda: served.daemon.topics.has_listeners("skills"))

        until(shout)
        got = b""
        while not got.endswith(b"\r\n0\r\n\r\n"):
            got += peer.recv(1 << 20)
        assert b"event: error\ndata: " in got
        assert b'"code":"slow-consumer"' in got
        assert 'clawft_slow_consumers_dropped_total{kind="events"} 1.0' in metrics(served)
        assert [one for _, one in served.log if one["event"] == "slow-consumer"]


def test_work_comes_to_its_end_when_the_daemon_does(world: ServeWorld) -> None:
    world.say([{"text": "late", "delay_ms": 600}])
    with serve_here(world, ServeSettings(drain_s=20)) as served, served.client() as client, served.client() as other:
        with (
            client.stream("POST", "/api/v1/chat", json={"text": "hello"}, headers=EVENTS) as answer,
            other.stream("GET", "/api/v1/events", params={"topics": "skills"}) as listening,
        ):
            events, told = read_events(answer), read_events(listening)
            next(events)
            next(told)
            stop(served)
            assert [*events][-1][2]["text"] == "late"
            assert [(name, one["error"]["code"]) for _, name, one in told] == [("error", "serve-stopping")]
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", served.port), 5)


def test_what_does_not_end_by_itself_is_told_that_the_daemon_does(world: ServeWorld) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    accept = {"Accept": "application/json, text/event-stream"}
    with serve_here(world) as served, served.client(headers=accept) as client:
        begun = client.post("/mcp", json=call)
        session = {"mcp-session-id": begun.headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}
        with client.stream("GET", "/mcp", headers=session) as listening:
            assert listening.status_code == 200  # before anything is told
            stop(served)
            assert [*listening.iter_lines()] == []


def test_work_that_takes_too_long_is_ended_with_the_daemon(world: ServeWorld) -> None:
    world.say([{"text": "late", "delay_ms": 60_000}])
    with (
        serve_here(world, ServeSettings(drain_s=0.2)) as served,
        served.client() as client,
        client.stream("POST", "/api/v1/chat", json={"text": "hello"}, headers=EVENTS) as answer,
    ):
        events = read_events(answer)
        next(events)
        stop(served)
        assert [*events][-1][2]["status"] == "cancelled"


def test_how_the_daemon_is_is_told_to_all_and_why_to_those_with_a_token(world: ServeWorld) -> None:
    with serve_here(world) as served, served.client("") as stranger, served.client() as client:
        assert stranger.get("/healthz").json()["ok"] is True
        (world.user_dir / "config.toml").write_text("[agents\n")
        until(lambda: "warning" in stranger.get("/healthz").json()["subsystems"]["skills"])
        assert stranger.get("/healthz").status_code == 200  # what was read before is served
        told = client.get("/healthz").json()["subsystems"]["skills"]
        assert told["problem"]["path"].endswith("config.toml")
        assert 'clawft_healthy{subsystem="skills"} 1.0' in metrics(served)
        assert 'clawft_reloads_total{result="failed"} 1.0' in metrics(served)


def test_every_message_has_a_published_schema(served: ServedDaemon) -> None:
    with served.client("") as client:
        for message in MESSAGES:
            document = client.get(f"/api/v1/schemas/{message}.v1.json").json()
            assert document["$id"] == f"{message}.v1.json"
        assert client.get("/api/v1/schemas/nothing.v1.json").status_code == 404
        assert client.get("/api/v1/schemas").json()["version"] == "v1"


def test_work_of_a_token_that_is_removed_ends(world: ServeWorld) -> None:
    world.say(
        [
            {"tool_calls": [{"name": "list_directory", "arguments": {"path": "."}}], "delay_ms": 400},
            {"text": "It is done.", "delay_ms": 60_000},
        ]
    )
    found: list[dict[str, Any]] = []
    with serve_here(world) as served, served.client(served.token_for("gone", "run")) as client:
        asked = threading.Thread(target=lambda: found.append(client.post("/api/v1/chat", json={"text": "go"}).json()))
        asked.start()
        until(lambda: bool(served.daemon.executions.entries))
        ServeTokens(str(world.user_dir)).remove("gone")
        asked.join(15)
        assert [one["status"] for one in found] == ["cancelled"]
