"""How forks run: side by side, in time, within their tokens, asking one at a time, and no longer than their parent."""

import json
import math
from pathlib import Path
from typing import Any

import anyio
import pytest

from clawft.agent.loop import run_turn
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Conversation
from clawft.messages import (
    Answer,
    ApprovalNeeded,
    Event,
    ForkFinished,
    ForkStarted,
    TurnFinished,
)
from forking import FORK, Inside, is_fork, repeat_result, using
from wire import Asked, Reply, call, say
from world import ASKING, World, collect, only

pytestmark = pytest.mark.anyio


def calls(*arguments: dict[str, Any], tool: str = "Skill") -> Reply:
    return Reply(calls=tuple((f"c{index}", tool, json.dumps(one)) for index, one in enumerate(arguments)))


@pytest.mark.parametrize("tool", ["Skill", "delegate"])
async def test_forks_of_one_answer_run_side_by_side_up_to_the_limit(world: World, tool: str) -> None:
    world.add_skill("work", head=FORK)
    world.config = "[agents.fork]\nmax_parallel = 3\n"
    argument = {"name": "work"} if tool == "Skill" else {"task": "the task"}

    def reply(asked: Asked) -> Reply:
        if is_fork(asked) or asked.body["messages"][-1]["content"] == "the task":
            return say("Done.", wait_s=0.1)
        return repeat_result(asked) or calls(*[argument] * 7, tool=tool)

    world.replies = reply
    running, most = 0, 0
    for event in await world.run("go"):
        running += isinstance(event, ForkStarted) - isinstance(event, ForkFinished)
        most = max(most, running)
    assert (running, most) == (0, 3)


async def test_the_results_of_forks_come_in_the_order_of_the_calls(world: World) -> None:
    world.add_skill("work", head=FORK)

    def reply(asked: Asked) -> Reply:
        if is_fork(asked):
            number = str(asked.body["messages"][1]["content"]).removeprefix("/work ")[0]
            return say(f"Result {number}", wait_s=0.05 * (3 - int(number)))
        results = [one["content"] for one in asked.body["messages"] if one["role"] == "tool"]
        return say(" ".join(one[-1] for one in results)) if results else calls(
            *({"name": "work", "args": str(number)} for number in range(4))
        )  # fmt: skip

    world.replies = reply
    assert only(await world.run("go"), TurnFinished)[0].text == "0 1 2 3"


async def test_a_fork_that_takes_too_long_is_stopped_and_its_parent_goes_on(world: World) -> None:
    world.add_skill("work", head=FORK)
    world.config = "[agents.fork]\ntimeout_s = 0.2\n"

    def reply(asked: Asked) -> Reply:
        return say("begun", end="stall") if is_fork(asked) else repeat_result(asked) or call("Skill", {"name": "work"})

    world.replies = reply
    async with world.talk() as conversation:
        events = await collect(conversation, "go")
        finished = only(events, ForkFinished)[0]
        child = conversation.runtime.sessions.read(finished.child)
    assert finished.status == "timeout"
    text = only(events, TurnFinished)[0].text
    assert "TIMEOUT" in text
    assert "The fork 'work' was stopped: it took longer than 0.2 seconds" in text
    assert [one.status for one in child.turns] == ["cancelled"]
    assert "begun" in str(child.messages)


async def test_the_time_that_a_person_takes_is_not_the_forks(world: World) -> None:
    world.environ |= ASKING
    world.add_skill("work", head=FORK)
    world.replies = using("exec_shell", {"command": "touch made"})
    deadlines: list[float] = []

    async def approve(event: ApprovalNeeded) -> Answer:
        deadlines.append(anyio.current_effective_deadline())
        return "once"

    events = await world.run("go", approve=approve)
    assert only(events, ForkFinished)[0].status == "done"
    assert deadlines == [math.inf]


@pytest.mark.parametrize("by", ["user", "model"])
async def test_a_question_of_a_fork_names_it_and_is_asked_once_a_session(world: World, by: str) -> None:
    world.environ |= ASKING
    world.add_skill("work", head=FORK)
    world.replies = using("exec_shell", {"command": "touch made"})
    asked: list[ApprovalNeeded] = []

    async def approve(event: ApprovalNeeded) -> Answer:
        asked.append(event)
        return "session"

    async with world.talk(approve=approve) as conversation:
        request = TurnRequest("go", skill="work" if by == "user" else "")
        events = [await collect(conversation, request), await collect(conversation, request)]
    assert [one.question for one in asked] == ["The fork 'work' asks: Run: touch made"]
    assert [one.call for one in only(events[0], ApprovalNeeded)] == [asked[0].call]
    assert only(events[0], ApprovalNeeded)[0].question == asked[0].question
    assert (world.project / "made").exists()


async def test_forks_ask_one_after_the_other(world: World) -> None:
    world.environ |= ASKING
    world.add_skill("work", "Make $ARGUMENTS.", head=FORK)

    def reply(asked: Asked) -> Reply:
        if is_fork(asked):
            name = str(asked.body["messages"][1]["content"]).split()[1]
            return repeat_result(asked) or call("exec_shell", {"command": f"touch {name}"})
        return repeat_result(asked) or calls(*({"name": "work", "args": f"made-{number}"} for number in range(3)))

    world.replies = reply
    asking = 0

    async def approve(event: ApprovalNeeded) -> Answer:
        nonlocal asking
        asking += 1
        await anyio.lowlevel.checkpoint()
        assert asking == 1
        asking -= 1
        return "once"

    await world.run("go", approve=approve)
    assert {one.name for one in world.project.glob("made-*")} == {"made-0", "made-1", "made-2"}


