"""A turn that goes on: what is cut is continued, what is too long is made shorter, and thoughts stay apart."""

import json
from typing import Any

import pytest

from clawft.agent.sessions import SessionStore
from clawft.messages import (
    Compacted,
    Event,
    Message,
    Noticed,
    TextDelta,
    ToolFinished,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from wire import Asked, Reply, WireServer, call, fail, say
from world import World, collect, error_of, only

pytestmark = pytest.mark.anyio

_TOO_LONG = {
    "openai": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    "anthropic": "prompt is too long: 208310 tokens > 200000 maximum",
    "llama.cpp": "the request exceeds the available context size (4096 tokens), try increasing it",
    "vllm": "The input (9001 tokens) is longer and exceeds the maximum of 8192",
}


def codes(events: list[Event]) -> list[str]:
    return [notice.code for notice in only(events, Noticed)]


def answer_of(events: list[Event]) -> str:
    (end,) = only(events, TurnFinished)
    return end.text


def history(world: World, key: str = "test") -> tuple[Message, ...]:
    return SessionStore(str(world.user_dir / "sessions")).read(key).messages


# Rounds of tools


async def test_the_end_of_the_rounds_says_how_to_go_on(world: World) -> None:
    world.config = "max_tool_iterations = 2\n"
    world.replies = lambda _: call("list_directory", {})
    events = await world.run()
    (notice,) = [notice for notice in only(events, Noticed) if notice.code == "max-iterations"]
    assert notice.hint == 'To go on, say so: weft agent --session test -m "Go on"'


async def test_a_hundred_rounds_are_allowed(world: World) -> None:
    world.replies = lambda asked: call("message", {"text": "on it"}) if len(asked.body["messages"]) < 200 else say("ok")
    assert answer_of(await world.run()) == "ok"


# The model's window


@pytest.mark.parametrize("message", _TOO_LONG.values(), ids=_TOO_LONG)
async def test_a_conversation_that_the_provider_finds_too_long_is_summarised_and_sent_again(
    world: World, message: str
) -> None:
    refused: list[int] = []

    def reply(asked: Asked) -> Reply:
        if asked.body["messages"][0]["content"].startswith("Summarise"):
            return say("They spoke of many things.")
        size = len(str(asked.body["messages"]))
        if refused or size < 60_000:
            return say("fine")
        refused.append(size)
        return fail(400, message)

    world.replies = reply
    async with world.talk() as conversation:
        events = [event for number in range(9) for event in await collect(conversation, f"{number} " + "z" * 9000)]
    assert "context-overflow" in codes(events)
    assert only(events, Compacted)
    assert not only(events, TurnFailed)
    assert len(str(world.sent()["messages"])) < refused[0]
    assert "They spoke of many things." in str(world.sent()["messages"])


async def test_a_conversation_that_stays_too_long_fails_the_turn(world: World) -> None:
    world.replies = lambda asked: fail(400, _TOO_LONG["openai"])
    events = await world.run()
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code == "provider-context"
    assert "context-overflow" in codes(events)


# Arguments of calls


@pytest.mark.parametrize(
    "written",
    [
        '{"text": "a\\nb",}',
        '{"text": "a\nb"}',
        '{"text": "a\nb",\n}',
        json.dumps(json.dumps({"text": "a\nb"})),
        '"{\\"text\\": \\"a\\\\nb\\",}"',
    ],
)
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_arguments_are_repaired_where_it_is_clear_what_was_meant(world: World, written: str, wire: str) -> None:
    world.replies = [Reply(calls=(("c1", "message", written),)), say("ok")]
    events = await world.run(wire=wire)
    (finished,) = only(events, ToolFinished)
    assert (finished.status, finished.result["context"]["params_input"]) == ("success", {"text": "a\nb"})


async def test_a_comma_in_a_text_is_no_trailing_comma(world: World) -> None:
    world.replies = [Reply(calls=(("c1", "message", '{"text": "[1,]\t\\"a,}\\"",}'),)), say("ok")]
    (finished,) = only(await world.run(), ToolFinished)
    assert finished.result["context"]["params_input"] == {"text": '[1,]\t"a,}"'}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('{"text": "a" "b"}', 'line 1, column 14, near \'{"text": "a" "b"}\''),
        ('["a"]', "They are a list, and must be an object"),
        ('{"text": "a', "Unterminated string"),
        ('{"text": NaN}', "INVALID_PARAM"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
async def test_arguments_that_cannot_be_read_say_what_is_wrong(world: World, written: str, problem: str) -> None:
    world.replies = [Reply(calls=(("c1", "message", written),)), say("ok")]
    (finished,) = only(await world.run(), ToolFinished)
    assert finished.status == "error"
    assert problem in error_of(finished)


# Answers that are cut


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_an_answer_that_is_cut_at_max_tokens_is_continued(world: World, wire: str) -> None:
    cut = "max_tokens" if wire == "anthropic" else "length"
    world.replies = [say("One, ", stop=cut), say("two, ", stop=cut), say("three.")]
    events = await world.run(wire=wire)
    assert answer_of(events) == "One, two, three."
    assert "".join(delta.text for delta in only(events, TextDelta)) == "One, two, three."
    assert [message.content for message in history(world)] == ["hello", "One, two, three."]
    assert "One, two, " in str(world.sent()["messages"][-2])
    assert "answer-cut" not in codes(events)


async def test_an_answer_that_never_ends_is_cut_in_the_end(world: World) -> None:
    world.replies = lambda _: say("more ", stop="length")
    events = await world.run()
    assert only(events, TurnFinished)[0].stop == "length"
    assert "answer-cut" in codes(events)
    assert len(world.server.asked) < 20


async def test_a_call_that_is_cut_is_asked_for_again_with_the_models_own_maximum(world: World) -> None:
    world.provider = "[providers.local.models.m]\nmax_output_tokens = 30_000"
    cut = Reply(calls=(("c1", "write_file", '{"path": "a", "content": "beg'),), stop="length")
    world.replies = [cut, call("write_file", {"path": "a", "content": "begin and end"}), say("done")]
    events = await world.run()
    assert [asked.body["max_tokens"] for asked in world.server.asked] == [4096, 30_000, 30_000]
    assert (world.project / "a").read_text() == "begin and end"
    assert [finished.status for finished in only(events, ToolFinished)] == ["success"]


async def test_a_call_that_is_cut_by_a_model_of_unknown_maximum_is_not_made(world: World) -> None:
    cut = Reply(
        calls=(("c1", "list_directory", "{}"), ("c2", "write_file", '{"path": "a", "content": "beg')), stop="length"
    )
    world.replies = [cut, say("sorry")]
    whole, broken = only(await world.run(), ToolFinished)
    assert (whole.status, broken.status) == ("success", "error")
    assert "cut off at 4096 tokens" in error_of(broken)
    assert not (world.project / "a").exists()


# Thoughts


@pytest.mark.parametrize("pieces", [("<think>hm, 1 < 2</think>\n\nYes.",), tuple(" <think>hm, 1 < 2</think>\n\nYes.")])
async def test_what_a_model_thinks_in_its_text_is_no_part_of_the_answer(world: World, pieces: tuple[str, ...]) -> None:
    world.replies = [say(*pieces)]
    events = await world.run()
    assert answer_of(events) == "Yes."
    assert "".join(delta.text for delta in only(events, TextDelta)) == "Yes."
    assert [part.text for part in history(world)[-1].reasoning] == ["hm, 1 < 2"]


@pytest.mark.parametrize("text", ["Write <think>x</think> so.", "<thin", "<think", "  <b>"])
async def test_an_answer_that_only_speaks_of_the_tag_stays_whole(world: World, text: str) -> None:
    world.replies = [say(*text)]
    assert answer_of(await world.run()) == text


async def test_thoughts_that_never_end_leave_no_answer_and_a_valid_history(world: World) -> None:
    world.replies = [say("<think>hm"), say("better")]
    async with world.talk() as conversation:
        first, second = await collect(conversation, "a"), await collect(conversation, "b")
    assert "answer-empty" in codes(first)
    assert answer_of(second) == "better"


async def test_thoughts_go_back_between_the_calls_of_a_turn_and_no_longer(world: World) -> None:
    replies = [
        Reply(thought="first thought", calls=(("c1", "list_directory", "{}"),)),
        Reply(text=("<think>second thought</think>",), calls=(("c2", "list_directory", "{}"),)),
        Reply(thought="third thought", text=("done",)),
        say("again"),
    ]
    world.replies = replies
    async with world.talk() as conversation:
        await collect(conversation, "a")
        in_turn = [message for message in world.sent()["messages"] if message["role"] == "assistant"]
        await collect(conversation, "b")
    assert [message.get("reasoning_content") for message in in_turn] == ["first thought", None]
    assert in_turn[1]["content"].startswith("<think>second thought</think>")
    assert "thought" not in str(world.sent()["messages"][1:])


async def test_signed_thoughts_go_back_as_they_came(world: World) -> None:
    world.replies = [
        Reply(thought="I look", text=("Let me look.",), calls=(("c1", "list_directory", "{}"),)),
        say("done"),
    ]
    await world.run(wire="anthropic")
    (sent,) = [message for message in world.sent()["messages"] if message["role"] == "assistant"]
    assert sent["content"][0] == {"type": "thinking", "thinking": "I look", "signature": "signed 6"}
    assert [block["type"] for block in sent["content"]] == ["thinking", "text", "tool_use"]


async def test_a_secret_in_a_thought_is_masked_and_the_thought_not_sent_back(world: World) -> None:
    secret = "sk-very-secret-value-0123456789"
    world.environ["MY_KEY"] = secret
    world.provider = 'api_key = { env = "MY_KEY" }'
    world.replies = [Reply(thought=f"it is {secret}", calls=(("c1", "list_directory", "{}"),)), say("done")]
    await world.run(wire="anthropic")
    assert "thinking" not in str(world.sent()["messages"])
    assert history(world)[1].reasoning[0].text == "it is <secret>"


# Empty answers


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_an_empty_answer_leaves_a_history_that_servers_take(world: World, wire: str) -> None:
    def reply(asked: Asked) -> Reply:
        for message in asked.body["messages"]:
            if message["role"] == "assistant" and "content" not in message and not message.get("tool_calls"):
                return fail(400, "a message needs content or tool_calls")
        return Reply() if len(asked.body["messages"]) <= 2 and "first" in str(asked.body["messages"][-1]) else say("ok")

    world.replies = reply
    async with world.talk(wire=wire) as conversation:
        first, second = await collect(conversation, "first"), await collect(conversation, "and now?")
    assert "answer-empty" in codes(first)
    assert only(second, TurnFinished)


# Fallbacks


def add_provider(world: World, name: str, server: WireServer) -> None:
    world.provider += f'\nmax_retries = 0\n[providers.{name}]\nwire = "anthropic"\nbase_url = "{server.url}"\n'


@pytest.mark.parametrize("status", [401, 404, 500])
async def test_a_second_model_takes_over_when_the_first_fails_for_good(world: World, status: int) -> None:
    world.replies = [fail(status, "no")]
    with WireServer([say("I am here.")]) as second:
        add_provider(world, "second", second)
        world.config = 'fallbacks = ["second/n"]\n'
        events = await world.run()
    assert answer_of(events) == "I am here."
    (notice,) = [notice for notice in only(events, Noticed) if notice.code == "model-fallback"]
    assert notice.message.startswith("local/m failed: ")
    assert notice.message.endswith("second/n takes over for this turn")
    assert second.asked[0].body["model"] == "n"


async def test_a_fallback_goes_on_in_the_middle_of_a_turn_without_the_others_thoughts(world: World) -> None:
    world.replies = [Reply(thought="mine", calls=(("c1", "list_directory", "{}"),)), fail(500)]
    with WireServer([say("done")]) as second:
        add_provider(world, "second", second)
        world.config = 'fallbacks = ["gone/x", "second/n"]\n'
        events = await world.run()
    assert answer_of(events) == "done"
    assert codes(events).count("model-fallback") == 2  # one of them cannot be used
    assert "mine" not in str(second.asked[0].body)
    assert len(only(events, TurnStarted)) == 1


async def test_without_a_fallback_that_works_the_first_failure_is_the_answer(world: World) -> None:
    world.provider = "max_retries = 0\n"
    world.config = 'fallbacks = ["gone/x"]\n'
    world.replies = [fail(500, "broken")]
    end: Any = (await world.run())[-1]
    assert (type(end), end.code) == (TurnFailed, "provider-failed")


async def test_a_model_that_cannot_even_be_opened_has_a_fallback_too(world: World) -> None:
    world.config = 'fallbacks = ["local/m"]\n'
    world.replies = [say("I am here.")]
    events = await world.run(model="nowhere/x")
    assert answer_of(events) == "I am here."
    assert "model-fallback" in codes(events)
