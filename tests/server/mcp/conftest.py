"""What tests of the MCP server share: skills to serve, and a daemon that serves them."""

from collections.abc import Iterator

import mcp.client.stdio
import pytest

from mcp_clients import add_skills
from serve_thread import ServedDaemon, serve_here
from serve_world import ServeWorld

# How long the SDK waits for a server to end, before it leaves it behind: two seconds are little on a busy machine.
for name in ("PROCESS_TERMINATION_TIMEOUT", "FORCE_KILL_TIMEOUT", "_KILL_REAP_TIMEOUT"):
    assert hasattr(mcp.client.stdio, name)
    setattr(mcp.client.stdio, name, 60.0)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDaemon]:
    world = ServeWorld(tmp_path_factory.mktemp("mcp"))
    add_skills(world)
    world.config = f'mode = "ask"\n{world.config}'
    with serve_here(world) as here:
        yield here


@pytest.fixture(scope="module")
def piped(tmp_path_factory: pytest.TempPathFactory) -> ServeWorld:
    """A world for processes that serve on their pipes."""
    world = ServeWorld(tmp_path_factory.mktemp("piped"))
    add_skills(world)
    world.config = f'mode = "ask"\n{world.config}'
    world.write_config()
    return world