async def test_a_fork_spends_the_budget_of_its_session(world: World) -> None:
    world.add_skill("work", head=FORK)
    world.replies = using("list_directory", {"path": "."})
    async with world.talk() as conversation:
        await collect(conversation, "go")
        ledger = conversation.runtime.usage.ledger
        assert ledger.spent(session="test") == ledger.spent() == (60, 0)  # four calls of 15 tokens


async def test_a_fork_that_used_its_tokens_is_stopped_before_the_next_call(world: World) -> None:
    world.add_skill("work", head=FORK)
    world.config = "max_tokens = 100\n[agents.fork]\nmax_tokens = 20_000\n"

    def reply(asked: Asked) -> Reply:
        if is_fork(asked):
            return call("list_directory", {"path": "."}, usage=(9_000, 100))
        return repeat_result(asked) or call("Skill", {"name": "work"})

    world.replies = reply
    events = await world.run("go")
    assert "agents.fork.max_tokens is 20000" in only(events, TurnFinished)[0].text
    assert only(events, ForkFinished)[0].status == "failed"
    assert sum(map(is_fork, world.server.asked)) == 2


async def test_what_is_forked_below_a_fork_counts_for_it(world: World) -> None:
    world.add_skill("work", head=FORK)
    world.add_skill("below", head=FORK)
    world.config = "max_tokens = 100\n[agents.fork]\nmax_tokens = 20_000\n"

    def reply(asked: Asked) -> Reply:
        if '<skill_content name="below">' in str(asked.body["messages"][1]["content"]):
            return say("Much.", usage=(19_900, 50))
        if is_fork(asked):
            return call("Skill", {"name": "below"})
        return repeat_result(asked) or call("Skill", {"name": "work"})

    world.replies = reply
    events = await world.run("go")
    below, work = only(events, ForkFinished)
    assert (below.status, work.status) == ("done", "failed")
    assert (below.usage.total_tokens, work.usage.total_tokens) == (19_950, 19_965)
    assert "agents.fork.max_tokens" in only(events, TurnFinished)[0].text
    assert only(events, TurnFinished)[0].usage.total_tokens == 19_995


def deep(command: str) -> Inside:
    """A fork in a fork, in which a command runs."""

    def reply(asked: Asked) -> Reply:
        first = str(asked.body["messages"][1]["content"])
        if '<skill_content name="below">' in first:
            return call("exec_shell", {"command": command})
        return call("Skill", {"name": "below" if "<skill_content" in first else "work"})

    return reply


async def yes(event: ApprovalNeeded) -> Answer:
    return "once"


async def until(path: Path) -> None:
    with anyio.fail_after(60):
        while not path.exists():
            await anyio.sleep(0.01)


@pytest.mark.parametrize("how", ["cancel", "close"])
@pytest.mark.parametrize("by", ["user", "model"])
async def test_whatever_ends_a_turn_ends_its_forks_at_every_depth(world: World, how: str, by: str) -> None:
    for name in ("work", "below"):
        world.add_skill(name, head=FORK)
    command = f"touch {world.project}/begun; sleep 60; touch ended"
    world.replies = deep(command)
    events: list[Event] = []

    async def end(conversation: Conversation, scope: anyio.CancelScope) -> None:
        await until(world.project / "begun")
        if how == "cancel":
            conversation.cancel()
        else:
            scope.cancel()

    async with world.talk(approve=yes) as conversation, anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            group.start_soon(end, conversation, scope)
            stream = run_turn(conversation, TurnRequest("go", skill="work" if by == "user" else ""))
            try:
                async for event in stream:
                    events.append(event)
            finally:
                with anyio.CancelScope(shield=True):
                    await stream.aclose()
        sessions = conversation.runtime.sessions
        forks = [one.child for one in only(events, ForkStarted)]
        assert len(forks) == 2
        assert [sessions.read(key).turns[-1].status for key in ("test", *forks)] == ["cancelled"] * 3
        for key in forks:
            sessions.open(key).close()  # nobody writes it any more
        if how == "cancel":
            assert [one.status for one in only(events, ForkFinished)] == ["cancelled", "cancelled"]
            assert only(events, TurnFinished)[0].stop == "cancelled"
        still = await anyio.run_process(["pgrep", "-f", command], check=False)
        assert still.stdout == b""
        assert isinstance((await collect_after(world, conversation))[-1], TurnFinished)
    assert not (world.project / "ended").exists()


async def collect_after(world: World, conversation: Conversation) -> list[Event]:
    world.server.replies = lambda asked: say("Still here.")
    return await collect(conversation, "are you there?")


async def test_a_fork_that_is_stopped_leaves_what_it_said_so_far(world: World) -> None:
    world.add_skill("work", head=FORK)
    world.replies = [say("Half an ", end="stall")]
    async with world.talk() as conversation:
        events = []
        async for event in run_turn(conversation, TurnRequest("", skill="work")):
            events.append(event)
            if event.__class__.__name__ == "TextDelta":
                conversation.cancel()
        kept = conversation.session.messages
    assert "Half an" in (kept[-1].content or "")
    assert "broke off" in (kept[-1].content or "")
