"""`/undo` and `/redo`: a turn is taken back with what it changed, after a question, and brought back."""

from collections.abc import Awaitable, Callable

import pytest

from clawft.agent.sessions import SessionStore
from clawft.cli.options import TurnOptions
from terminal import CTRL_C, Open, Terminal
from wire import Reply, call, say
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]
NOTHING = "There is nothing to undo: this session has no turn"
FIRST = "There is nothing to undo: the session begins with your first message"


def write(path: str, content: str) -> list[Reply]:
    """A turn in which the agent writes a file."""
    return [call("write_file", {"path": path, "content": content}), say("Written.")]


async def test_undo_shows_what_it_does_and_asks(world: World, terminal: Open, enter: Enter) -> None:
    (world.project / "old.txt").write_text("old")
    both = call("write_file", {"path": "old.txt", "content": "new"})
    world.replies = [both, call("write_file", {"path": "made.txt", "content": "x"}), say("Done.")]
    async with terminal(columns=100) as t:
        assert await enter(t, "/undo") == FIRST
        await enter(t, "write")
        t.type("/undo\r")
        preview = "  remove      made.txt\n  change      old.txt\nGo on? [y/N]"
        await t.wait_for(f"Undo turn 1; the conversation goes on from its beginning\n{preview}")
        t.type("y\r")
        await t.wait_for("Done: 2 files. /redo takes this back")
        assert (world.project / "old.txt").read_text() == "old"
        assert not (world.project / "made.txt").exists()
        await t.wait_for("\n>", 3)
        assert await enter(t, "/undo") == NOTHING


@pytest.mark.parametrize("answer", ["\r", "n\r", CTRL_C])
async def test_anything_but_yes_changes_nothing(world: World, terminal: Open, enter: Enter, answer: str) -> None:
    world.replies = write("a.txt", "new")
    async with terminal(columns=100) as t:
        await enter(t, "write")
        t.type("/undo\r")
        await t.wait_for("Go on? [y/N]")
        t.type(answer)
        await t.wait_for("Nothing was changed")
        assert (world.project / "a.txt").read_text() == "new"
        assert [record.turn for record in SessionStore(str(world.user_dir / "sessions")).read(t.repl.key).branch][
            -1
        ] == 1


