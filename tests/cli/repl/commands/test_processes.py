"""`/processes`: what runs in the background of this conversation is listed, shown and ended."""

from collections.abc import Awaitable, Callable

import pytest

from terminal import Open, Terminal
from wire import call, say
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]


async def test_processes_are_listed_shown_and_ended(world: World, terminal: Open, enter: Enter) -> None:
    (world.project / "serve.sh").write_text("echo listening; exec sleep 600")
    begin = call("exec_shell", {"command": "sh serve.sh", "background": True})
    world.replies = [begin, say("It runs.")]
    async with terminal(columns=100) as t:
        await enter(t, "/mode full")
        assert await enter(t, "/processes") == "Nothing runs in the background"
        t.type("serve\r")
        await t.wait_for("It runs.")
        await t.wait_for("\n>", 4)
        listed = await enter(t, "/processes")
        assert listed.splitlines()[0].split() == ["NO", "STATE", "FOR", "COMMAND"]
        assert listed.splitlines()[1].split()[:2] == ["1", "running"]
        assert listed.endswith("sh serve.sh")
        assert await enter(t, "/processes 1") == "listening\n[running]"
        assert await enter(t, "/processes end 1") == "Process 1: ended on request"
        assert await enter(t, "/processes 7") == "There is no process 7. /processes lists them"
        assert "ended on request" in await enter(t, "/processes")


async def test_new_conversation_has_none_of_the_old_one(world: World, terminal: Open, enter: Enter) -> None:
    (world.project / "serve.sh").write_text("exec sleep 600")
    world.replies = [call("exec_shell", {"command": "sh serve.sh", "background": True}), say("It runs."), say("Hello.")]
    async with terminal(columns=100) as t:
        await enter(t, "/mode full")
        t.type("serve\r")
        await t.wait_for("It runs.")
        await t.wait_for("\n>", 3)
        t.type("/clear\r")
        await t.wait_for("A new session begins")
        await t.wait_for("\n>", 1)
        await enter(t, "hello")
        assert await enter(t, "/processes") == "Nothing runs in the background"
