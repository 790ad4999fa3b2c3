"""A turn from a message to an answer: events, tools, questions, routing, and what is on disk after."""

from pathlib import Path

import anyio
import msgspec
import pytest
from msgspec import structs

from clawft.agent.conversation import open_conversation
from clawft.agent.loop import run_turn
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Conversation
from clawft.agent.sessions import SessionStore
from clawft.agent.tools.tool import Tool, ToolContext, ToolResult
from clawft.errors import ClawftError
from clawft.messages import (
    Answer,
    ApprovalNeeded,
    CatalogShown,
    Event,
    MessageSent,
    Noticed,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    Usage,
    UsageReported,
)
from wire import Reply, call, say
from world import ASKING, World, collect, only

pytestmark = pytest.mark.anyio


def put_tools(conversation: Conversation, tools: tuple[Tool, ...]) -> None:
    runtime = conversation.runtime
    runtime.extensions = structs.replace(runtime.extensions, tools=tools)


def names(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_an_answer_streams_and_the_turn_is_on_disk_when_it_ends(world: World, wire: str) -> None:
    world.replies = [say("Hel", "lo.")]
    events = await world.run("hi", wire=wire)
    shown = [name for name in names(events) if name != "CatalogShown"]
    assert shown == ["TurnStarted", "TextDelta", "TextDelta", "UsageReported", "TurnFinished"]
    assert [one.text for one in only(events, TextDelta)] == ["Hel", "lo."]
    assert events[-1] == TurnFinished(at=events[-1].at, session="test", text="Hello.", usage=Usage(10, 5))
    transcript = SessionStore(str(world.user_dir / "sessions")).read("test")
    assert [(one.role, one.content) for one in transcript.messages] == [("user", "hi"), ("assistant", "Hello.")]


async def test_every_event_carries_time_and_session(world: World) -> None:
    world.replies = [say("x")]
    events = await world.run()
    assert names(events)[-1] == "TurnFinished"
    for event in events:
        line = msgspec.json.decode(msgspec.json.encode(event))
        assert list(line)[:3] == ["event", "at", "session"]
        assert line["session"] == "test"
        assert line["at"].endswith("Z")


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_tools_run_and_their_results_reach_the_model(world: World, wire: str) -> None:
    (world.project / "note.txt").write_text("the answer is 42\n")
    world.replies = [call("read_file", {"path": "note.txt"}), say("It is 42.")]
    events = await world.run("what does it say?", wire=wire)
    assert [one.tool for one in only(events, ToolStarted)] == ["read_file"]
    assert only(events, ToolFinished)[0].status == "success"
    assert "the answer is 42" in str(world.sent()["messages"][-1])
    assert only(events, TurnFinished)[0].usage == Usage(20, 10)


async def test_a_tool_under_another_clients_name_is_ours(world: World) -> None:
    world.replies = [call("Bash", {"command": "echo hi"}), say("done")]
    assert [one.tool for one in only(await world.run(), ToolFinished)] == ["exec_shell"]


async def test_an_unknown_tool_is_a_tool_error_with_the_close_match(world: World) -> None:
    world.replies = [call("read_fil", {}), say("sorry")]
    (finished,) = only(await world.run(), ToolFinished)
    assert finished.status == "error"
    assert finished.result["error"]["code"] == "NOT_FOUND"
    assert "read_file" in finished.result["error"]["message"]


async def test_malformed_arguments_are_a_tool_error_and_the_loop_goes_on(world: World) -> None:
    world.replies = [Reply(calls=(("c1", "read_file", "{not json"),)), say("ok")]
    events = await world.run()
    assert only(events, ToolFinished)[0].result["error"]["code"] == "INVALID_PARAM"
    assert only(events, TurnFinished)


def make_tool(name: str, run: object, *, read_only: bool = False) -> Tool:
    return Tool(name, "A tool.", run, {"type": "object", "properties": {}}, read_only=read_only)  # type: ignore[arg-type]


async def test_a_tool_that_hangs_dies_or_floods_is_an_error_and_the_loop_goes_on(world: World) -> None:
    async def hang(_: object, context: ToolContext) -> ToolResult:
        await anyio.sleep_forever()
        raise AssertionError

    async def die(_: object, context: ToolContext) -> ToolResult:
        raise RuntimeError("boom")

    async def flood(_: object, context: ToolContext) -> ToolResult:
        return ToolResult("x" * 1_000_000)

    calls = tuple((f"c{index}", name, "{}") for index, name in enumerate(["hang", "die", "flood"]))
    world.config = "tool_timeout_s = 0.2\n"
    world.replies = [Reply(calls=calls), say("went on")]
    async with world.talk() as conversation:
        put_tools(
            conversation, tuple(make_tool(name, run) for name, run in (("hang", hang), ("die", die), ("flood", flood)))
        )
        events = await collect(conversation, "go")
    hung, died, flooded = only(events, ToolFinished)
    assert hung.result["error"]["code"] == "TIMEOUT"
    assert died.result["error"]["code"] == "INTERNAL_ERROR"
    assert flooded.status == "partial"
    assert len(flooded.result["text"]) < 50_000
    assert only(events, TurnFinished)[0].text == "went on"


async def test_read_only_tools_run_side_by_side_and_results_keep_their_order(world: World) -> None:
    both = anyio.Event()
    running = 0

    async def meet(_: object, context: ToolContext) -> ToolResult:
        nonlocal running
        running += 1
        if running == 2:
            both.set()
        with anyio.fail_after(60):
            await both.wait()  # one after the other would never meet
        return ToolResult(f"met {running}")

    world.replies = [Reply(calls=(("a", "meet", "{}"), ("b", "meet", "{}"))), say("ok")]
    async with world.talk() as conversation:
        put_tools(conversation, (make_tool("meet", meet, read_only=True),))
        events = await collect(conversation, "go")
    assert [one.status for one in only(events, ToolFinished)] == ["success", "success"]
    assert [one["tool_call_id"] for one in world.sent()["messages"] if one["role"] == "tool"] == ["a", "b"]


async def test_tools_that_change_things_run_one_after_the_other(world: World) -> None:
    running = 0

    async def alone(_: object, context: ToolContext) -> ToolResult:
        nonlocal running
        running += 1
        await anyio.lowlevel.checkpoint()
        assert running == 1
        running -= 1
        return ToolResult("ok")

    world.replies = [Reply(calls=(("a", "alone", "{}"), ("b", "alone", "{}"))), say("ok")]
    async with world.talk() as conversation:
        put_tools(conversation, (make_tool("alone", alone),))
        events = await collect(conversation, "go")
    assert [one.status for one in only(events, ToolFinished)] == ["success", "success"]


async def test_rounds_of_tools_are_bounded(world: World) -> None:
    world.config = "max_tool_iterations = 3\n"
    world.replies = lambda asked: call("list_directory", {})
    events = await world.run()
    assert len(only(events, ToolFinished)) == 3
    assert only(events, TurnFinished)[0].stop == "max_iterations"
    assert "max-iterations" in [one.code for one in only(events, Noticed)]


# Asking


async def test_without_anybody_to_ask_the_answer_is_no_and_the_loop_goes_on(world: World) -> None:
    world.environ |= ASKING
    world.replies = [call("exec_shell", {"command": "touch made"}), say("It was refused.")]
    events = await world.run()
    assert [one.question for one in only(events, ApprovalNeeded)] == ["Run: touch made"]
    assert only(events, ToolFinished)[0].result["error"]["code"] == "PERMISSION_DENIED"
    assert only(events, TurnFinished)[0].refused == 1
    assert not (world.project / "made").exists()


async def test_an_approval_for_the_session_is_asked_once(world: World) -> None:
    world.environ |= ASKING
    asked: list[str] = []

    async def answer(event: ApprovalNeeded) -> Answer:
        asked.append(event.question)
        return "session"

    run = call("exec_shell", {"command": "touch made"})
    world.replies = [run, run, say("done")]
    events = await world.run(approve=answer)
    assert asked == ["Run: touch made"]
    assert [one.status for one in only(events, ToolFinished)] == ["success", "success"]
    assert (world.project / "made").exists()


async def test_what_the_policy_forbids_is_never_asked(world: World) -> None:
    async def answer(event: ApprovalNeeded) -> Answer:
        raise AssertionError("nobody may be asked")

    world.config = "[tools.exec]\ndenied_patterns = ['id']\n"
    world.replies = [call("exec_shell", {"command": "echo $(i''d)"}), say("no")]
    events = await world.run(approve=answer)
    assert only(events, ToolFinished)[0].result["error"]["code"] == "PERMISSION_DENIED"


# Routing and budgets


async def test_an_unknown_provider_is_refused_before_anything_is_sent(world: World) -> None:
    events = await world.run(model="lcoal/m")
    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, "did you mean 'local'" in events[-1].hint) == ("provider-not-found", True)
    assert world.server.asked == []


