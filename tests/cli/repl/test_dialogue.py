"""Questions of the model and its todo list at the prompt."""

import pytest

from terminal import Open
from wire import call, say
from world import World

pytestmark = pytest.mark.anyio

_QUESTION = {"question": "Which one?", "options": [{"label": "Red"}, {"label": "Blue", "description": "as the sea"}]}


@pytest.mark.parametrize(
    ("typed", "answer"), [("2", "Blue"), ("1, 2", "Red, Blue"), ("green", "green"), ("7", "7"), ("", "(no answer)")]
)
async def test_a_question_is_answered_with_a_number_or_in_words(
    world: World, terminal: Open, typed: str, answer: str
) -> None:
    world.replies = [call("AskUserQuestion", {"questions": [_QUESTION]}), say("Fine.")]
    async with terminal() as t:
        await t.prompt()
        t.type("do it\r")
        await t.wait_for("A number, or your own words:")
        assert "  2. Blue: as the sea" in t.text()
        t.type(f"{typed}\r")
        await t.wait_for("Fine.")
        assert world.sent()["messages"][-1]["content"].endswith(f"→ {answer}")


async def test_the_todo_list_is_shown(world: World, terminal: Open) -> None:
    todos = [{"content": "Look", "status": "completed"}, {"content": "Write"}]
    world.replies = [call("TodoWrite", {"todos": todos}), say("Fine.")]
    async with terminal() as t:
        await t.prompt()
        t.type("do it\r")
        await t.wait_for("Fine.")
        assert "  [x] Look\n  [ ] Write" in t.text()
