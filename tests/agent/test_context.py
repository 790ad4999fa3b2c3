"""What a turn is told and keeps: instructions, summaries of what is old, and no secret."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.run_request import TurnRequest
from clawft.agent.sessions import SessionStore
from clawft.app.app import open_app
from clawft.messages import (
    Compacted,
    MessageSent,
    Noticed,
    TextDelta,
    ToolFinished,
    TurnFailed,
    TurnFinished,
)
from wire import Reply, call, say
from world import ASKING, World, collect, only

pytestmark = pytest.mark.anyio


async def test_instructions_need_an_approval_and_ask_again_when_they_change(world: World) -> None:
    told = world.project / "AGENTS.md"
    told.write_text("Use tabs.\n")
    world.replies = lambda asked: say("x")
    events = await world.run(key="a")
    assert "instructions-untrusted" in [one.code for one in only(events, Noticed)]
    assert "Use tabs." not in str(world.sent())
    app = open_app(world.environ, str(world.project))
    app.approve_instructions(app.find_waiting_instructions())
    events = await world.run(key="b")
    assert "instructions-untrusted" not in [one.code for one in only(events, Noticed)]
    assert "Use tabs." in world.sent()["messages"][0]["content"]
    told.write_text("Use spaces.\n")
    events = await world.run(key="c")
    assert "instructions-untrusted" in [one.code for one in only(events, Noticed)]
    assert "Use" not in world.sent()["messages"][0]["content"].partition("# Workspace")[2]
    assert "Use spaces." not in str(world.sent())


async def test_a_conversation_is_told_once_of_instructions_that_are_left_out(world: World) -> None:
    (world.project / "AGENTS.md").write_text("Use tabs.\n")
    world.replies = lambda asked: say("x")
    async with world.talk() as conversation:
        told = [only(await collect(conversation, TurnRequest("hi")), Noticed) for _ in range(2)]
    assert [["instructions-untrusted" in [one.code for one in said]] for said in told] == [[True], [False]]


async def test_the_users_own_instructions_need_no_approval(world: World) -> None:
    (world.user_dir / "AGENTS.md").write_text("Be brief.\n")
    world.replies = [say("x")]
    await world.run()
    assert "Be brief." in world.sent()["messages"][0]["content"]


# Compaction


async def test_old_turns_are_summarised_and_skills_stay_whole(world: World) -> None:
    world.add_skill("deploy", "UNIQUE BODY " + "y" * 500)
    world.config = "context_window = 8000\nmax_tokens = 100\n[agents.compaction]\nkeep_turns = 1\nat = 0.6\n"

    def reply(asked: Any) -> Reply:
        messages = asked.body["messages"]
        if messages[0]["content"].startswith("Summarise"):
            return say("They spoke of many things.")
        if len(messages) == 2:
            return call("Skill", {"name": "deploy"})
        return say("word " * 400)

    world.replies = reply
    async with world.talk() as conversation:
        events = [
            event for number in range(12) for event in await collect(conversation, f"question {number} " + "z" * 400)
        ]
    compacted = only(events, Compacted)
    assert compacted
    assert all(one.tokens_after < one.tokens_before for one in compacted)
    assert not only(events, TurnFailed)
    sent = str(world.sent()["messages"])
    assert sent.count("UNIQUE BODY") == 1
    assert "They spoke of many things." in sent
    transcript = SessionStore(str(world.user_dir / "sessions")).read("test")
    assert "question 0" in str(transcript.messages)  # nothing is lost on disk


async def test_long_results_of_one_turn_are_shortened_when_the_window_fills(world: World) -> None:
    (world.project / "long.txt").write_text("line of text\n" * 600)
    world.config = "context_window = 14000\nmax_tokens = 100\n"

    def reply(asked: Any) -> Reply:
        usage = (len(str(asked.body)) // 4, 5)
        count = len(asked.body["messages"])
        return call("read_file", {"path": "long.txt"}, f"c{count}", usage=usage) if count < 14 else say("done")

    world.replies = reply
    events = await world.run()
    assert only(events, Compacted)
    assert isinstance(events[-1], TurnFinished)
    assert "were left out to save room" in str(world.sent()["messages"])


async def test_a_message_that_can_never_fit_fails_with_a_hint(world: World) -> None:
    world.config = "context_window = 4000\n"
    events = await world.run("x" * 100_000)
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code == "context-full"
    assert world.server.asked == []


# Secrets


async def test_a_secret_is_masked_wherever_it_comes_from(world: World) -> None:
    secret = "sk-very-secret-value-0123456789"
    world.environ["MY_KEY"] = secret
    world.provider = 'api_key = { env = "MY_KEY" }'
    (world.project / "leak.txt").write_text(f"the key is {secret}\n")
    half = len(secret) // 2
    world.replies = [call("read_file", {"path": "leak.txt"}), say("it is ", secret[:half], secret[half:], " ok")]
    events = await world.run(f"is {secret} my key?")
    assert world.server.asked[0].headers["authorization"] == f"Bearer {secret}"
    assert secret not in str(events)
    assert "".join(one.text for one in only(events, TextDelta)) == "it is <secret> ok"
    assert all(secret not in str(asked.body) for asked in world.server.asked)
    for path in world.user_dir.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()


async def test_a_secret_is_masked_in_what_is_saved_of_long_output(world: World) -> None:
    secret = "sk-very-secret-value-0123456789"
    world.environ["MY_KEY"] = secret
    world.provider = 'api_key = { env = "MY_KEY" }'
    (world.project / "long.txt").write_text(f"{secret}\n" + "x\n" * 50_000 + f"{secret}\n")
    world.replies = [call("exec_shell", {"command": "cat long.txt"}), say("ok")]
    (finished,) = only(await world.run(), ToolFinished)
    saved = Path(finished.result["data"]["saved_to"]).read_text()
    assert len(saved) > 90_000
    assert secret not in saved


async def test_git_in_a_repository_that_names_programs_is_asked_for(world: World) -> None:
    world.environ |= ASKING
    subprocess.run(["git", "init", "-q", world.project], check=True, timeout=60)
    with open(world.project / ".git" / "config", "a") as file:
        file.write(f"[diff]\nexternal = touch {world.project}/pwned\n")
    (world.project / "a").write_text("a")
    world.replies = [call("exec_shell", {"command": "git status"}), say("ok")]
    (finished,) = only(await world.run(), ToolFinished)
    assert finished.result["error"]["code"] == "PERMISSION_DENIED"
    assert "may start a program, or lead elsewhere (diff.external)" in finished.result["error"]["message"]


async def test_a_secret_that_is_an_ordinary_word_breaks_nothing(world: World) -> None:
    world.environ["MY_KEY"] = "assistant"  # the name of a role, too
    world.provider = 'api_key = { env = "MY_KEY" }'
    world.replies = [call("message", {"text": "your assistant"}), say("done")]
    events = await world.run()
    assert only(events, MessageSent)[0].text == "your <secret>"
    assert [one["role"] for one in world.sent()["messages"]] == ["system", "user", "assistant", "tool"]


async def test_a_message_that_can_never_fit_leaves_the_conversation_as_it_was(world: World) -> None:
    world.config = "context_window = 9000\n"
    world.replies = [say("fine")]
    async with world.talk() as conversation:
        refused = await collect(conversation, "x" * 100_000)
        worked = await collect(conversation, "hi")
    assert isinstance(refused[-1], TurnFailed)
    assert only(worked, TurnFinished)[0].text == "fine"
    assert len(world.sent()["messages"]) == 2
