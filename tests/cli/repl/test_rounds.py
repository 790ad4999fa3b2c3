"""The end of the rounds of tools at the prompt: a question whether to go on."""

import pytest

from terminal import CTRL_D, Open
from wire import Asked, Reply, call, say
from world import World

pytestmark = pytest.mark.anyio

GO_ON = "Go on? [Y]es, [n]o:"


def until_asked(asked: Asked) -> Reply:
    return say("All done.") if "Go on." in str(asked.body["messages"]) else call("list_directory", {})


@pytest.mark.parametrize("answer", ["\r", "y\r", "Yes\r"])
async def test_a_turn_at_the_end_of_its_rounds_goes_on_if_the_person_wants_it(
    world: World, terminal: Open, answer: str
) -> None:
    world.config = "max_tool_iterations = 2\n"
    world.replies = until_asked
    async with terminal() as t:
        await t.prompt()
        t.type("do it\r")
        await t.wait_for(GO_ON)
        t.type("what\r")
        await t.wait_for(GO_ON, 2)
        t.type(answer)
        await t.wait_for("All done.")


@pytest.mark.parametrize("answer", ["n\r", CTRL_D])
async def test_a_no_gives_the_prompt_back(world: World, terminal: Open, answer: str) -> None:
    world.config = "max_tool_iterations = 2\n"
    world.replies = until_asked
    async with terminal() as t:
        await t.prompt()
        t.type("do it\r")
        await t.wait_for(GO_ON)
        t.type(answer)
        await t.prompt()
        assert len(world.server.asked) == 2
