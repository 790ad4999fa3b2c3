"""The prompt: several lines, history, pastes; and the same for screen readers."""

import json
import stat

import pytest

from clawft.cli.repl.reader import MAX_HISTORY_BYTES, open_history
from clawft.workspace import find_workspace
from effort import within
from terminal import ALT_ENTER, CTRL_C, CTRL_D, CTRL_J, UP, Open
from wire import call, say
from world import ASKING, World

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("key", [ALT_ENTER, CTRL_J, "\\\r"])
async def test_message_of_several_lines(world: World, terminal: Open, key: str) -> None:
    world.replies = [say("Read.")]
    async with terminal() as t:
        t.type(f"one{key}")
        await t.wait_for("> one\n")
        t.type("two\r")
        await t.wait_for("Read.")
        assert world.sent()["messages"][-1]["content"] == "one\ntwo"


async def test_up_arrow_brings_back_lines_of_this_project(world: World, terminal: Open) -> None:
    world.replies = [say("First."), say("Again.")]
    async with terminal() as t:
        t.type("the message\r")
        await t.wait_for("First.")
    async with terminal() as t:
        t.type(UP)
        await t.prompt("the message")
    world.project = world.project.parent / "other"
    (world.project / ".clawft").mkdir(parents=True)
    async with terminal() as t:
        t.type(UP + "x")
        await t.prompt("x")
        assert "the message" not in t.text()


async def test_history_is_the_users_alone_and_bounded(world: World) -> None:
    workspace = find_workspace(world.environ, str(world.project))
    history = open_history(workspace)
    history.append_string("a secret line")
    (file,) = (world.user_dir / "history").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o644)
    for number in range(3):
        history.append_string(f"{number} " + "x" * (MAX_HISTORY_BYTES // 2))
    history.append_string("the last line")
    kept = list(open_history(workspace).load_history_strings())
    assert kept == ["the last line"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_without_a_place_for_it_there_is_still_a_history(world: World, terminal: Open) -> None:
    (world.user_dir / "history").write_text("in the way")
    async with terminal() as t:
        t.type("/nothing\r")
        await t.wait_for("Unknown")
        await t.prompt()
        t.type(UP)
        await t.prompt("/nothing")


async def test_link_in_place_of_the_history_is_not_followed(world: World) -> None:
    workspace = find_workspace(world.environ, str(world.project))
    open_history(workspace)
    (file,) = (world.user_dir / "history").iterdir()
    file.unlink()
    target = world.home / "target"
    target.write_text("precious")
    file.symlink_to(target)
    open_history(workspace).append_string("typed")
    assert target.read_text() == "precious"


async def test_paste_of_a_megabyte_does_not_freeze_the_prompt(world: World, terminal: Open) -> None:
    world.config = "context_window = 1_000_000\n"
    world.replies = [say("Read it all.")]
    pasted = "a line of pasted text\r\n" * 45_000
    async with terminal() as t:
        with within(2):
            await t.paste(pasted)
            await t.wait_for("characters]")
        t.type(" summarise this\r")
        await t.wait_for("Read it all.")
        assert world.sent()["messages"][-1]["content"] == pasted.replace("\r\n", "\n") + " summarise this"


async def test_short_paste_stands_in_the_prompt_and_sends_nothing(world: World, terminal: Open) -> None:
    async with terminal() as t:
        await t.paste("first\r\nsecond\r\n")
        await t.wait_for("  second")
        t.type(CTRL_C)
        await t.prompt()
        assert world.server.asked == []


async def test_paste_mark_of_another_session_is_not_sent(world: World, terminal: Open) -> None:
    async with terminal() as t:
        t.type("[paste 0a1b2c: 9,999 characters]\r")
        await t.wait_for("error[paste-gone]")
        assert world.server.asked == []


async def test_plain_mode_writes_no_escape_codes(world: World, terminal: Open) -> None:
    world.environ |= ASKING
    world.replies = [call("exec_shell", {"command": "touch made"}), say("# Title\n\nIt is **bold**.\n")]
    async with terminal(plain=True) as t:
        t.type("helo\x7flo\r")
        await t.wait_for("[N]o:")
        t.type("y\r")
        await t.wait_for("It is bold.")
        await t.prompt()
        t.type(UP)
        await t.prompt("hello")
        t.type(CTRL_C + CTRL_D)
        assert await t.ended() == 0
        written = t.raw().replace("\x1b[?2004h", "").replace("\x1b[?2004l", "")  # pastes; nothing is shown of it
        assert "\x1b" not in written
        assert "> hello" in t.text()
        assert world.sent(0)["messages"][-1]["content"] == "hello"


async def test_plain_mode_reads_a_paste_as_one_message(world: World, terminal: Open) -> None:
    world.replies = [say("Read.")]
    async with terminal(plain=True) as t:
        await t.paste("one\ntwo\n", "\r")
        await t.wait_for("Read.")
        assert json.dumps(world.sent()).count("one\\ntwo") == 1