async def test_the_tier_of_a_request_follows_from_its_complexity(world: World) -> None:
    world.config = (
        '[[agents.routing.tiers]]\nmodel = "local/small"\nup_to = 0.2\n'
        '[[agents.routing.tiers]]\nmodel = "local/large"\nup_to = 1.0\n'
    )
    world.replies = lambda asked: say("x")
    hard = "Analyse, design, compare, refactor, review and debug the architecture. " * 30
    assert only(await world.run("hi", key="a"), TurnStarted)[0].model == "local/small"
    assert only(await world.run(hard, key="b"), TurnStarted)[0].model == "local/large"
    assert only(await world.run("hi", key="c", model="local/mine"), TurnStarted)[0].model == "local/mine"


async def test_a_budget_stops_before_the_call_that_would_exceed_it(world: World) -> None:
    world.config = "max_tokens = 100\n[agents.budget]\nper_session_tokens = 50\n"
    world.replies = [say("never")]
    events = await world.run()
    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, events[-1].exit_code) == ("budget-exceeded", 3)
    assert world.server.asked == []


async def test_the_cost_of_a_call_is_reported(world: World) -> None:
    world.provider = "[providers.local.models.m]\ninput_usd_per_mtok = 1.0\noutput_usd_per_mtok = 2.0\n"
    world.replies = [say("x", usage=(1000, 500))]
    events = await world.run()
    assert only(events, UsageReported)[0].cost_usd == pytest.approx(0.002)