async def test_undo_and_redo_go_turn_by_turn(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [*write("a.txt", "1"), *write("a.txt", "2"), say("Nothing to write.")]
    async with terminal(columns=100) as t:
        await enter(t, "one")
        await enter(t, "two")
        await enter(t, "three")
        file = world.project / "a.txt"
        shown = await enter(t, "/undo --yes")
        first = "Undo turn 3; the conversation goes on from the end of turn 2\n  no file changes by that"
        assert shown == f"{first}\nDone: 0 files. /redo takes this back"
        assert file.read_text() == "2"
        second = "Undo turn 2; the conversation goes on from the end of turn 1\n  change      a.txt"
        assert await enter(t, "/undo --yes") == f"{second}\nDone: 1 file. /redo takes this back"
        assert file.read_text() == "1"
        await enter(t, "/undo --yes")
        assert not file.exists()
        assert (await enter(t, "/redo --yes")).endswith("Done: 1 file. /undo takes this back")
        assert file.read_text() == "1"
        await enter(t, "/undo --redo --yes")
        assert file.read_text() == "2"
        assert (await enter(t, "/redo --yes")).endswith("Done: 0 files. /undo takes this back")
        assert (await enter(t, "/redo")).startswith("There is nothing to redo")


async def test_what_the_person_changed_since_is_asked_for_by_itself(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [
        call("write_file", {"path": "a.txt", "content": "agent"}),
        call("write_file", {"path": "b.txt", "content": "agent"}),
        say("Done."),
    ]
    async with terminal(columns=100) as t:
        await enter(t, "write")
        (world.project / "a.txt").write_text("person")
        t.type("/undo\r")
        await t.wait_for("  remove      a.txt (changed since)\n  remove      b.txt\nGo on? [y/N]")
        t.type("y\r")
        await t.wait_for("a.txt was changed since. Undo that too? [y/N]")
        t.type("\r")
        await t.wait_for("Done: 1 file; 1 left as it is.")
        assert (world.project / "a.txt").read_text() == "person"
        assert not (world.project / "b.txt").exists()


async def test_model_reads_of_it_and_no_longer_sees_the_turn(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("Fine."), *write("a.txt", "agent"), say("I see."), say("Back.")]
    async with terminal(columns=100) as t:
        await enter(t, "first")
        await enter(t, "write")
        await enter(t, "/undo --yes")
        assert len(world.server.asked) == 3
        await enter(t, "and now?")
        texts = [one["content"] for one in world.sent()["messages"] if one["role"] == "user"]
        assert (texts[0], texts[-1]) == ("first", "and now?")
        assert texts[1].startswith("[The person took back what was said and done since.")
        assert "a.txt" in texts[1]
        assert not any(
            "write_file" in str(message) for message in world.sent()["messages"] if message["role"] != "system"
        )
        assert (await enter(t, "/redo")).startswith("There is nothing to redo")


async def test_redo_brings_the_conversation_back(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [*write("a.txt", "agent"), say("Back.")]
    async with terminal(columns=100) as t:
        await enter(t, "write")
        await enter(t, "/undo --yes")
        await enter(t, "/redo --yes")
        await enter(t, "and now?")
        sent = world.sent()["messages"]
        assert next(one["content"] for one in sent if one["role"] == "user") == "write"
        assert any("write_file" in str(message) for message in sent if message["role"] == "assistant")
        assert (world.project / "a.txt").read_text() == "agent"


async def test_session_that_another_process_writes_is_not_undone(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = write("a.txt", "agent")
    async with terminal(columns=100) as t:
        await enter(t, "write")
        key = t.repl.key
    with SessionStore(str(world.user_dir / "sessions")).open(key):
        async with terminal(columns=100, options=TurnOptions(session=key)) as t:
            assert "error[session-busy]" in await enter(t, "/undo --yes")
    assert (world.project / "a.txt").read_text() == "agent"


async def test_yes_leaves_alone_what_the_person_changed(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = write("a.txt", "agent")
    async with terminal(columns=100) as t:
        await enter(t, "write")
        (world.project / "a.txt").write_text("person")
        assert (await enter(t, "/undo --yes")).endswith("Done: 0 files; 1 left as it is. /redo takes this back")
        assert (world.project / "a.txt").read_text() == "person"
        assert (await enter(t, "/redo --yes")).endswith("Done: 0 files. /undo takes this back")
        t.type("/undo\r")
        await t.wait_for("Go on? [y/N]")
        t.type("y\r")
        await t.wait_for("Undo that too? [y/N]")
        t.type("yes\r")
        await t.wait_for("Done: 1 file.")
        assert not (world.project / "a.txt").exists()
        await enter(t, "/redo --yes")
        assert (world.project / "a.txt").read_text() == "person"


async def test_edits_of_a_delegated_agent_belong_to_the_turn(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [
        call("delegate", {"task": "write it"}),
        *write("a.txt", "by another"),
        say("It was done."),
    ]
    async with terminal(columns=100) as t:
        await enter(t, "delegate it")
        assert (world.project / "a.txt").read_text() == "by another"
        assert "\n  remove      a.txt\n" in await enter(t, "/undo --yes")
        assert not (world.project / "a.txt").exists()


async def test_what_commands_changed_goes_back_too(world: World, terminal: Open, enter: Enter) -> None:
    (world.project / "old.txt").write_bytes(b"old\r\n")
    (world.project / "gone.txt").write_text("gone")
    line = "printf new > old.txt; rm gone.txt; mkdir -p sub/deep; ln -s ../old.txt sub/link"
    world.replies = [call("exec_shell", {"command": line}), say("Done.")]
    async with terminal(columns=100, options=TurnOptions(yes=True)) as t:
        await enter(t, "work")
        assert (world.project / "sub/link").is_symlink()
        shown = await enter(t, "/undo --yes")
        assert "  bring back  gone.txt\n  change      old.txt\n  remove      sub (2 in it)\n" in shown
    assert (world.project / "old.txt").read_bytes() == b"old\r\n"
    assert (world.project / "gone.txt").read_text() == "gone"
    assert not (world.project / "sub").exists()


async def test_file_that_cannot_be_restored_is_named(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = write("a.txt", "agent")
    async with terminal(columns=100) as t:
        await enter(t, "write")
        (world.project / "a.txt").unlink()
        (world.project / "a.txt").mkdir()
        (world.project / "a.txt/mine").write_text("mine")
        t.type("/undo\r")
        await t.wait_for("  remove      a.txt (changed since)\nGo on? [y/N]")
        t.type("y\r")
        await t.wait_for("Undo that too? [y/N]")
        t.type("y\r")
        await t.wait_for("a.txt stays as it is: it holds what stays, or was not recorded\nDone: 0 files; 1 left")
    assert (world.project / "a.txt/mine").read_text() == "mine"
