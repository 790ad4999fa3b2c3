"""What somebody who means harm asks of a hub: it costs them more than it costs the hub."""

import hashlib
import io
import select
import socket
import subprocess
import sys
import tarfile
import tracemalloc
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest
from hub_drafts import keep, publish

from clawft.server.hub.distribution import IndexCache, make_tar
from clawft.server.hub.model import HubVersion
from clawft.server.hub.store import HubStore
from hub_world import ServedHub

SKILL = b"---\nname: tides\ndescription: Tells the tides of a harbour when somebody asks.\n---\n\nLook them up.\n"


@pytest.fixture
def client(served_hub: ServedHub) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=served_hub.url, trust_env=False, verify=False, timeout=60) as opened:
        yield opened


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_those_who_take_nothing_of_a_large_download_hold_none_of_it_in_memory(served_hub: ServedHub) -> None:
    served_hub.put("alice/tides", files={"large.bin": b"x" * (8 << 20)})
    tracemalloc.start()
    try:
        with ExitStack() as stack:
            for _ in range(8):
                peer = stack.enter_context(closing(socket.socket()))
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                peer.connect(("127.0.0.1", urlsplit(served_hub.url).port or 0))
                peer.sendall(b"GET /skills/tides/download HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                assert select.select([peer], [], [], 10)[0]
            assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


def test_a_tar_is_the_same_in_pieces_as_whole_from_either_database(store: HubStore) -> None:
    version = publish(store, "ann/tides")
    content = bytes(range(256)) * 20_000
    (large,) = keep(store, {"deep/large.bin": content})
    pieces = list(store.blobs.pieces(large.sha256))
    assert b"".join(pieces) == content
    assert len(pieces) > 1
    (nothing,) = keep(store, {"nothing": b""})
    assert b"".join(store.blobs.pieces(nothing.sha256)) == b""
    whole = b"".join(make_tar(store, version))
    with tarfile.open(fileobj=io.BytesIO(whole), mode="r:gz") as opened:
        found = {one.name: opened.extractfile(one) for one in opened}
        hashes = {path: hashlib.sha256(file.read()).hexdigest() for path, file in found.items() if file}
    assert hashes == {file.path: file.sha256 for file in version.files}


def publish_form(
    client: httpx2.Client, token: str, text: bytes = SKILL, more: Mapping[str, bytes] | None = None, **told: object
) -> httpx2.Response:
    payload = {"slug": "tides", "version": "1.0.0", "displayName": "Tides", "changelog": "", **told}
    contents = {"SKILL.md": text, **(more or {})}
    files = [("files", (path, content, "text/plain")) for path, content in contents.items()]
    data = {"payload": msgspec.json.encode(payload).decode()}
    return client.post("/api/v1/skills", data=data, files=files, headers=bearer(token))


def test_a_list_stays_short_however_long_a_skill_speaks_of_itself(served_hub: ServedHub, client: httpx2.Client) -> None:
    text = SKILL.replace(b"Tells", b"Tells " * 20_000)
    assert publish_form(client, served_hub.token("alice"), text, changelog="more " * 4_000).status_code == 200
    for path in ("/api/v1/skills", "/api/v1/search?q=tides", "/skills/search?q=tides", "/api/v1/skills/tides/versions"):
        assert len(client.get(path).content) < 4_000, path
    assert len(client.get("/api/v1/skills/tides/versions/1.0.0").json()["version"]["changelog"]) == 20_000


def test_what_is_told_of_a_version_does_nothing_to_a_terminal(served_hub: ServedHub, client: httpx2.Client) -> None:
    alice = served_hub.token("alice")
    assert publish_form(client, alice, changelog="\x1b]0;mine\x07").status_code == 400
    served_hub.put("alice/tides")
    said = {"reason": "\x1b[31mbroken\u202e\nfor good"}
    gone = client.request("DELETE", "/api/v1/skills/tides/versions/1.0.0", json=said, headers=bearer(alice))
    assert gone.status_code == 200
    told = client.get("/api/v1/skills/tides/versions/1.0.0").json()["version"]["yanked"]
    assert told == "[31mbroken for good"


def test_tags_are_checked_and_counted_however_they_come(served_hub: ServedHub, client: httpx2.Client) -> None:
    alice = served_hub.token("alice")
    served_hub.put("alice/tides")

    def tag(name: str) -> int:
        address = f"/api/v1/skills/tides/tags/{name}"
        return client.put(address, json={"version": "1.0.0"}, headers=bearer(alice)).status_code

    assert [tag(name) for name in ("a%0a%1b", "x" * 65, "Beta", "-")] == [400] * 4
    assert {tag(f"t{number}") for number in range(99)} == {200}
    assert tag("t99") == 400
    assert tag("t5") == 200
    assert client.delete("/api/v1/skills/tides/tags/t5", headers=bearer(alice)).status_code == 200
    assert tag("t99") == 200


def test_a_payload_without_end_in_depth_is_no_payload(served_hub: ServedHub, client: httpx2.Client) -> None:
    answer = client.post(
        "/api/v1/skills",
        data={"payload": "[" * 100_000},
        files=[("files", ("SKILL.md", SKILL))],
        headers=bearer(served_hub.token("alice")),
    )
    assert (answer.status_code, answer.text) == (400, "The payload is no JSON")


def test_a_skill_called_search_is_shown_as_others_are(served_hub: ServedHub, client: httpx2.Client) -> None:
    served_hub.put("alice/search")
    assert client.get("/api/v1/skills/search").json()["skill"]["slug"] == "search"
    assert client.get("/api/v1/skills/search?q=search").json()["total"] == 1


def test_what_a_publication_brings_and_a_version_does_not_use_is_not_kept(
    served_hub: ServedHub, client: httpx2.Client
) -> None:
    alice = served_hub.token("alice")
    assert publish_form(client, alice, more={"_meta.json": b"nobody needs this"}).json()["leftOut"] == ["_meta.json"]
    signed = publish_form(client, alice, more={".clawft-signature": b"no part of the digest"})
    assert signed.status_code == 409  # and not as if it had been taken
    left = [one.read_bytes() for one in (served_hub.folder / "hub" / "blobs").glob("*/*")]
    assert SKILL in left
    assert len(left) == 3  # the zips, too


def test_who_publishes_much_does_not_keep_others_waiting(served_hub: ServedHub, client: httpx2.Client) -> None:
    alice, bob = served_hub.token("alice"), served_hub.token("bob")
    done: list[str] = []

    def send(token: str, number: int) -> None:
        assert publish_form(client, token, SKILL + b"%d" % number, slug=f"tides-{number}").status_code == 200
        done.append(token)

    with ThreadPoolExecutor(17) as pool:
        much = [pool.submit(send, alice, number) for number in range(16)]
        wait(much, 30, FIRST_COMPLETED)
        pool.submit(send, bob, 99).result(30)
        wait(much, 30)
    assert done.count(alice) == 16
    assert done.index(bob) < 12


def test_more_connections_than_there_are_files_do_not_stop_a_hub_nor_fill_its_log(tmp_path: Path) -> None:
    """As anybody can bring about who reaches it, where the system gives a process few files."""
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (640, 640))\n"
        "from pathlib import Path; from hub_world import serve_hub\n"
        "with serve_hub(Path(sys.argv[1])) as hub: print(hub.url, flush=True); sys.stdin.read()"
    )
    bench = str(Path(__file__).parents[3] / "bench")
    command = [sys.executable, "-c", program, str(tmp_path)]
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env={"PYTHONPATH": bench}
        ) as hub,
        ExitStack() as peers,
    ):
        assert hub.stdout is not None
        address = ("127.0.0.1", urlsplit(hub.stdout.readline().decode().strip()).port or 0)
        for _ in range(800):
            peer = peers.enter_context(closing(socket.socket()))
            peer.settimeout(60)
            peer.connect(address)
        peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        with suppress(ConnectionError):
            assert peer.recv(12) in (b"", b"HTTP/1.1 200", b"HTTP/1.1 503")
        peers.close()
        with closing(socket.create_connection(address, 10)) as peer:
            peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert peer.recv(12) == b"HTTP/1.1 200"
        hub.communicate(timeout=60)
    assert (tmp_path / "log").stat().st_size < 20_000


