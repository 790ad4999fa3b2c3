"""`/mode` and `/permissions`: how much is done unasked, and the lasting rules."""

import json
from collections.abc import Awaitable, Callable

import pytest

from terminal import Open, Terminal
from wire import call, say
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]


async def test_mode_is_listed_switched_and_written_down(world: World, terminal: Open, enter: Enter) -> None:
    write = call("write_file", {"path": "made", "content": "x"})
    world.replies = [say("hello"), write, say("done"), write, say("done")]
    async with terminal(columns=120, lines=60) as t:
        assert "mode" not in t.text()
        assert "auto-edit *" in await enter(t, "/mode")
        await enter(t, "hi")
        assert (await enter(t, "/mode plan")).startswith("Mode: plan (only looks")
        await enter(t, "write it")
        assert not (world.project / "made").exists()
        assert "mode plan" in t.text()
        await enter(t, "/mode full")
        await enter(t, "write it now")
        assert (world.project / "made").exists()
    lines = [json.loads(line) for line in (world.user_dir / "audit.jsonl").read_text().splitlines()]
    assert [(one["subject"], one["rule"]) for one in lines if one["kind"] == "mode"] == [
        ("plan", "/mode"),
        ("full", "/mode"),
    ]


async def test_unknown_mode_gets_the_close_match(terminal: Open, enter: Enter) -> None:
    async with terminal(columns=120) as t:
        shown = await enter(t, "/mode plann")
        assert "error[mode-unknown]: There is no mode 'plann'" in shown
        assert "did you mean 'plan'?" in shown


async def test_another_mode_than_the_default_is_in_the_greeting(world: World, terminal: Open, enter: Enter) -> None:
    world.config = 'mode = "ask"\n'
    async with terminal(columns=120) as t:
        assert "· mode ask" in t.text()
        await enter(t, "/mode full")
        t.type("/clear\r")
        await t.wait_for("next message.\n>")
        t.type("/mode\r")
        await t.wait_for("ask *")  # the other held for the conversation that is over


async def test_rules_are_listed_with_where_they_stand(world: World, terminal: Open, enter: Enter) -> None:
    world.config = '[permissions]\nallow = ["Bash(git push:*)"]\ndeny = ["Read(../x)"]\n'
    async with terminal(columns=140, lines=40) as t:
        shown = await enter(t, "/permissions")
        rows = [line.split() for line in shown.split("\n")]
        assert ["deny", "Read(../x)", "~/.clawft/config.toml"] in rows
        assert ["allow", "Bash(git", "push:*)", "~/.clawft/config.toml"] in rows
        assert "Mode: auto-edit" in shown
        assert "warning[tool-pattern]: permissions.deny: 'Read(../x)' is not understood" in shown
