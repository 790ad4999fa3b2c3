"""Names of files and folders that are no text, as any archive or checkout can bring them."""

import os
import sys

import httpx2
import pytest

from serve_world import ServeWorld


@pytest.mark.skipif(sys.platform == "darwin", reason="names are text there")
def test_a_name_that_is_no_text_ends_neither_the_daemon_nor_what_it_tells(world: ServeWorld) -> None:
    skill = os.fsencode(world.add_skill("plain"))
    with open(skill + b"/odd\xff.md", "wb") as file:
        file.write(b"text")
    _add_odd(world, b"first\xff")
    with world.serve() as daemon, httpx2.Client(headers={"Authorization": f"Bearer {daemon.token}"}) as client:
        api = f"{daemon.url}/api/v1"
        names = [one["name"] for one in client.get(f"{api}/skills").json()["skills"]]
        assert {"first?", "plain"} <= set(names)
        files = client.get(f"{api}/skills/plain").json()["skill"]["files"]
        assert [one["path"] for one in files] == ["SKILL.md", "odd?.md"]
        _add_odd(world, b"second\xff")  # no watcher can tell of it
        assert client.get(f"{api}/status").json()["skills"] == len(names) + 1
        assert daemon.errors == []


def _add_odd(world: ServeWorld, name: bytes) -> None:
    folder = os.fsencode(world.user_dir / "skills") + b"/" + name
    os.mkdir(folder)
    with open(folder + b"/SKILL.md", "wb") as file:
        file.write(b"---\ndescription: Does it.\n---\nDo it.\n")
