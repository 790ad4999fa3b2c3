"""The skills of servers, as a pool asks for them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.agent.mcp import McpServerPool, RemoteError
from clawft.agent.mcp.offered_skills import fetch_files, is_same_front
from clawft.config.tools import ServerSettings
from clawft.errors import Refused
from skilled_server import SkilledServer, list_skill, make_skill_md

pytestmark = pytest.mark.anyio
PoolOf = Callable[..., McpServerPool]
ROOT = "skill://notes"
FILES = {"SKILL.md": make_skill_md("notes"), **{f"{number}.md": str(number) for number in range(20)}}


@pytest.fixture
def server(tmp_path: Path) -> SkilledServer:
    return SkilledServer(tmp_path / "server")


def _settings(server: SkilledServer) -> ServerSettings:
    return ServerSettings(command=server.command, args=server.args)


async def test_a_listing_is_asked_for_again_when_its_time_is_over(pool_of: PoolOf, server: SkilledServer) -> None:
    server.serve((ROOT, FILES), ttlMs=60_000)
    async with pool_of({"a": _settings(server)}) as pool:
        first = await pool.skills()
        assert (await pool.skills())["a"] is first["a"]
    server.serve((ROOT, FILES), ttlMs=0)
    async with pool_of({"a": _settings(server)}) as pool:
        first = await pool.skills()
        server.serve()
        assert (len(first["a"].offered), (await pool.skills())["a"].offered) == (1, ())
    assert sum(one.startswith("skills/list") for one in server.asked) == 3


async def test_many_pages_are_one_listing(pool_of: PoolOf, server: SkilledServer) -> None:
    pages = [[list_skill(f"skill://p{page}/s{number}", FILES) for number in range(3)] for page in range(4)]
    server.write(pages=pages, files={})
    async with pool_of({"a": _settings(server)}) as pool:
        listing = (await pool.skills())["a"]
    assert (len(listing.offered), listing.whole, listing.diagnostics) == (12, True, ())


async def test_every_file_is_read_as_it_was_promised(pool_of: PoolOf, server: SkilledServer, tmp_path: Path) -> None:
    server.serve((ROOT, FILES))
    async with pool_of({"a": _settings(server)}) as pool:
        (offered,) = (await pool.skills("a"))["a"].offered
        await fetch_files(pool.read_skill_file, offered, str(tmp_path / "notes"))
        assert {one.name: one.read_text() for one in (tmp_path / "notes").iterdir()} == FILES
        server.serve((ROOT, {**FILES, "7.md": "eight"}))  # after it was listed
        with pytest.raises(Refused) as caught:
            await fetch_files(pool.read_skill_file, offered, str(tmp_path / "again"))
    assert caught.value.code == "mcp-skill-digest"


async def test_a_file_as_large_as_a_skill_may_be_is_read(
    pool_of: PoolOf, server: SkilledServer, tmp_path: Path
) -> None:
    large = {"SKILL.md": make_skill_md("notes"), "large.txt": "x" * (15 << 20)}
    server.serve((ROOT, large))
    async with pool_of({"a": _settings(server)}) as pool:
        (offered,) = (await pool.skills("a"))["a"].offered
        await fetch_files(pool.read_skill_file, offered, str(tmp_path / "notes"))
    assert (tmp_path / "notes" / "large.txt").stat().st_size == 15 << 20


async def test_a_server_that_does_not_start_is_no_more_than_a_diagnostic(pool_of: PoolOf) -> None:
    async with pool_of({"a": ServerSettings(command="/nonexistent")}) as pool:
        listing = (await pool.skills())["a"]
        assert (listing.known, [one.code for one in listing.diagnostics]) == (False, ["mcp-start"])
        with pytest.raises(RemoteError) as caught:
            await pool.skills("b")
    assert caught.value.code == "mcp-unknown"


def test_frontmatter_is_compared_field_by_field() -> None:
    assert is_same_front({"a": [1, {"b": "c"}]}, {"a": [1.0, {"b": "c"}]})
    for other in ({"a": True}, {"a": 1, "b": 2}, {}, {"a": "1"}, {"a": [1]}, None):
        assert not is_same_front({"a": 1}, other)
