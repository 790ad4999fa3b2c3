"""The REPL from key to screen: answers, Ctrl-C, commands, leaving and coming back."""

import asyncio
import json

import pytest

from clawft.agent.sessions import SessionStore
from clawft.cli.options import TurnOptions
from clawft.errors import ClawftError
from terminal import CTRL_C, CTRL_D, CTRL_O, Open
from wire import call, say
from world import World

pytestmark = pytest.mark.anyio


async def test_answer_is_shown_as_markdown_and_the_prompt_comes_back(world: World, terminal: Open) -> None:
    world.replies = [say("# Title\n\n", "It is **bo", "ld**.\n\n- one\n- two\n"), say("And more.")]
    async with terminal() as t:
        t.type("hello\r")
        await t.wait_for("It is bold.")
        await t.wait_for("one")
        await t.prompt()
        assert "**" not in t.text()
        t.type("go on\r")
        await t.wait_for("And more.")
        assert [m["content"] for m in world.sent()["messages"] if m["role"] == "user"] == ["hello", "go on"]


async def test_ctrl_c_stops_the_turn_and_keeps_the_session(world: World, terminal: Open) -> None:
    world.replies = [say("Half a sent", end="stall"), say("Here again.")]
    async with terminal() as t:
        t.type("hello\r")
        await t.wait_for("Half a sent")
        t.type(CTRL_C)
        await t.wait_for("stopped; what came so far is kept")
        await t.prompt()
        t.type("again\r")
        await t.wait_for("Here again.")
        sent = [m["content"] for m in world.sent()["messages"]]
        assert "hello" in sent
        assert any("Half a sent" in one for one in sent)


async def test_second_ctrl_c_leaves_and_says_how_to_resume(world: World, terminal: Open) -> None:
    world.replies = [say("Half", end="stall")]
    async with terminal() as t:
        t.type("hello\r")
        await t.wait_for("Half")
        t.type(CTRL_C)
        await t.wait_for("Ctrl-C again leaves")
        await t.prompt()
        t.type(CTRL_C)
        assert await t.ended() == 0
        assert f"weft agent --session {t.repl.key}" in t.text()
        assert t.repl.key


async def test_ctrl_c_at_an_empty_prompt_leaves_only_the_second_time(terminal: Open) -> None:
    async with terminal() as t:
        t.type("draft" + CTRL_C)
        t.type(CTRL_C)
        await t.wait_for("Ctrl-C again leaves")
        await t.prompt()
        t.type("/nothing\r")
        await t.wait_for("Unknown command")
        await t.prompt()
        t.type(CTRL_C)
        await t.wait_for("Ctrl-C again leaves", 2)
        await t.prompt()
        t.type(CTRL_C)
        assert await t.ended() == 0
        assert "To go on" not in t.text()


async def test_ctrl_d_leaves(terminal: Open) -> None:
    async with terminal() as t:
        t.type(CTRL_D)
        assert await t.ended() == 0


async def test_exit_leaves_and_the_session_goes_on_later(world: World, terminal: Open) -> None:
    world.replies = [say("Noted.")]
    async with terminal() as t:
        t.type("remember 7\r")
        await t.wait_for("Noted.")
        await t.prompt()
        t.type("/exit\r")
        await t.ended()
        key = t.repl.key
    world.replies = [say("It was 7.")]
    async with terminal(options=TurnOptions(session=key)) as t:
        assert f"session {key}" in t.text()
        t.type("which?\r")
        await t.wait_for("It was 7.")
        assert "remember 7" in json.dumps(world.sent())


async def test_unknown_command_is_named_with_the_close_one(terminal: Open) -> None:
    async with terminal() as t:
        t.type("/x\r")
        await t.wait_for("Unknown command: /x. Type /help for available commands.")
        await t.prompt()
        t.type("/exitt\r")
        await t.wait_for("Did you mean /exit?")


async def test_skill_starts_by_its_name(world: World, terminal: Open) -> None:
    world.add_skill("greet", "Say hello to $ARGUMENTS.")
    world.replies = [say("Hello, Ada!")]
    async with terminal() as t:
        t.type("/greet Ada\r")
        await t.wait_for("Hello, Ada!")
        assert "skill greet (user)" in t.text()
        assert "Say hello to Ada." in json.dumps(world.sent())


