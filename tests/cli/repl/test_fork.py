"""Forks at the prompt: what is seen of them, what they ask, and stopping them."""

import pytest

from terminal import CTRL_C, Open
from wire import call, say
from world import ASKING, World

pytestmark = pytest.mark.anyio

FORK = "context: fork\n"
CHOICES = "[y]es, for this [s]ession, [a]lways here, [N]o:"


async def test_a_skill_that_forks_answers_at_the_prompt_and_asks_by_its_name(world: World, terminal: Open) -> None:
    world.environ |= ASKING
    world.add_skill("survey", "Look at $ARGUMENTS.", head=FORK)
    world.replies = [call("exec_shell", {"command": "touch made"}), say("Nothing **there**."), say("As I said.")]
    async with terminal(columns=160) as t:
        await t.prompt()
        t.type("/survey src\r")
        await t.wait_for(CHOICES)
        assert "? The fork 'survey' asks: Run: touch made" in t.text()
        t.type("y\r")
        await t.wait_for("; weft sessions show ")
        assert "· fork survey (agent default, local/m)\n· exec_shell touch made" in t.text()
        assert "Nothing there." in t.text()
        assert (world.project / "made").exists()
        await t.prompt()
        t.type("and?\r")
        await t.wait_for("As I said.")
    assert [one["content"] for one in world.sent()["messages"]][2:] == ["Nothing **there**.", "and?"]


async def test_ctrl_c_stops_a_fork_that_a_model_started(world: World, terminal: Open) -> None:
    world.add_skill("survey", head=FORK)
    world.replies = [call("Skill", {"name": "survey"}), say("Half", end="stall")]
    async with terminal(columns=160) as t:
        await t.prompt()
        t.type("look\r")
        await t.wait_for("· fork survey (agent default, local/m)")
        t.type(CTRL_C)
        await t.wait_for("stopped; what came so far is kept")
        assert "✗ fork survey: cancelled:" in t.text()
