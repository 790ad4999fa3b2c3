"""What anybody reads of a hub, over HTTP."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from hub_world import ServedHub

SCRIPT = "#!/bin/sh\necho hi\n"


@pytest.fixture
def client(served_hub: ServedHub) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=served_hub.url, trust_env=False, verify=False) as opened:
        yield opened


def get(client: httpx2.Client, path: str, status: int = 200, /, **query: str) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.headers["content-type"] == "application/json" else answer.text


def test_a_skill_is_searched_listed_and_shown_in_clawhubs_words(served_hub: ServedHub, client: httpx2.Client) -> None:
    served_hub.put("alice/weather-report", files={"scripts/run.sh": SCRIPT}, changelog="first")
    served_hub.put("bob/tides")
    (hit,) = get(client, "/api/v1/search", q="weather")["results"]
    assert (hit["slug"], hit["ownerHandle"], hit["version"]) == ("weather-report", "alice", "1.0.0")
    assert [one["slug"] for one in get(client, "/api/v1/search", q="tides", mode="exact")["results"]] == ["tides"]
    listed = get(client, "/api/v1/skills", sort="name")
    assert [one["slug"] for one in listed["items"]] == ["tides", "weather-report"]
    assert listed["nextCursor"] is None
    shown = get(client, "/api/v1/skills/weather-report")
    assert shown["skill"]["tags"] == {"latest": "1.0.0"}
    assert shown["latestVersion"]["changelog"] == "first"
    assert shown["owner"]["handle"] == "alice"
    assert shown["moderation"]["verdict"] == "clean"
    version = get(client, "/api/v1/skills/weather-report/versions/1.0.0")["version"]
    told = {one["path"]: one for one in version["files"]}
    assert told["scripts/run.sh"]["sha256"] == hashlib.sha256(SCRIPT.encode()).hexdigest()
    assert told["scripts/run.sh"]["executable"]
    assert not told["SKILL.md"]["executable"]
    assert get(client, "/api/v1/skills/weather-report/file", path="scripts/run.sh", preview="1") == SCRIPT
    assert get(client, "/api/v1/skills/weather-report/file", 404, path="../hub.sqlite") == "File not found"


def test_a_list_comes_in_pages(served_hub: ServedHub, client: httpx2.Client) -> None:
    for number in range(5):
        served_hub.put(f"alice/skill-{number}")
    seen, cursor = [], ""
    while True:
        page = get(client, "/api/v1/skills", limit="2", sort="name", **({"cursor": cursor} if cursor else {}))
        seen += [one["slug"] for one in page["items"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert seen == [f"skill-{number}" for number in range(5)]
    for number in range(1, 4):
        served_hub.put("alice/skill-0", f"1.0.{number}", {"a.txt": str(number)})
    first = get(client, "/api/v1/skills/skill-0/versions", limit="3")
    rest = get(client, "/api/v1/skills/skill-0/versions", limit="3", cursor=first["nextCursor"])
    assert [one["version"] for one in first["items"] + rest["items"]] == ["1.0.3", "1.0.2", "1.0.1", "1.0.0"]


def test_a_name_of_two_owners_is_answered_with_both_until_one_is_named(
    served_hub: ServedHub, client: httpx2.Client
) -> None:
    served_hub.put("alice/tides")
    served_hub.put("bob/tides", files={"b.txt": "bob"})
    told = get(client, "/api/v1/skills/tides", 409)
    assert told["code"] == "AMBIGUOUS_SKILL_SLUG"
    assert [one["ref"] for one in told["matches"]] == ["@alice/tides", "@bob/tides"]
    assert get(client, "/api/v1/download", 409, slug="tides")["code"] == "AMBIGUOUS_SKILL_SLUG"
    assert get(client, "/api/v1/skills/tides", ownerHandle="@bob")["owner"]["handle"] == "bob"
    assert "b.txt" in names_of(client.get("/api/v1/download", params={"slug": "tides", "owner": "bob"}).content)
    index = get(client, "/.well-known/agent-skills/index.json")
    assert index["skills"] == []
    assert index["omitted"] == ["@alice/tides", "@bob/tides"]


def names_of(archive: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return opened.namelist()


def test_what_a_folder_is_can_be_resolved_as_published_and_as_downloaded(
    served_hub: ServedHub, client: httpx2.Client
) -> None:
    published = served_hub.put("alice/tides", files={"LICENSE": "free\n", "logo.png": b"\x89PNG\0"})
    served_hub.put("alice/tides", "1.1.0", {"a.txt": "new"})
    found = get(client, "/api/v1/resolve", slug="tides", hash=published.fingerprint)
    assert found == {"match": {"version": "1.0.0"}, "latestVersion": {"version": "1.1.0"}}
    verified = get(client, "/api/v1/skills/tides/verify", version="1.0.0")
    assert verified["artifact"]["sourceFingerprint"] == published.fingerprint
    (bundle,) = set(verified["artifact"]["bundleFingerprints"]) - {published.fingerprint}
    assert get(client, "/api/v1/resolve", slug="tides", hash=bundle)["match"] == {"version": "1.0.0"}
    assert get(client, "/api/v1/resolve", slug="tides", hash="0" * 64)["match"] is None
    assert "64" in get(client, "/api/v1/resolve", 400, slug="tides", hash="x")


def test_the_zip_that_an_index_names_has_the_digest_it_names(served_hub: ServedHub, client: httpx2.Client) -> None:
    served_hub.put("alice/tides", files={"run.sh": SCRIPT})
    for place in (
        "/api/v1/agent-skills/alice/tides",
        "/.well-known/agent-skills",
        "/@alice/.well-known/agent-skills",
        "/@alice/tides/.well-known/agent-skills",
        "/@alice@tides/.well-known/agent-skills",
    ):
        document = get(client, f"{place}/index.json")
        assert document["$schema"].endswith("/0.2.0/schema.json")
        (entry,) = document["skills"]
        assert (entry["name"], entry["type"], entry["version"]) == ("tides", "archive", "1.0.0")
        archive = client.get(httpx2.URL(f"{served_hub.url}{place}/index.json").join(entry["url"]))
        assert archive.status_code == 200
        assert archive.headers["content-type"] == "application/zip"
        assert "sha256:" + hashlib.sha256(archive.content).hexdigest() == entry["digest"]
        with zipfile.ZipFile(io.BytesIO(archive.content)) as opened:
            modes = {one.filename: one.external_attr >> 16 & 0o777 for one in opened.infolist()}
        assert modes == {"SKILL.md": 0o644, "run.sh": 0o755}


def test_the_older_index_lists_files_that_are_there(served_hub: ServedHub, client: httpx2.Client) -> None:
    served_hub.put("alice/tides", files={"docs/a.md": "A"})
    (entry,) = get(client, "/.well-known/skills/index.json")["skills"]
    assert entry["files"] == ["SKILL.md", "docs/a.md"]
    assert client.get("/.well-known/skills/tides/docs/a.md").content == b"A"
    assert client.get("/.well-known/agent-skills/tides/SKILL.md").text.startswith("---\nname: tides\n")
    assert client.get("/.well-known/skills/tides/docs/b.md").status_code == 404
    for place in ("/@alice/other", "/@bob", "/@bob/tides", "/@alice@other"):
        for kind in ("agent-skills", "skills"):
            assert client.get(f"{place}/.well-known/{kind}/index.json").status_code == 404


def test_an_index_that_is_kept_says_what_is_there_now(served_hub: ServedHub, client: httpx2.Client) -> None:
    def listed() -> dict[str, str]:
        found = get(client, "/.well-known/agent-skills/index.json")["skills"]
        assert found == get(client, "/.well-known/agent-skills/index.json")["skills"]
        return {one["name"]: one["version"] for one in found}

    skill = served_hub.put("alice/tides").skill
    assert listed() == {"tides": "1.0.0"}
    served_hub.put("alice/tides", "1.1.0", {"a.txt": "new"})
    assert listed() == {"tides": "1.1.0"}
    served_hub.store.yank(skill, "1.1.0", "")
    assert listed() == {"tides": "1.0.0"}
    served_hub.put("alice/weather")
    served_hub.store.delete(skill)
    assert listed() == {"weather": "1.0.0"}
    served_hub.store.undelete(skill)
    assert listed() == {"tides": "1.0.0", "weather": "1.0.0"}


def test_the_older_contract_gives_a_tar(served_hub: ServedHub, client: httpx2.Client) -> None:
    served_hub.put("alice/tides", files={"run.sh": SCRIPT})
    (found,) = get(client, "/api/v1/skills/search", q="tides")["skills"]
    answer = client.get(f"/api/v1/skills/{found['id']}/download")
    assert "sha256:" + hashlib.sha256(answer.content).hexdigest() == found["digest"]
    assert answer.headers["content-type"] == "application/gzip"
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(answer.content))) as opened:
        assert {one.name: one.mode for one in opened} == {"SKILL.md": 0o644, "run.sh": 0o755}
    assert client.get("/api/v1/skills/tides/download").content == answer.content


def test_a_yanked_version_is_given_only_to_those_who_name_it(served_hub: ServedHub, client: httpx2.Client) -> None:
    old = served_hub.put("alice/tides")
    served_hub.put("alice/tides", "1.1.0", {"a.txt": "new"})
    served_hub.store.yank(old.skill, "1.1.0", "it is broken")
    assert get(client, "/api/v1/skills/tides")["latestVersion"]["version"] == "1.0.0"
    assert get(client, "/api/v1/skills/tides/install")["archive"]["version"] == "1.0.0"
    assert get(client, "/api/v1/skills/tides/versions/1.1.0")["version"]["yanked"] == "it is broken"
    assert "a.txt" in names_of(client.get("/api/v1/download?slug=tides&version=1.1.0").content)
    verified = get(client, "/api/v1/skills/tides/verify", version="1.1.0")
    assert (verified["ok"], verified["reasons"]) == (False, ["version.yanked"])
    served_hub.store.yank(old.skill, "1.0.0", "so is this")
    assert get(client, "/api/v1/skills/tides")["latestVersion"] is None
    assert get(client, "/api/v1/skills/tides/install", 409)["reason"] == "archive_version_missing"


def test_a_deleted_skill_is_gone_and_says_so(served_hub: ServedHub, client: httpx2.Client) -> None:
    served_hub.store.delete(served_hub.put("alice/tides").skill)
    for path in (
        "/api/v1/skills/tides",
        "/api/v1/skills/tides/versions",
        "/api/v1/download?slug=tides",
        "/api/v1/agent-skills/alice/tides/index.json",
        "/api/v1/agent-skills/alice/tides/archive?version=1.0.0",
        "/.well-known/agent-skills/@alice/tides/1.0.0.zip",
    ):
        assert client.get(path).status_code == 410, path
    assert get(client, "/api/v1/skills/tides/install", 410)["ok"] is False
    assert get(client, "/api/v1/skills")["items"] == []
    assert get(client, "/.well-known/agent-skills/index.json")["skills"] == []


def test_a_lock_is_checked_in_one_request(served_hub: ServedHub, client: httpx2.Client) -> None:
    served_hub.put("alice/tides")
    served_hub.put("alice/odd", verdict="suspicious", reason="network-egress")
    asked = [
        {"slug": "tides", "ownerHandle": "alice", "version": "1.0.0"},
        {"slug": "odd", "version": "1.0.0"},
        {"slug": "tides", "version": "9.9.9"},
        {"slug": "nobody", "version": "1.0.0"},
    ]
    answer = client.post("/api/v1/skills/-/security-verdicts", json={"items": asked}).json()
    assert [one["ok"] for one in answer["items"]] == [True, False, False, False]
    assert answer["items"][1]["security"]["signals"]["staticScan"]["reasonCodes"] == ["suspicious.network-egress"]
    assert [one["error"]["code"] for one in answer["items"][2:]] == ["VERSION_NOT_FOUND", "NOT_FOUND"]
    moderation = get(client, "/api/v1/skills/odd/moderation")["moderation"]
    assert (moderation["isSuspicious"], moderation["evidence"][0]["severity"]) == (True, "warn")
    wrong: Any
    for wrong in ({}, {"items": []}, {"items": [{"slug": 3}]}, {"items": asked * 26}, [1]):
        assert client.post("/api/v1/skills/-/security-verdicts", json=wrong).status_code == 400


def test_what_makes_no_sense_is_told_so(served_hub: ServedHub, client: httpx2.Client) -> None:
    served_hub.put("alice/tides")
    told = {
        "/api/v1/skills?cursor=%00&sort=name": 400,
        "/api/v1/skills?cursor=W10": 400,
        "/api/v1/skills?sort=%27": 400,
        "/api/v1/skills?limit=99999999999999999999": 200,
        "/api/v1/skills?limit=-1&prefix=%00%ff": 200,
        "/api/v1/search?q=%22%27%2A%29%20OR%20--": 200,
        "/api/v1/search?q=" + "a" * 5000: 200,
        "/api/v1/skills/%2e%2e%2f%2e%2e%2fetc": 404,
        "/api/v1/skills/tides/versions/%00": 404,
        "/api/v1/skills/tides/versions?cursor=%C2%B2": 200,
        "/.well-known/agent-skills/@alice/tides/..%2f1.0.0.zip": 404,
        "/.well-known/skills/tides/..%2f..%2fhub.sqlite": 404,
        "/api/v1/stars/tides": 404,
        "/api/v1/download": 404,
    }
    assert {path: client.get(path).status_code for path in told} == told


def test_what_the_hub_answers_is_described(client: httpx2.Client) -> None:
    document = get(client, "/api/v1/openapi.json")
    assert set(document["paths"]["/api/v1/skills"]) == {"get", "post"}
    assert all(verb["summary"] for path in document["paths"].values() for verb in path.values())
    assert get(client, "/.well-known/clawhub.json") == {"apiBase": str(client.base_url).rstrip("/"), "verifyBatch": 100}
    assert set(client.options("/api/v1/skills").headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