async def test_tools_are_one_line_and_open_with_ctrl_o(world: World, terminal: Open) -> None:
    (world.project / "notes.txt").write_text("first line\nsecond line\n")
    world.replies = [call("read_file", {"path": "notes.txt"}), say("Read it.")]
    async with terminal() as t:
        t.type("read the notes\r")
        await t.wait_for("Read it.")
        await t.prompt()
        assert "· read_file notes.txt" in t.text()
        assert "second line" not in t.text()
        t.type(CTRL_O)
        await t.wait_for("▼ read_file notes.txt")
        await t.wait_for("second line")


async def test_ctrl_o_in_the_middle_of_an_answer_opens_after_it(world: World, terminal: Open) -> None:
    (world.project / "notes.txt").write_text("folded text\n")
    world.replies = [call("read_file", {"path": "notes.txt"}), say("Half", end="stall")]
    async with terminal() as t:
        t.type("read\r")
        await t.wait_for("Half")
        t.type(CTRL_O + CTRL_C)
        await t.wait_for("folded text")
        assert t.text().index("Half") < t.text().index("folded text")


async def test_typed_ahead_text_waits_for_the_next_prompt(world: World, terminal: Open) -> None:
    world.replies = [say("Half", end="stall"), say("Second.")]
    async with terminal() as t:
        t.type("one\r")
        await t.wait_for("Half")
        t.type("twx\x7fo")
        t.type(CTRL_C)
        await t.wait_for("> two")
        assert len(world.server.asked) == 1
        t.type("\r")
        await t.wait_for("Second.")
        assert world.sent()["messages"][-1]["content"] == "two"


async def test_long_paste_during_a_turn_is_kept_whole(world: World, terminal: Open) -> None:
    world.replies = [say("Half", end="stall"), say("Second.")]
    pasted = "word " * 40_000
    async with terminal() as t:
        t.type("one\r")
        await t.wait_for("Half")
        await t.paste(pasted, CTRL_C)
        await t.wait_for("200,000 characters]")
        t.type("\r")
        await t.wait_for("Second.")
        assert world.sent()["messages"][-1]["content"] == pasted


async def test_failed_turn_is_told_with_its_hint_and_the_prompt_comes_back(world: World, terminal: Open) -> None:
    world.config = '[agents.defaults]\nmodel = "nowhere/m"\n'
    async with terminal() as t:
        t.type("hello\r")
        await t.wait_for("error[")
        await t.wait_for("hint: ")
        await t.prompt()
        t.type("/exit\r")
        assert await t.ended() == 0


async def test_bug_in_a_command_is_shown_and_the_prompt_comes_back(world: World, terminal: Open) -> None:
    async with terminal() as t:
        t.repl.app.skills = None  # type: ignore[assignment]
        t.type("/x\r")
        await t.wait_for("error[internal]")
        await t.wait_for("TypeError")
        await t.wait_for("The details are in")
        await t.prompt()
        t.type(CTRL_D)
        assert await t.ended() == 0


async def test_bug_while_the_config_is_broken_is_shown_too(world: World, terminal: Open) -> None:
    async with terminal() as t:
        t.repl.app.skills = None  # type: ignore[assignment]
        del t.repl.app.config
        (world.user_dir / "config.toml").write_text("[agents")
        t.type("/x\r")
        await t.wait_for("error[internal]")
        await t.prompt()


async def test_ctrl_c_at_the_question_of_a_command_brings_the_prompt_back(world: World, terminal: Open) -> None:
    world.replies = [call("write_file", {"path": "new.txt", "content": "x"}), say("Written."), say("On.")]
    async with terminal(options=TurnOptions(yes=True)) as t:
        t.type("write\r")
        await t.wait_for("Written.")
        await t.prompt()
        t.type("/undo\r")
        await t.wait_for("new.txt", 2)
        t.type(CTRL_C)
        await t.wait_for("\n>", 3)
        t.type("go on\r")
        await t.wait_for("On.")


