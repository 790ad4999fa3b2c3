"""`/plugins` and `/plugins ID`."""

import json
from collections.abc import Awaitable, Callable

import pytest

from terminal import Open, Terminal
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]


async def test_plugins_are_listed_and_shown(world: World, terminal: Open, enter: Enter) -> None:
    folder = world.user_dir / "plugins" / "weather"
    folder.mkdir(parents=True)
    tools = [{"name": "weather", "description": "The weather"}]
    manifest = {"id": "org.example.weather", "name": "Weather", "version": "1.0.0", "capabilities": ["tool"]}
    (folder / "clawft.plugin.json").write_text(json.dumps({**manifest, "tools": tools}))
    async with terminal(columns=120, lines=50) as t:
        shown = await enter(t, "/plugins")
        rows = [line.split() for line in shown.split("\n")]
        assert ["✗", "org.example.weather", "1.0.0", "tool", "weather", "untrusted", "user"] in rows
        assert "1 plugin: 1 untrusted" in shown
        one = (await enter(t, "/plugins weather")).split("\n")
        assert "State: untrusted: nobody granted it anything as it is now" in one
        assert "  tool weather(): The weather (asks before it is used)" in one
        assert "No plugin 'wether'" in await enter(t, "/plugins wether")
