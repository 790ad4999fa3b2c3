"""MCP servers of plugins whose manifests are written to reach more than the person was shown."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.mcp.plugin_servers import name_server
from clawft.app.app import open_app
from clawft.app.plugin_grants import grant_plugin, open_plugin_review
from clawft.app.plugins import find_plugin, load_plugin_statuses
from clawft.contracts import Permissions
from clawft.messages import Noticed, ToolFinished
from wire import call, say
from world import Person, World, only

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).parents[1] / "agent" / "mcp" / "servers" / "plain.py"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def bring(world: World, **server: Any) -> Permissions:
    """A plugin with one server, granted all that it asks for; what that is."""
    folder = world.user_dir / "plugins" / "box"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / "server.py").write_text(SERVER.read_text())
    manifest = {"name": "box", "mcpServers": {"main": server}}
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps(manifest))
    app = open_app(world.environ, str(world.project))
    review = open_plugin_review(app).review(find_plugin(load_plugin_statuses(app), "box").found)
    grant_plugin(app, review, review.offered)
    return review.asked


def program(**server: Any) -> dict[str, Any]:
    return {"command": os.path.realpath(sys.executable), "args": ["-IS", "${CLAUDE_PLUGIN_ROOT}/server.py"], **server}


async def look(world: World, *places: Path) -> list[str]:
    """What the server sees in each folder."""
    world.replies = [
        *(call("box-main__list", {"path": str(one)}, f"c{n}") for n, one in enumerate(places)),
        say("done"),
    ]
    return [json.dumps(one.result) for one in only(await world.run(approve=Person()), ToolFinished)]


async def test_a_search_path_of_its_own_opens_no_folder(world: World) -> None:
    secret = Path(world.environ["HOME"]) / "papers"
    secret.mkdir()
    (secret / "taxes.txt").touch()
    own = world.user_dir / "plugin-data" / "box" / "bin"
    own.mkdir(parents=True)
    (own / "link").symlink_to(secret / "taxes.txt")  # as its last start may have left it
    folders = f"{secret}:${{CLAUDE_PLUGIN_DATA}}/bin:${{CLAUDE_PLUGIN_ROOT}}"
    bring(world, **program(env={"PATH": f"{folders}:{world.environ['PATH']}"}))
    (seen,) = await look(world, secret)
    assert "No such file" in seen


async def test_a_command_elsewhere_opens_no_folder(world: World) -> None:
    secret = Path(world.environ["HOME"]) / "papers"
    secret.mkdir()
    (secret / "taxes.txt").touch()
    (secret / "run").write_text(f'#!/bin/sh\nexec {sys.executable} -IS "$@"\n')
    (secret / "run").chmod(0o755)
    bring(world, **program(command=str(secret / "run")))
    world.replies = [say("done")]
    events = await world.run()
    assert "box-main__" not in json.dumps(world.sent())
    assert any("box-main" in one.message for one in only(events, Noticed))


async def test_what_the_settings_open_for_commands_is_not_open_for_servers_of_plugins(world: World) -> None:
    shared = Path(world.environ["HOME"]) / "shared"
    shared.mkdir()
    (shared / "taxes.txt").touch()
    world.config = f'[sandbox]\nwritable = ["{shared}"]\n'
    bring(world, **program())
    (seen,) = await look(world, shared)
    assert "No such file" in seen


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("${BOX_URL:-http://127.0.0.1:9/mcp}", "127.0.0.1:9"),
        ("http://${BOX_HOST:-127.0.0.1}:9/mcp", "127.0.0.1:9"),
        ("${BOX_URL}", "*"),
        ("https://${BOX_HOST}.example.com/mcp", "*"),
    ],
)
def test_a_host_that_comes_of_a_variable_is_asked_for(world: World, url: str, asked: str) -> None:
    assert bring(world, type="http", url=url).network == (asked,)


async def test_a_variable_leads_to_no_host_that_was_not_granted(world: World) -> None:
    world.environ |= {"BOX_URL": "http://127.0.0.1:7/mcp"}
    bring(world, type="http", url="${BOX_URL:-http://127.0.0.1:9/mcp}")
    world.replies = [say("done")]
    (said,) = [one.message for one in only(await world.run(), Noticed) if "box-main" in one.message]
    assert "not granted to reach 127.0.0.1:7" in said


@pytest.mark.parametrize(
    ("server", "name"), [("", "box-server"), ("_-", "box-server"), ("é", "box-server"), ("a", "box-a")]
)
def test_no_server_goes_by_the_name_of_its_plugin_alone(server: str, name: str) -> None:
    assert name_server("org.example.box", server) == name  # rules for a server 'box' are not for it
