"""The todo list and the questions of a model: what the person is asked, and what the model reads of it."""

import pytest

from clawft.messages import Answer, ApprovalAnswer, ApprovalNeeded, ToolFinished
from wire import Asked, Reply, call, say
from world import Person, World, collect, only

pytestmark = pytest.mark.anyio

_QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "multiSelect": False,
    "options": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres", "description": "a server"}],
}


async def test_the_person_chooses_and_the_model_reads_it(world: World) -> None:
    asked: list[ApprovalNeeded] = []

    async def answer(event: ApprovalNeeded) -> ApprovalAnswer:
        asked.append(event)
        return ApprovalAnswer("once", "the person", "Postgres")

    world.replies = [call("AskUserQuestion", {"questions": [_QUESTION, {"question": "Why?"}]}), say("ok")]
    (finished,) = only(await world.run(approve=answer), ToolFinished)
    assert [(event.question, event.options) for event in asked] == [
        ("Which database?", ("SQLite: one file", "Postgres: a server")),
        ("Why?", ()),
    ]
    assert finished.result["data"]["answers"]["Which database?"] == "Postgres"
    assert "Which database?\n→ Postgres" in world.sent()["messages"][-1]["content"]
    assert [line["decision"] for line in world.audit("approval")] == ["allowed", "allowed"]


@pytest.mark.parametrize(("answer", "shown"), [("no", "(no answer)"), ("once", "chose none of the options")])
async def test_an_answer_without_a_choice_is_said_as_such(world: World, answer: Answer, shown: str) -> None:
    world.replies = [call("AskUserQuestion", {"questions": [_QUESTION]}), say("ok")]
    await world.run(approve=Person(answer))
    assert shown in world.sent()["messages"][-1]["content"]


@pytest.mark.parametrize("mode", ["auto-edit", "plan"])
async def test_where_nobody_is_the_model_is_told_so(world: World, mode: str) -> None:
    world.config = f'mode = "{mode}"\n'
    world.replies = [call("AskUserQuestion", {"questions": [_QUESTION]}), say("ok")]
    (finished,) = only(await world.run(), ToolFinished)
    assert finished.status == "partial"
    assert "Nobody is there to answer" in world.sent()["messages"][-1]["content"]


async def test_a_todo_list_is_kept_in_the_session_and_outlasts_a_summary(world: World) -> None:
    todos = [
        {"content": "Look", "status": "completed", "activeForm": "Looking"},
        {"content": "Write", "status": "in_progress", "activeForm": "Writing"},
        {"content": "Test", "status": "pending", "activeForm": "Testing"},
    ]
    world.config = "context_window = 12000\nmax_tokens = 100\n[agents.compaction]\nkeep_turns = 1\nat = 0.8\n"

    def reply(asked: Asked) -> Reply:
        messages = asked.body["messages"]
        if messages[0]["content"].startswith("Summarise"):
            return say("They spoke of many things.")
        return call("TodoWrite", {"todos": todos}) if len(messages) == 2 else say("word " * 800)

    world.replies = reply
    async with world.talk() as conversation:
        events = [event for number in range(12) for event in await collect(conversation, f"{number} " + "z" * 400)]
    assert only(events, ToolFinished)[0].result["text"] == "[x] Look\n[>] Write\n[ ] Test"
    sent = world.sent()["messages"]
    assert "They spoke of many things." in sent[1]["content"]
    assert sent[1]["content"].count("[x] Look\n[>] Write\n[ ] Test") == 1
