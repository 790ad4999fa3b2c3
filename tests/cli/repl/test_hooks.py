"""Hooks hear what the person does at the prompt, and what they say is shown there."""

import json
from typing import Any

import pytest

from terminal import Open, Terminal
from wire import Reply, say
from world import World

pytestmark = pytest.mark.anyio
TELL = "event.messages.push('@@' + JSON.stringify([event.action, event.sessionKey, context]) + '@@');"


def read(t: Terminal) -> list[Any]:
    """What a hook told of its event."""
    return json.loads("".join(line.rstrip("\n") for line in t.lines()).split("@@")[1])  # type: ignore[no-any-return]


@pytest.mark.parametrize(("typed", "action"), [("/clear", "new"), ("/new", "new"), ("/reset", "reset")])
async def test_hooks_hear_that_a_session_is_left_and_where_it_is_kept(
    world: World, terminal: Open, typed: str, action: str
) -> None:
    world.add_hook("memo", "command", TELL)
    world.replies = [say("1")]
    async with terminal(columns=1000) as t:
        t.type("one\r")
        await t.wait_for("1\n")
        await t.prompt()
        old = t.repl.key
        t.type(f"{typed}\r")
        await t.wait_for("@@", 2)
        assert f"A new session begins with your next message. The last one is kept: /resume {old}" in t.text()
        assert "» memo: @@" in t.text()
        file = str(world.user_dir / "sessions" / f"{old}.jsonl")
        entry = {"sessionId": old, "sessionKey": old, "sessionFile": file}
        assert read(t) == [
            action,
            old,
            {
                "workspaceDir": str(world.project),
                "agentId": "default",
                "cfg": {},
                "commandSource": "cli",
                "senderId": "user",
                "sessionEntry": entry,
                "previousSessionEntry": entry,
            },
        ]
        assert t.repl.key == ""


async def test_hooks_hear_that_the_person_stopped_a_turn(world: World, terminal: Open) -> None:
    world.add_hook("memo", "command:stop", TELL)
    world.replies = [Reply(text=("so far",), end="stall")]
    async with terminal(columns=1000) as t:
        t.type("one\r")
        await t.wait_for("so far")
        t.type("\x03")
        await t.wait_for("@@", 2)
        action, key, context = read(t)
        assert (action, key) == ("stop", t.repl.key)
        assert context["sessionEntry"]["sessionId"] == key
        assert "previousSessionEntry" not in context


async def test_a_hook_that_fails_keeps_nobody_from_a_new_session(world: World, terminal: Open) -> None:
    world.add_hook("bad", "command", "throw new Error('oh dear');")
    async with terminal(columns=200) as t:
        t.type("/new\r")
        await t.wait_for("oh dear")
        assert "A new session begins with your next message." in t.text()
        assert "hook-failed" in t.text()
