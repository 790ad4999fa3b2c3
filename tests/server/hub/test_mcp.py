"""The hub through MCP, with the SDK's client and with bare requests."""

import hashlib
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest
from hub_drafts import keep
from mcp.client import Client
from mcp_types import TextResourceContents

from clawft.config.registries import HubSettings
from clawft.server.hub import application
from clawft.server.hub.model import CheckedDraft, PublicationDraft
from hub_world import OPEN, ServedHub, serve_hub

pytestmark = pytest.mark.anyio
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


def _put(hub: ServedHub, name: str, says: str, files: dict[str, bytes] | None = None) -> None:
    """Publish `owner/slug` whose SKILL.md says another name."""
    owner, _, slug = name.partition("/")
    front = {"name": says, "description": f"Does {slug}", "metadata": {"level": 2}}
    text = f"---\nname: {says}\ndescription: Does {slug}\nmetadata:\n  level: 2\n---\nDo it.\n".encode()
    kept = keep(hub.store, {"SKILL.md": text, **(files or {})})
    whole = "".join(one.sha256 for one in kept)
    checked = CheckedDraft(
        digest=whole,
        fingerprint=whole,
        verdict="clean",
        summary=f"Does {slug}",
        front=msgspec.json.encode(front).decode(),
    )
    hub.store.publish(PublicationDraft(owner, slug, slug.title(), "1.0.0", "", kept), checked, owner)


def _ask(hub: ServedHub, method: str, params: dict[str, Any] | None = None, token: str = "") -> Any:
    headers = {**HEADERS, **({"Authorization": f"Bearer {token}"} if token else {})}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    answer = httpx2.post(f"{hub.url}/mcp", json=body, headers=headers, trust_env=False, verify=False)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_skills_are_listed_with_every_file_its_digest_and_size(served_hub: ServedHub) -> None:
    _put(served_hub, "ann/pdf-tools", "pdf", {"templates/a b.md": b"text", "logo.png": b"\x89PNG\0"})
    _put(served_hub, "ann/notes", "notes")
    _put(served_hub, "bob/odd-name", "Odd Name")  # no host would take it
    result = _ask(served_hub, "skills/list")["result"]
    assert (result["resultType"], result["ttlMs"] > 0, result["cacheScope"]) == ("complete", True, "public")
    notes, pdf = result["skills"]
    assert notes["uri"] == "skill://ann/notes/SKILL.md"
    assert pdf["uri"] == "skill://ann/pdf-tools/pdf/SKILL.md"
    assert pdf["frontmatter"] == {"name": "pdf", "description": "Does pdf-tools", "metadata": {"level": 2}}
    assert {one["uri"] for one in pdf["resources"]} == {
        f"skill://ann/pdf-tools/pdf/{path}" for path in ("SKILL.md", "templates/a%20b.md", "logo.png")
    }
    for one in pdf["resources"]:
        read = _ask(served_hub, "resources/read", {"uri": one["uri"]})["result"]["contents"][0]
        content = (
            read["text"].encode() if "text" in read else msgspec.json.decode(f'"{read["blob"]}"'.encode(), type=bytes)
        )
        assert (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}") == (one["size"], one["digest"])
    assert _ask(served_hub, "skills/get", {"uri": pdf["uri"]})["result"]["skill"] == pdf


def test_a_list_of_many_skills_comes_in_pages(served_hub: ServedHub) -> None:
    for number in range(53):
        _put(served_hub, f"ann/skill-{number}", f"skill-{number}")
    first = _ask(served_hub, "skills/list")["result"]
    second = _ask(served_hub, "skills/list", {"cursor": first["nextCursor"]})["result"]
    assert (len(first["skills"]), len(second["skills"])) == (50, 3)
    assert "nextCursor" not in second
    assert _ask(served_hub, "skills/list", {"cursor": "nonsense"})["error"]["code"] == -32602


def test_folders_are_read_level_by_level(served_hub: ServedHub) -> None:
    _put(served_hub, "ann/notes", "notes", {"a/b/c.md": b"1", "a/d.md": b"2"})
    root = _ask(served_hub, "resources/directory/read", {"uri": "skill://ann/notes"})["result"]
    assert [(one["name"], one["mimeType"]) for one in root["resources"]] == [
        ("SKILL.md", "text/markdown"),
        ("a", "inode/directory"),
    ]
    inner = _ask(served_hub, "resources/directory/read", {"uri": "skill://ann/notes/a"})["result"]["resources"]
    assert [one["uri"] for one in inner] == ["skill://ann/notes/a/b", "skill://ann/notes/a/d.md"]


