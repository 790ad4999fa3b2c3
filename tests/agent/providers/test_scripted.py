"""Answers from a file: the format, the order of steps, and what is wrong with a script."""

import time
from pathlib import Path

import pytest

from clawft.agent.providers.request import (
    CallChunk,
    Chunk,
    DoneChunk,
    ModelRequest,
    ProviderError,
    StreamCut,
    TextChunk,
)
from clawft.agent.providers.scripted import ScriptedProvider, load_scripted, parse_script
from clawft.errors import ClawftError
from clawft.messages import Message, ToolCall, Usage

pytestmark = pytest.mark.anyio


async def ask(provider: ScriptedProvider, text: str = "hi") -> list[Chunk]:
    return [chunk async for chunk in provider.stream(ModelRequest("m", (Message("user", text),)))]


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


async def test_steps_are_given_in_order_then_the_script_has_ended() -> None:
    provider = ScriptedProvider(parse_script('[{"text": "one  two\\n"}, {"text": "three"}]'))
    first = await ask(provider)
    assert first[:2] == [TextChunk("one  "), TextChunk("two\n")]
    assert text_of(await ask(provider)) == "three"
    with pytest.raises(ProviderError) as caught:
        await ask(provider)
    assert caught.value.code == "script-ended"


async def test_script_with_a_loop_begins_again() -> None:
    provider = ScriptedProvider(parse_script('{"loop": true, "steps": [{"text": "a"}, {"text": "b"}]}'))
    assert [text_of(await ask(provider)) for _ in range(5)] == ["a", "b", "a", "b", "a"]


async def test_script_in_lines_is_read() -> None:
    provider = ScriptedProvider(parse_script('{"text": "a"}\n{"text": "b"}\n'))
    assert [text_of(await ask(provider)) for _ in range(2)] == ["a", "b"]
    assert text_of(await ask(ScriptedProvider(parse_script('{"text": "alone"}')))) == "alone"


async def test_tool_calls_come_with_ids_and_usage_is_counted() -> None:
    step = '[{"text": "look", "tool_calls": [{"name": "x", "arguments": {"a": 1}}, {"name": "y", "id": "mine"}]}]'
    chunks = await ask(ScriptedProvider(parse_script(step)), "a" * 40)
    assert chunks[1:3] == [CallChunk(ToolCall("call_1_1", "x", {"a": 1})), CallChunk(ToolCall("mine", "y"))]
    assert chunks[3] == DoneChunk("tools", Usage(10, 4))


async def test_step_is_chosen_by_what_the_user_said() -> None:
    script = '[{"text": "rain", "expect": "(?i)weather"}, {"text": "any"}, {"text": "again", "expect": "^weather"}]'
    provider = ScriptedProvider(parse_script(script))
    assert text_of(await ask(provider, "hello")) == "any"
    assert text_of(await ask(provider, "The Weather?")) == "rain"
    assert text_of(await ask(provider, "weather again")) == "again"


async def test_step_may_fail_before_or_after_its_text() -> None:
    script = '[{"error": {"code": "provider-limited", "message": "slow"}}, {"text": "half", "error": {}}]'
    provider = ScriptedProvider(parse_script(script))
    with pytest.raises(ProviderError, match="slow") as caught:
        await ask(provider)
    assert caught.value.code == "provider-limited"
    with pytest.raises(StreamCut):
        await ask(provider)


async def test_stop_and_delay_are_followed() -> None:
    provider = ScriptedProvider(parse_script('[{"text": "cut of", "stop": "length", "delay_ms": 50}]'))
    started = time.monotonic()
    chunks = await ask(provider)
    assert time.monotonic() - started >= 0.05
    assert isinstance(chunks[-1], DoneChunk)
    assert chunks[-1].stop == "length"


@pytest.mark.parametrize(
    "text",
    ["", "nope", "7", '{"steps": 1}', '[{"txt": "a"}]', '{"text": "a"}\n{"txt": 1}', '[{"expect": "("}]', "[" * 9999],
)
def test_script_that_cannot_be_used_is_told(text: str) -> None:
    with pytest.raises(ClawftError) as caught:
        parse_script(text, "answers.json")
    assert (caught.value.code, caught.value.diagnostic.path) == ("script-invalid", "answers.json")


def test_script_that_is_no_text_is_told() -> None:
    with pytest.raises(ClawftError) as caught:
        parse_script(b'[{"text": "\xff"}]')
    assert caught.value.code == "script-invalid"


async def test_script_is_loaded_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"text": "hi"}]')
    provider = load_scripted("fake", "a.json", base_dir=str(tmp_path))
    assert text_of(await ask(provider)) == "hi"
    await provider.close()


def test_script_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClawftError) as caught:
        load_scripted("fake", "gone.json", base_dir=str(tmp_path))
    assert caught.value.code == "script-missing"


async def test_a_script_by_turn_answers_by_the_place_in_the_conversation_alone() -> None:
    calls = '{"tool_calls": [{"name": "t", "arguments": {"of": ["{asked}"]}}]}'
    script = parse_script(f'{{"by_turn": true, "steps": [{calls}, {{"text": "end {{asked}}"}}]}}')
    first = (Message("user", "one"),)
    second = (*first, Message("assistant", None), Message("tool", "", tool_call_id="x"))
    for _ in range(2):  # as often as it is asked, and by whatever process
        provider = ScriptedProvider(script)
        assert [one async for one in provider.stream(ModelRequest("m", second))][:2] == [
            TextChunk("end "),
            TextChunk("one"),
        ]
        called = (await ask(provider, "one"))[0]
        assert isinstance(called, CallChunk)
        assert called.call.arguments == {"of": ["one"]}
