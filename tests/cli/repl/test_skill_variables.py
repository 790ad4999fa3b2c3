"""A skill that needs a variable, started at the prompt."""

import json

import pytest

from clawft.app.app import open_app
from terminal import CTRL_C, Open
from wire import call, say
from world import ASKING, World

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("headless")]
SECRET = "wx-typed-4242"
QUESTION = "weather needs WEATHER_TOKEN (not shown; Enter skips):"
HEAD = 'metadata: {"openclaw": {"requires": {"env": ["WEATHER_TOKEN"]}}}\n'


def state(world: World) -> str:
    return open_app(world.environ, str(world.project)).get_skill("weather").state


@pytest.mark.parametrize("plain", [False, True])
async def test_it_is_asked_for_without_showing_it_and_the_skill_gets_it(
    world: World, terminal: Open, plain: bool
) -> None:
    world.environ |= ASKING
    world.add_skill("weather", head=HEAD)
    world.replies = [call("exec_shell", {"command": "echo it is $WEATHER_TOKEN"}), say("Sunny.")]
    async with terminal(columns=100, plain=plain) as t:
        await t.prompt()
        t.type("/weather\r")
        await t.wait_for(QUESTION)
        t.type(f"{SECRET}\r")
        await t.wait_for("Only programs of weather get WEATHER_TOKEN")
        await t.wait_for("[N]o")
        t.type("y\r")
        await t.wait_for("Sunny.")
        assert SECRET not in t.raw()
    assert state(world) == "ready"
    assert "it is <secret>" in json.dumps(world.sent()["messages"])
    files = [path for path in world.user_dir.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert [path.name for path in files] == ["keys.json"], "neither the history nor the session has it"


async def test_nothing_typed_is_a_no_for_this_session(world: World, terminal: Open) -> None:
    world.add_skill("weather", head=HEAD)
    world.replies = [say("Without."), say("Again without.")]
    async with terminal(columns=100) as t:
        await t.prompt()
        t.type("/weather\r")
        await t.wait_for(QUESTION)
        t.type("\r")
        await t.wait_for("Without.")
        await t.prompt()
        t.type("/weather\r")
        await t.wait_for("Again without.")
        assert t.text().count(QUESTION) == 1
    assert state(world) == "ineligible"
    assert not (world.user_dir / "keys.json").exists()


async def test_ctrl_c_at_the_question_runs_nothing(world: World, terminal: Open) -> None:
    world.add_skill("weather", head=HEAD)
    async with terminal(columns=100) as t:
        await t.prompt()
        t.type("/weather\r")
        await t.wait_for(QUESTION)
        t.type(CTRL_C)
        await t.wait_for("stopped")
        await t.prompt()
        assert not world.server.asked