NOT_SERVED = [
    ("skills/get", "skill://ann/nothing/SKILL.md"),
    ("skills/get", "skill://ann/notes/a.md"),
    ("skills/get", "file:///etc/passwd"),
    ("skills/get", "skill://bob/gone/SKILL.md"),
    ("resources/read", "skill://ann/notes/../../hub.sqlite"),
    ("resources/read", "skill://ann/notes/%2e%2e/hub.sqlite"),
    ("resources/read", "skill://ann/notes/a"),
    ("resources/read", "skill://ann/pdf-tools/SKILL.md"),
    ("resources/directory/read", "skill://ann/notes/SKILL.md"),
    ("resources/directory/read", "skill://ann/notes/"),
    ("resources/directory/read", "skill://ann"),
]


def test_what_is_not_served_is_an_error_by_its_code(served_hub: ServedHub) -> None:
    _put(served_hub, "ann/notes", "notes", {"a.md": b"1"})
    _put(served_hub, "ann/pdf-tools", "pdf")
    _put(served_hub, "bob/gone", "gone")
    served_hub.store.delete(served_hub.store.find("gone")[0].id)
    codes = {one: _ask(served_hub, one[0], {"uri": one[1]}).get("error", {}).get("code") for one in NOT_SERVED}
    assert codes == dict.fromkeys(NOT_SERVED, -32602)


async def test_a_client_of_the_sdk_finds_and_reads_a_skill(served_hub: ServedHub) -> None:
    _put(served_hub, "ann/weather", "weather")
    async with Client(f"{served_hub.url}/mcp") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["skill-search"]
        found = await client.call_tool("skill-search", {"query": "weather"})
        assert found.structured_content is not None
        (hit,) = found.structured_content["results"]
        assert (hit["reference"], hit["verdict"]) == ("@ann/weather", "clean")
        listed = await client.list_resources()
        assert [one.uri for one in listed.resources] == [hit["uri"]]
        (content,) = (await client.read_resource(hit["uri"])).contents
        assert isinstance(content, TextResourceContents)
        assert "name: weather" in content.text


@pytest.fixture
def closed_hub(tmp_path: Path) -> Iterator[ServedHub]:
    with serve_hub(tmp_path, HubSettings(public_read=False, quota=OPEN)) as hub:
        yield hub


def test_a_hub_that_is_not_public_wants_a_token_for_mcp_too(closed_hub: ServedHub) -> None:
    _put(closed_hub, "ann/notes", "notes")
    body = {"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {}}
    assert (
        httpx2.post(f"{closed_hub.url}/mcp", json=body, headers=HEADERS, trust_env=False, verify=False).status_code
        == 401
    )
    result = _ask(closed_hub, "skills/list", token=closed_hub.token("ann", "read"))["result"]
    assert (len(result["skills"]), result["cacheScope"]) == (1, "private")
    assert httpx2.get(f"{closed_hub.url}/mcp", trust_env=False, verify=False).status_code == 401


def test_large_answers_that_nobody_takes_do_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "MAX_HELD", 40 << 20)
    with serve_hub(tmp_path) as hub, ExitStack() as stack:
        _put(hub, "ann/large", "large", {"large.txt": b"x" * (8 << 20)})
        asked = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "resources/read",
            "params": {"uri": "skill://ann/large/large.txt"},
        }
        body = msgspec.json.encode(asked)
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {HEADERS['Accept']}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"

        def ask() -> bytes:
            """The beginning of an answer, of which no more is taken until the end."""
            peer = stack.enter_context(closing(socket.socket()))
            peer.settimeout(60)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.connect(("127.0.0.1", urlsplit(hub.url).port or 0))
            peer.sendall(head.encode() + body)
            return peer.recv(12)

        assert [ask() for _ in range(3)] == [b"HTTP/1.1 200", b"HTTP/1.1 200", b"HTTP/1.1 503"]
        assert httpx2.get(f"{hub.url}/api/v1/skills", trust_env=False, verify=False).status_code == 200
        stack.close()  # they leave
        until = time.monotonic() + 60
        while (found := ask()) != b"HTTP/1.1 200" and time.monotonic() < until:
            pass
        assert found == b"HTTP/1.1 200"
