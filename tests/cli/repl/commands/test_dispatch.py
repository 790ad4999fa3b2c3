"""Which lines are commands, which are skills, and which go to the model."""

from collections.abc import Awaitable, Callable

import pytest

from terminal import Open, Terminal
from wire import say
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]


def asked(world: World) -> list[str]:
    """What people said, in the last request."""
    return [one["content"] for one in world.sent()["messages"] if one["role"] == "user"]


@pytest.mark.parametrize("line", ["/help", "/skills", "/agent explore", "/nonexistent", "/skill nope", "/agents"])
async def test_commands_are_handled_without_a_model(world: World, terminal: Open, enter: Enter, line: str) -> None:
    async with terminal() as t:
        assert await enter(t, line)
        assert world.server.asked == []


async def test_unknown_command_says_so(terminal: Open, enter: Enter) -> None:
    async with terminal(columns=100) as t:
        assert await enter(t, "/nonexistent") == ("Unknown command: /nonexistent. Type /help for available commands.")
        assert (await enter(t, "/skils")).endswith("Did you mean /skills?")


async def test_message_goes_to_the_model(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("Hello!")]
    async with terminal() as t:
        assert "Hello!" in await enter(t, "just a message")
        assert asked(world) == ["just a message"]


async def test_path_at_the_start_is_no_command(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("A file.")]
    async with terminal() as t:
        await enter(t, "/etc/hosts is what?")
        assert asked(world) == ["/etc/hosts is what?"]


@pytest.mark.parametrize("line", ["/a/b do it", "//x", "//etc/nothing here"])
async def test_what_looks_like_a_command_is_sent_only_on_purpose(
    world: World, terminal: Open, enter: Enter, line: str
) -> None:
    world.replies = [say("One."), say("Two.")]
    async with terminal() as t:
        assert "Nothing was sent" in await enter(t, line)
        assert world.server.asked == []
        await enter(t, f" {line}")
        await enter(t, f"-- {line}")
        assert asked(world) == [line, line]


@pytest.mark.parametrize("line", ["/research quantum computing", "/skill research quantum computing"])
async def test_skill_is_a_command(world: World, terminal: Open, enter: Enter, line: str) -> None:
    world.add_skill("research", "Research $ARGUMENTS, first $ARGUMENTS[0].")
    world.replies = [say("Found it.")]
    async with terminal() as t:
        assert "Found it." in await enter(t, line)
        assert "Research quantum computing, first quantum." in asked(world)[0]


async def test_arguments_are_split_as_a_shell_does(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("greet", "[$ARGUMENTS[0]] [$ARGUMENTS[1]] ($ARGUMENTS)")
    world.replies = [say("1"), say("2")]
    async with terminal() as t:
        await enter(t, '/greet "Ada Lovelace" hi')
        assert '[Ada Lovelace] [hi] ("Ada Lovelace" hi)' in asked(world)[0]
        await enter(t, "/greet it's fine")
        assert "[it's] [fine] (it's fine)" in asked(world)[1]


async def test_skills_are_stacked_at_the_start(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("one", "First text.")
    world.add_skill("two", "Second text.")
    world.replies = [say("Both.")]
    async with terminal() as t:
        await enter(t, "/one /two do it")
        (text,) = asked(world)
        assert text.startswith("/one /two do it")
        assert "First text." in text
        assert "Second text." in text


async def test_skill_that_people_may_not_start_is_no_command(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("inner", head="user-invocable: false\n")
    async with terminal() as t:
        assert "Unknown command: /inner." in await enter(t, "/inner now")
        assert "error[skill-refused]" in await enter(t, "/skill inner now")
        assert world.server.asked == []


async def test_skill_with_the_name_of_a_command_has_another_way_in(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("help", "Help with $ARGUMENTS.")
    world.replies = [say("Helped.")]
    async with terminal() as t:
        assert (await enter(t, "/help")).startswith("Commands:")
        note = "note: /help is a command; start the skill of that name with /skill help"
        assert note in await enter(t, "/skills")
        assert note in await enter(t, "/skills help")
        await enter(t, "/skill help knots")
        assert "Help with knots." in asked(world)[0]


async def test_exit_and_quit_leave(terminal: Open) -> None:
    for line in ("/exit", "/quit"):
        async with terminal() as t:
            t.type(f"{line}\r")
            assert await t.ended() == 0
