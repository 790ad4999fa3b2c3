"""Several instances of a hub on one PostgreSQL: whichever a client reaches, it is the same hub."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2

from hub_world import serve_hub
from postgres import Postgres

SKILL = b"---\nname: tides\ndescription: Tells the tides of a harbour when somebody asks.\n---\n\nLook them up.\n"


def test_what_one_instance_takes_every_other_gives(postgres: Postgres, tmp_path: Path) -> None:
    database = postgres.url()
    with (
        serve_hub(tmp_path / "one", database=database) as one,
        serve_hub(tmp_path / "two", database=database) as two,
        httpx2.Client(base_url=one.url, trust_env=False, verify=False, timeout=60) as first,
        httpx2.Client(base_url=two.url, trust_env=False, verify=False, timeout=60) as second,
    ):
        headers = {"Authorization": f"Bearer {one.token('alice')}"}
        sha256 = hashlib.sha256(SKILL).hexdigest()
        wanted = {"path": "SKILL.md", "size": len(SKILL), "sha256": sha256}
        ticket = first.post("/api/v1/skills/-/upload-url", json=wanted, headers=headers).json()["uploadTicket"]
        sent = second.post("/api/v1/skills/-/upload", params={"ticket": ticket}, content=SKILL)
        assert sent.status_code == 200, sent.text
        file = {**wanted, "storageId": sent.json()["storageId"]}
        publication = {"slug": "tides", "version": "1.0.0", "files": [file]}
        done = first.post("/api/v1/skills", json=publication, headers=headers)
        assert done.status_code == 200, done.text

        assert [found["slug"] for found in second.get("/api/v1/search?q=harbour").json()["results"]] == ["tides"]
        (entry,) = second.get("/@alice/tides/.well-known/agent-skills/index.json").json()["skills"]
        archive = second.get(f"/.well-known/agent-skills/{entry['url'].removeprefix('./')}").content
        assert "sha256:" + hashlib.sha256(archive).hexdigest() == entry["digest"]
        assert first.get("/api/v1/download?slug=tides").content == second.get("/api/v1/download?slug=tides").content

        def publish(number: int) -> int:
            """The same version with other bytes, from both at once: one of them is the first."""
            form: Any = [
                ("payload", (None, '{"slug":"tides","version":"2.0.0"}')),
                ("files", ("SKILL.md", SKILL + b"%d\n" % number)),
            ]
            return (first, second)[number % 2].post("/api/v1/skills", files=form, headers=headers).status_code

        with ThreadPoolExecutor(4) as pool:
            assert sorted(pool.map(publish, range(4))) == [200, 409, 409, 409]
        assert second.delete("/api/v1/skills/tides/versions/2.0.0", headers=headers).status_code == 200
        assert first.get("/api/v1/skills/tides").json()["latestVersion"]["version"] == "1.0.0"
