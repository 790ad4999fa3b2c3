"""A turn when the network fails or nobody waits any longer: what passes is waited for, what does not has a code."""

import anyio
import pytest

from clawft.agent.loop import run_turn
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Conversation
from clawft.agent.sessions import SessionStore
from clawft.messages import (
    Answer,
    ApprovalNeeded,
    Event,
    Noticed,
    TextDelta,
    TurnFailed,
    TurnFinished,
)
from wire import Reply, call, fail, say
from world import World, collect, only

pytestmark = pytest.mark.anyio


async def test_429_with_retry_after_is_waited_for_and_said(world: World) -> None:
    world.replies = [fail(429, "slow down", retry_after="0"), say("now")]
    events = await world.run()
    assert [one.code for one in only(events, Noticed)] == ["provider-retry"]
    assert only(events, TurnFinished)[0].text == "now"


async def test_500s_to_the_end_fail_the_turn_and_keep_the_question(world: World) -> None:
    world.provider = "max_retries = 0"
    world.replies = lambda asked: fail(500, "broken")
    events = await world.run("keep me")
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code == "provider-failed"
    transcript = SessionStore(str(world.user_dir / "sessions")).read("test")
    assert [one.content for one in transcript.messages] == ["keep me"]


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_an_answer_that_is_cut_is_asked_for_again(world: World, wire: str) -> None:
    world.replies = [Reply(text=("half of",), end="cut"), say("All of it.")]
    events = await world.run(wire=wire)
    assert "stream-restarted" in [one.code for one in only(events, Noticed)]
    assert only(events, TurnFinished)[0].text == "All of it."


async def test_answers_that_are_always_cut_fail_the_turn(world: World) -> None:
    world.replies = lambda asked: Reply(text=("half",), end="cut")
    events = await world.run()
    assert (type(events[-1]), events[-1].code) == (TurnFailed, "provider-cut")  # type: ignore[attr-defined]


async def test_malformed_stream_is_an_error_with_a_code(world: World) -> None:
    world.provider = "max_retries = 0"
    world.replies = lambda asked: Reply(raw=(b"data: {not json\n\n",))
    events = await world.run()
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code in ("provider-bad-answer", "provider-cut")


async def test_a_stalled_stream_ends_in_its_time(world: World) -> None:
    world.provider = "timeout_s = 0.3\nmax_retries = 0"
    world.replies = lambda asked: Reply(text=("Once upon",), end="stall")
    with anyio.fail_after(60):
        events = await world.run()
    assert isinstance(events[-1], TurnFailed)


async def test_the_session_goes_on_after_a_failed_turn(world: World) -> None:
    world.provider = "max_retries = 0"
    world.replies = [fail(500), say("better now")]
    async with world.talk() as conversation:
        failed = await collect(conversation, "one")
        worked = await collect(conversation, "two")
    assert isinstance(failed[-1], TurnFailed)
    assert only(worked, TurnFinished)[0].text == "better now"


async def test_cancelling_ends_the_turn_and_keeps_what_came(world: World) -> None:
    world.replies = [Reply(text=("partial",), end="stall"), say("fresh")]
    async with world.talk() as conversation:
        events: list[Event] = []
        async for event in run_turn(conversation, TurnRequest("go")):
            events.append(event)
            if isinstance(event, TextDelta):
                conversation.cancel()
        assert only(events, TurnFinished)[0].stop == "cancelled"
        assert world.server.hung_up.wait(60)
        again = await collect(conversation, "again")
    assert only(again, TurnFinished)[0].text == "fresh"
    said = [one["content"] for one in world.sent()["messages"][1:]]
    assert said == ["go", "partial\n\n[the answer broke off here]", "again"]


async def test_leaving_the_stream_closes_the_connection_and_the_turn(world: World) -> None:
    world.replies = [Reply(text=("partial",), end="stall")]
    async with world.talk() as conversation:
        events = run_turn(conversation, TurnRequest("go"))
        async for event in events:
            if isinstance(event, TextDelta):
                break
        await events.aclose()
        assert world.server.hung_up.wait(60)
    transcript = SessionStore(str(world.user_dir / "sessions")).read("test")
    assert [one.status for one in transcript.turns] == ["cancelled"]


async def test_cancelling_kills_the_command_that_runs(world: World) -> None:
    begun = world.project / "begun"
    command = f"touch {begun}; sleep 300"  # by which it is found: its number inside the sandbox is another

    async def yes(event: ApprovalNeeded) -> Answer:
        return "once"

    async def cancel_what_runs(conversation: Conversation) -> None:
        while not begun.exists():
            await anyio.sleep(0.01)
        assert await _is_running(command)
        conversation.cancel()

    world.replies = [call("exec_shell", {"command": command}), say("never")]
    with anyio.fail_after(60):
        async with world.talk(approve=yes) as conversation, anyio.create_task_group() as group:
            group.start_soon(cancel_what_runs, conversation)
            events = await collect(conversation, "go")
    assert only(events, TurnFinished)[0].stop == "cancelled"
    assert not await _is_running(command)


async def _is_running(command: str) -> bool:
    return (await anyio.run_process(["pgrep", "-f", command], check=False)).returncode == 0