async def test_narrow_screen_shows_everything(world: World, terminal: Open) -> None:
    world.replies = [
        call("exec_shell", {"command": "ls " + "long-name " * 20}),
        say("A sentence that is longer than forty columns are wide, by far."),
    ]
    async with terminal(columns=40) as t:
        t.type("hello\r")
        await t.wait_for("A sentence")
        assert max(map(len, t.text().split("\n"))) <= 40
        assert "A sentence that is longer than forty" in t.text()


async def test_status_tells_what_runs_and_for_how_long(world: World, terminal: Open) -> None:
    world.replies = [call("read_file", {"path": "x"}), say(end="stall")]
    async with terminal() as t:
        t.type("hello\r")
        await t.wait_for("thinking 0 s")
        await t.wait_for("tokens · Ctrl-C stops")
        t.type(CTRL_C)
        await t.wait_for("stopped")
        assert "Ctrl-C stops" not in t.text()


async def test_without_colour_no_colour_is_written(world: World, terminal: Open) -> None:
    world.replies = [say("# Title\n\n`code` and **bold**\n")]
    async with terminal(colour=False) as t:
        t.type("hello\r")
        await t.wait_for("code and bold")
        answer = t.raw()[t.raw().index("Title") :]
        assert "\x1b[1m" not in answer
        assert "\x1b[3" not in answer


async def test_files_and_pictures_are_attached_by_name(world: World, terminal: Open) -> None:
    (world.project / "a b.txt").write_text("the text of it")
    (world.project / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n1234")
    world.replies = [say("Seen.")]
    async with terminal() as t:
        t.type("look at @a\\ b.txt and @dot.png and @nobody\r")
        await t.wait_for("Seen.")
        assert "attached a b.txt: text, 14 bytes" in t.text()
        content = json.dumps(world.sent()["messages"][-1])
        assert "the text of it" in content
        assert "data:image/png;base64," in content


async def test_pasted_text_of_a_stranger_attaches_no_files(world: World, terminal: Open) -> None:
    (world.project / "secret.txt").write_text("the secret")
    world.replies = [say("Read.")]
    async with terminal() as t:
        await t.paste("@secret.txt " * 300, "\r")
        await t.wait_for("Read.")
        assert "the secret" not in json.dumps(world.sent())


async def test_hang_up_ends_the_turn_and_the_repl(world: World, terminal: Open) -> None:
    world.replies = [say("Half", end="stall")]
    async with terminal() as t:
        t.type("hello\r")
        await t.wait_for("Half")
        t.hang_up()
        assert await t.ended() == 0


async def test_reload_sees_new_settings_and_keeps_the_conversation(world: World, terminal: Open) -> None:
    world.replies = [say("One."), say("Two.")]
    async with terminal() as t:
        t.type("first\r")
        await t.wait_for("One.")
        await t.prompt()
        key = t.repl.key
        before = await t.repl.runtime()
        world.add_skill("fresh")
        await t.repl.reload()
        assert "fresh" in {one.name for one in t.repl.app.skills}
        t.type("second\r")
        await t.wait_for("Two.")
        assert t.repl.key == key
        assert await t.repl.runtime() is not before
        assert "first" in json.dumps(world.sent())


async def test_reload_of_a_broken_config_changes_nothing(world: World, terminal: Open) -> None:
    async with terminal() as t:
        before, runtime = t.repl.app, await t.repl.runtime()
        (world.user_dir / "config.toml").write_text("[agents")
        with pytest.raises(ClawftError, match="cannot be parsed"):
            await t.repl.reload()
        assert t.repl.app is before
        assert await t.repl.runtime() is runtime


async def test_everything_is_closed_when_the_repl_is_cancelled(world: World, terminal: Open) -> None:
    world.replies = [say("One.")]
    async with terminal() as t:
        t.type("first\r")
        await t.wait_for("One.")
        t.running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await t.ended()
        assert "To go on with this" in t.text()
        with SessionStore(str(world.user_dir / "sessions")).open(t.repl.key):
            pass  # nobody else holds it
