"""Publishing to a registry that answers as it likes: nothing is half published, and no token goes astray."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest

from clawft.config.tools import WebSettings
from clawft.errors import ClawftError
from clawft.install.publish.parcel import Parcel, make_parcel
from clawft.install.publish.publication import has_terms
from clawft.install.publish.registry import Publication, PublicationResult, PublishedVersions, PublishingRegistry
from clawft.install.sources.http import FetchLimits, SourceConnection

PUBLICATION = Publication("tides", "ada", "Tides", "1.0.1", "new", ("latest",), True)
Reply = tuple[int, Any]


class Asked:
    """One request, as it came."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        self.path = handler.path
        self.token = handler.headers.get("authorization", "")
        self.kind = handler.headers.get("content-type", "")
        self.body = body


class Scripted:
    """A registry that does what a test says: `answers` are by the beginning of `METHOD path`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Asked] = []
        self.answers: dict[str, Reply | Callable[[Asked], Reply]] = {}

    def find(self, start: str) -> list[Asked]:
        return [one for one in self.asked if one.path.startswith(start)]


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            asked = Asked(self, body)
            world.asked.append(asked)
            line = f"{self.command} {self.path}"
            fitting = [one for one in world.answers if line.startswith(one)]
            reply = world.answers[max(fitting, key=len)] if fitting else (404, "Not found")
            status, said = reply(asked) if callable(reply) else reply
            content = said.encode() if isinstance(said, str) else json.dumps(said).encode()
            self.send_response(status)
            if status == 307:
                self.send_header("Location", str(said))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        world = Scripted(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield world
        server.shutdown()
        thread.join(60)


@pytest.fixture
def parcel(tmp_path: Path) -> Parcel:
    folder = tmp_path / "tides"
    (folder / "bin").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: tides\ndescription: Tells the tides.\n---\n")
    (folder / "bin" / 'od"d.sh').write_text("#!/bin/sh\n")
    (folder / "bin" / 'od"d.sh').chmod(0o755)
    return make_parcel(str(folder))


def _publish(scripted: Scripted, parcel: Parcel) -> PublicationResult:
    async def run() -> PublicationResult:
        fetching = SourceConnection(scripted.url, WebSettings(), token="clh_secret", limits=FetchLimits(timeout_s=10))
        async with PublishingRegistry("home", scripted.url, fetching, has_token=True) as registry:
            return await registry.publish(PUBLICATION, parcel)

    return anyio.run(run)


def _files(parcel: Parcel) -> dict[str, Any]:
    files = [{"path": one.path, "size": one.size, "sha256": one.sha256} for one in parcel.files]
    return {"skill": {"slug": "tides"}, "version": {"version": "1.0.1", "files": files}}


def _take_files(scripted: Scripted) -> None:
    """It gives tickets, and takes what comes for them."""

    def ticket(asked: Asked) -> Reply:
        wanted = json.loads(asked.body)
        return 200, {"uploadUrl": f"{scripted.url}/store/{wanted['sha256']}", "uploadTicket": f"t-{wanted['path']}"}

    scripted.answers["POST /api/v1/skills/-/upload-url"] = ticket
    scripted.answers["POST /store/"] = lambda asked: (200, {"storageId": hashlib.sha256(asked.body).hexdigest()[:8]})


def test_files_go_first_and_the_version_names_them(scripted: Scripted, parcel: Parcel) -> None:
    _take_files(scripted)
    scripted.answers["POST /api/v1/skills"] = (200, {"ok": True, "skillId": "s", "versionId": "v7"})
    scripted.answers["GET /api/v1/skills/tides/versions/1.0.1"] = (200, _files(parcel))

    done = _publish(scripted, parcel)

    assert done == PublicationResult("v7")
    (last,) = [one for one in scripted.asked if one.path == "/api/v1/skills"]
    sent = json.loads(last.body)
    assert (sent["slug"], sent["ownerHandle"], sent["version"], sent["tags"]) == ("tides", "ada", "1.0.1", ["latest"])
    assert sent["acceptLicenseTerms"] is True
    by_path = {one["path"]: one for one in sent["files"]}
    assert by_path["SKILL.md"]["storageId"] == by_path["SKILL.md"]["sha256"][:8]
    assert by_path['bin/od"d.sh']["executable"] is True
    assert "executable" not in by_path["SKILL.md"]
    assert {one.token for one in scripted.asked} == {"Bearer clh_secret"}  # all of it is one origin


@pytest.mark.parametrize(
    "answer", [(403, "Bearer clh_secret may not"), (200, {"ok": False, "message": "clh_secret may not"})]
)
def test_a_token_that_the_registry_repeats_is_not_shown(scripted: Scripted, parcel: Parcel, answer: Reply) -> None:
    _take_files(scripted)
    scripted.answers["POST /api/v1/skills"] = answer
    with pytest.raises(ClawftError, match="may not") as caught:
        _publish(scripted, parcel)
    assert "clh_secret" not in str(caught.value)


def test_a_registry_without_tickets_gets_one_form(scripted: Scripted, parcel: Parcel) -> None:
    scripted.answers["POST /api/v1/skills/-/upload-url"] = (405, "no")
    scripted.answers["POST /api/v1/skills"] = (200, {"ok": True, "versionId": "v", "publicationStatus": "pending"})

    assert _publish(scripted, parcel) == PublicationResult("v", pending=True)
    (last,) = [one for one in scripted.asked if one.path == "/api/v1/skills"]
    assert last.kind.startswith("multipart/form-data; boundary=")
    boundary = last.kind.partition("boundary=")[2].encode()
    parts = last.body.split(b"--" + boundary)[1:-1]
    assert len(parts) == 1 + len(parcel.files)
    assert json.loads(parts[0].split(b"\r\n\r\n", 1)[1])["executable"] == ['bin/od"d.sh']
    assert b'filename="bin/od%22d.sh"' in last.body


def test_many_small_files_go_in_one_form_where_that_is_taken(scripted: Scripted, tmp_path: Path) -> None:
    folder = tmp_path / "tides"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: tides\ndescription: Tells the tides.\n---\n")
    for number in range(25):
        (folder / f"page-{number}.md").write_text(f"Page {number}\n")
    many = make_parcel(str(folder))
    scripted.answers["POST /api/v1/skills"] = (200, {"ok": True, "versionId": "v"})

    assert _publish(scripted, many).id == "v"
    assert scripted.find("/api/v1/skills/-/upload-url") == []

    scripted.asked.clear()
    _take_files(scripted)
    scripted.answers["POST /api/v1/skills"] = lambda asked: (
        (415, "JSON only") if asked.kind.startswith("multipart") else (200, {"ok": True, "versionId": "w"})
    )
    assert _publish(scripted, many).id == "w"
    assert len(scripted.find("/store/")) == 26
    sent = json.loads([one for one in scripted.asked if one.path == "/api/v1/skills"][-1].body)
    assert [one["path"] for one in sent["files"]] == [one.path for one in many.files]


def test_what_fails_half_way_announces_nothing(scripted: Scripted, parcel: Parcel) -> None:
    _take_files(scripted)
    count = iter(range(10))
    scripted.answers["POST /store/"] = lambda _: (200, {"storageId": "x"}) if next(count) == 0 else (500, "full")

    with pytest.raises(ClawftError) as caught:
        _publish(scripted, parcel)

    assert caught.value.code == "source-failed"
    assert [one for one in scripted.asked if one.path == "/api/v1/skills"] == []


def test_an_attempt_whose_answer_was_lost_is_found_again(scripted: Scripted, parcel: Parcel) -> None:
    _take_files(scripted)
    scripted.answers["POST /api/v1/skills"] = (409, "Version already exists")
    scripted.answers["GET /api/v1/skills/tides/versions/1.0.1"] = (200, _files(parcel))
    assert _publish(scripted, parcel).again

    other = _files(parcel)
    other["version"]["files"][0]["sha256"] = "0" * 64
    scripted.answers["GET /api/v1/skills/tides/versions/1.0.1"] = (200, other)
    with pytest.raises(ClawftError) as caught:
        _publish(scripted, parcel)
    assert (caught.value.code, caught.value.exit_code) == ("publish-taken", 3)


def test_a_registry_that_lists_other_files_than_were_sent_is_told_of(scripted: Scripted, parcel: Parcel) -> None:
    _take_files(scripted)
    scripted.answers["POST /api/v1/skills"] = (200, {"ok": True, "versionId": "v"})
    listed = _files(parcel)
    listed["version"]["files"] = [one for one in listed["version"]["files"] if one["path"] == "SKILL.md"]
    scripted.answers["GET /api/v1/skills/tides/versions/1.0.1"] = (200, listed)

    assert _publish(scripted, parcel).missing == ('bin/od"d.sh',)


@pytest.mark.parametrize("target", ["http://127.0.0.1:9/store", "https://127.0.0.1:9/store", "http://example.org/x"])
def test_files_are_not_sent_to_another_private_or_open_address(target: str, scripted: Scripted, parcel: Parcel) -> None:
    scripted.answers["POST /api/v1/skills/-/upload-url"] = (200, {"uploadUrl": target, "uploadTicket": "t"})

    with pytest.raises(ClawftError) as caught:
        _publish(scripted, parcel)

    assert caught.value.exit_code == 3
    assert [one for one in scripted.asked if one.path == "/api/v1/skills"] == []


def test_what_is_sent_is_not_sent_on(scripted: Scripted, parcel: Parcel) -> None:
    scripted.answers["POST /api/v1/skills/-/upload-url"] = (307, f"{scripted.url}/elsewhere")

    with pytest.raises(ClawftError) as caught:
        _publish(scripted, parcel)

    assert caught.value.code == "fetch-redirects"
    assert scripted.find("/elsewhere") == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_is_not_taken_is_said_so(status: int, scripted: Scripted, parcel: Parcel) -> None:
    scripted.answers["POST /api/v1/skills/-/upload-url"] = (status, "This token may not publish")

    with pytest.raises(ClawftError) as caught:
        _publish(scripted, parcel)

    assert (caught.value.code, caught.value.exit_code) == ("publish-token", 3)
    assert "clh_secret" not in str(caught.value)


def test_what_a_registry_has_is_asked_by_fingerprint(scripted: Scripted, parcel: Parcel) -> None:
    async def find() -> PublishedVersions:
        async with PublishingRegistry(
            "home", scripted.url, SourceConnection(scripted.url, WebSettings()), has_token=False
        ) as registry:
            return await registry.find("ada", "tides", parcel.fingerprint)

    assert anyio.run(find) == PublishedVersions()
    scripted.answers["GET /api/v1/resolve"] = (200, {"match": None, "latestVersion": {"version": "2.0.0"}})
    assert anyio.run(find) == PublishedVersions("", "2.0.0")
    assert f"hash={parcel.fingerprint}" in scripted.find("/api/v1/resolve")[-1].path
    assert "ownerHandle=ada" in scripted.find("/api/v1/resolve")[-1].path


def test_only_clawhub_has_terms() -> None:
    assert has_terms("https://clawhub.ai")
    assert has_terms("https://www.clawhub.ai/x")
    assert not has_terms("https://clawhub.ai.example.org")
    assert not has_terms("http://127.0.0.1:8710")