# Many at once


async def test_fifty_conversations_in_one_process_lose_no_event(world: World) -> None:
    world.replies = lambda asked: say(*[f"{index} " for index in range(20)])
    results: dict[int, list[Event]] = {}
    async with world.open() as runtime:
        from clawft.app.app import open_app

        agent = open_app(world.environ, str(world.project)).choose_agent()

        async def run(number: int) -> None:
            async with open_conversation(runtime, agent, key=f"s{number}") as conversation:
                results[number] = await collect(conversation, f"hello {number}")

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(run, number)
    whole = "".join(f"{index} " for index in range(20))
    for number, events in results.items():
        assert "".join(one.text for one in only(events, TextDelta)) == whole
        assert (events[-1].session, only(events, TurnFinished)[0].text) == (f"s{number}", whole)
    assert len(results) == 50


async def test_one_session_has_one_writer(world: World) -> None:
    async with world.talk() as conversation:
        with pytest.raises(ClawftError, match="writing this session") as caught:
            async with open_conversation(conversation.runtime, conversation.agent, key="test"):
                pass
    assert caught.value.code == "session-busy"


async def test_a_bug_fails_the_turn_and_leaves_a_trace(world: World) -> None:
    from clawft.agent.runtime import Insertion, Turn
    from clawft.contracts import Phase

    async def broken(turn: Turn) -> None:
        raise RuntimeError("oops")

    async with world.talk() as conversation:
        conversation.runtime.extensions = structs.replace(
            conversation.runtime.extensions, stages=(Insertion(Phase.PRE_ASSEMBLE, "broken", broken),)
        )
        events = await collect(conversation, "go")
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code == "internal"
    (trace,) = (world.user_dir / "logs").iterdir()
    assert "RuntimeError: oops" in trace.read_text()


async def test_inserted_stages_run_at_their_phases(world: World) -> None:
    from clawft.agent.runtime import Insertion, Turn
    from clawft.contracts import Phase

    seen: list[str] = []

    def note(phase: Phase) -> Insertion:
        async def process(turn: Turn) -> None:
            state = f"{bool(turn.route.model)}{bool(turn.prompt.system)}{bool(turn.text)}{turn.score > 0}"
            seen.append(f"{phase.value} {state}")

        return Insertion(phase, "note", process)

    world.replies = [say("answer")]
    async with world.talk() as conversation:
        conversation.runtime.extensions = structs.replace(
            conversation.runtime.extensions, stages=tuple(note(phase) for phase in reversed(Phase))
        )
        await collect(conversation, "go")
    assert seen == [
        "pre_route FalseFalseFalseFalse",
        "pre_assemble TrueFalseFalseFalse",
        "pre_transport TrueTrueFalseFalse",
        "post_transport TrueTrueTrueFalse",
        "post_score TrueTrueTrueTrue",
    ]


async def test_a_session_is_continued(world: World) -> None:
    world.replies = [say("one"), say("two")]
    async with world.open() as runtime:
        from clawft.app.app import open_app

        agent = open_app(world.environ, str(world.project)).choose_agent()
        for text in ("first", "second"):
            async with open_conversation(runtime, agent, key="kept") as conversation:
                await collect(conversation, text)
    assert [one["content"] for one in world.sent()["messages"][1:]] == ["first", "one", "second"]


async def test_the_catalog_is_reported(world: World, tmp_path: Path) -> None:
    world.add_skill("mine")
    world.replies = [say("x")]
    (shown,) = only(await world.run(), CatalogShown)
    assert "mine" in shown.described


async def test_the_agent_may_send_a_message_while_it_works(world: World) -> None:
    world.replies = [call("message", {"text": "Half way there."}), say("done")]
    assert [one.text for one in only(await world.run(), MessageSent)] == ["Half way there."]


async def test_memory_is_part_of_the_prompt_and_turns_leave_a_history(world: World) -> None:
    world.replies = [call("memory_write", {"key": "colour", "content": "They like green."}), say("noted")]
    await world.run("remember that I like green", key="a")
    world.replies = [say("green")]
    await world.run("which colour?", key="b")
    assert "They like green." in world.sent()["messages"][0]["content"]
    assert "remember that I like green" in (world.user_dir / "memory" / "HISTORY.md").read_text()


async def test_a_turn_at_a_time(world: World) -> None:
    world.replies = [Reply(text=("x",), end="stall")]
    async with world.talk() as conversation:
        events = run_turn(conversation, TurnRequest("go"))
        await anext(events)
        with pytest.raises(ClawftError, match="still running"):
            await anext(run_turn(conversation, TurnRequest("again")))
        await events.aclose()
