"""Delegated tasks: conversations of their own, bounded, and asked for."""

from typing import Any

import pytest

from clawft.messages import Answer, ApprovalNeeded, ForkFinished, ToolFinished, TurnFinished
from wire import Reply, call, say
from world import World, only

pytestmark = pytest.mark.anyio


async def test_a_delegated_task_has_a_conversation_of_its_own(world: World) -> None:
    def reply(asked: Any) -> Reply:
        last = asked.body["messages"][-1]
        if last["role"] == "tool":
            return say(f"They said: {last['content']}")
        return (
            say("The child answers.")
            if "count the files" in str(last)
            else call("delegate", {"task": "count the files"})
        )

    world.replies = reply
    events = await world.run("ask somebody")
    child = only(events, ForkFinished)[0]
    assert (child.skill, child.status) == ("", "done")
    told = f"[what follows came of a conversation of its own, session {child.child}]\n\nThe child answers."
    assert only(events, TurnFinished)[0].text == f"They said: {told}"
    sent = next(
        asked.body["messages"] for asked in world.server.asked if "count the files" in str(asked.body["messages"][-1])
    )
    assert "ask somebody" not in str(sent)


async def test_delegation_is_bounded_in_depth(world: World) -> None:
    def reply(asked: Any) -> Reply:
        last = asked.body["messages"][-1]
        return say(str(last["content"])) if last["role"] == "tool" else call("delegate", {"task": "again"})

    world.replies = reply
    events = await world.run()
    assert "Delegation stops 2 levels deep" in only(events, TurnFinished)[0].text
    assert len([asked for asked in world.server.asked if asked.body["messages"][-1]["role"] == "user"]) == 3


async def yes(event: ApprovalNeeded) -> Answer:
    return "once"


async def test_delegating_to_a_command_asks_first(world: World) -> None:
    world.config = '[tools.delegate]\ncommand = ["echo", "did:"]\n'
    world.replies = lambda asked: (
        say("ok") if asked.body["messages"][-1]["role"] == "tool" else call("delegate", {"task": "work"})
    )
    refused = only(await world.run(key="a"), ToolFinished)[0]
    allowed = only(await world.run(key="b", approve=yes), ToolFinished)[0]
    assert refused.result["error"]["code"] == "PERMISSION_DENIED"
    assert allowed.result["text"].strip() == "did: work"
