"""`/undo`: what the agent did to files is taken back, after a question."""

from collections.abc import Awaitable, Callable

import pytest

from clawft.agent.sessions import SessionStore
from clawft.cli.options import TurnOptions
from terminal import CTRL_C, Open, Terminal
from wire import Reply, call, say
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]
NOTHING = "There is nothing to undo: no edits of this session are left to it"


def write(path: str, content: str) -> list[Reply]:
    """A turn in which the agent writes a file."""
    return [call("write_file", {"path": path, "content": content}), say("Written.")]


async def test_undo_shows_what_it_does_and_asks(world: World, terminal: Open, enter: Enter) -> None:
    (world.project / "old.txt").write_text("old")
    both = call("write_file", {"path": "old.txt", "content": "new"})
    world.replies = [both, call("write_file", {"path": "made.txt", "content": "x"}), say("Done.")]
    async with terminal(columns=100) as t:
        assert await enter(t, "/undo") == NOTHING
        await enter(t, "write")
        t.type("/undo\r")
        await t.wait_for("Undo the edits of turn 1:\n  restore  old.txt\n  remove   made.txt\nGo on? [y/N]")
        t.type("y\r")
        await t.wait_for("Done: 2 files. /undo --redo takes this back")
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
        await t.wait_for("Do it? [y/N]")
        t.type(answer)
        await t.wait_for("Nothing was changed")
        assert (world.project / "a.txt").read_text() == "new"


async def test_undo_and_redo_go_turn_by_turn(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [*write("a.txt", "1"), *write("a.txt", "2"), say("Nothing to write.")]
    async with terminal(columns=100) as t:
        await enter(t, "one")
        await enter(t, "two")
        await enter(t, "three")
        file = world.project / "a.txt"
        shown = await enter(t, "/undo --yes")
        assert shown == "Undo the edits of turn 2:\n  restore  a.txt\nDone: 1 file. /undo --redo takes this back"
        assert file.read_text() == "1"
        await enter(t, "/undo --yes")
        assert not file.exists()
        assert (await enter(t, "/undo --redo --yes")).endswith("Done: 1 file. /undo takes this back")
        assert file.read_text() == "1"
        await enter(t, "/undo --redo --yes")
        assert file.read_text() == "2"
        assert (await enter(t, "/undo --redo")).startswith("There is nothing to redo")


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
        await t.wait_for("  remove   a.txt (changed since by somebody else)\n  remove   b.txt\nDo it? [y/N]")
        t.type("y\r")
        await t.wait_for("a.txt was changed since the agent's edit. Undo that too? [y/N]")
        t.type("\r")
        await t.wait_for("Done: 1 file; 1 left as it is.")
        assert (world.project / "a.txt").read_text() == "person"
        assert not (world.project / "b.txt").exists()


async def test_model_is_told_with_the_next_message(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [*write("a.txt", "agent"), say("I see.")]
    async with terminal(columns=100) as t:
        await enter(t, "write")
        await enter(t, "/undo --yes")
        assert len(world.server.asked) == 2
        await enter(t, "and now?")
        said = [one["content"] for one in world.sent()["messages"] if one["role"] == "user"]
        assert said[0::2] == ["write", "and now?"]
        assert said[1].startswith("[The person took your edits back: a.txt.")
        assert (await enter(t, "/undo --redo --yes")).endswith("Done: 1 file. /undo takes this back")


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
        assert (await enter(t, "/undo --yes")).endswith("Nothing was changed")
        t.type("/undo\r")
        await t.wait_for("Undo that too? [y/N]")
        t.type("yes\r")
        await t.wait_for("Done: 1 file.")
        assert not (world.project / "a.txt").exists()
        await enter(t, "/undo --redo --yes")
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
        assert (await enter(t, "/undo --yes")).startswith("Undo the edits of turn 1:\n  remove   a.txt")
        assert not (world.project / "a.txt").exists()


async def test_file_that_cannot_be_restored_is_told(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = write("a.txt", "agent")
    async with terminal(columns=100) as t:
        await enter(t, "write")
        (world.project / "a.txt").unlink()
        (world.project / "a.txt").mkdir()
        shown = await enter(t, "/undo --yes")
        assert "  leave    a.txt: " in shown
        assert shown.endswith("Nothing was changed")


async def test_wrong_words_are_told(terminal: Open, enter: Enter) -> None:
    async with terminal() as t:
        assert await enter(t, "/undo all") == "Usage: /undo [--redo] [--yes]"