class CountingStore(HubStore):
    """Says how often it was asked for a version."""

    asked = 0

    def find_version(self, skill: int, version: str = "") -> HubVersion | None:
        self.asked += 1
        return super().find_version(skill, version)


def test_an_index_is_made_once_for_all_who_ask_whatever_else_they_ask_for(tmp_path: Path) -> None:
    with closing(CountingStore.open_folder(str(tmp_path / "hub"))) as store:
        assert isinstance(store, CountingStore)
        for number in range(5):
            publish(store, f"ann/tides-{number}")
        indexes = IndexCache(store, lambda: 0.0)
        store.asked = 0
        with ThreadPoolExecutor(8) as pool:
            made = set(pool.map(lambda _: indexes.older(), range(8)))
        for number in range(100):
            assert indexes.older(f"nobody-{number}") == b""
            assert indexes.newer("ann", "tides-1")
        assert made == {indexes.older()}
        assert store.asked == 5
        found = (indexes.find("tides-1", "", ""), indexes.find("tides", "", ""))
        assert [one.slug for one in found if one] == ["tides-1"]


def test_who_asks_for_the_head_of_a_download_has_nothing_read_and_nothing_counted(
    served_hub: ServedHub, client: httpx2.Client
) -> None:
    version = served_hub.put("alice/tides")
    for place in (served_hub.folder / "hub" / "blobs").glob("*/*"):
        place.unlink()
    asked = client.head("/skills/tides/download")
    assert (asked.status_code, asked.content) == (200, b"")
    served_hub.store.flush()
    assert served_hub.store.get_skill(version.skill).downloads == 0
    with pytest.raises(httpx2.RemoteProtocolError):
        client.get("/skills/tides/download")
