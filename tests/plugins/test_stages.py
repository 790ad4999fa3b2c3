"""Stages of plugins, in real turns with real processes: what they see, what they change, and what stops a turn."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.loop import compact
from clawft.agent.run_request import TurnRequest
from clawft.messages import Noticed, TurnFailed, TurnFinished
from wire import call, say
from world import World, collect, only

pytestmark = pytest.mark.anyio
ID = "org.example.stages"
TOOL = {"name": "try_it", "description": "Tries it."}
# Each text that the stage is shown is written down, and "blue" becomes "[COLOUR]" in it, wherever it stands.
HIDE = """
import json, os

class Plugin(Plugin):
    name, phase = "hide", Phase.PRE_TRANSPORT

    def init(self, host):
        self.log = os.path.join(host.data_dir(), "shown.jsonl")

    def process(self, context):
        with open(self.log, "a") as file:
            file.write(json.dumps(context.request) + "\\n")
        context.request.update(json.loads(json.dumps(context.request).replace("blue", "[COLOUR]")))
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def add_stage(world: World, process: str, phase: str = "pre_transport", on_failure: str = "stop") -> Path:
    """A plugin with one stage, whose `process` does this with its `context`."""
    lines = "\n".join(f"        {line}" for line in process.splitlines())
    code = f"class Plugin(Plugin):\n    name, phase = 'one', '{phase}'\n    def process(self, context):\n{lines}\n"
    stage = {"name": "one", "phase": phase, "on_failure": on_failure}
    return world.add_plugin(ID, code, capabilities=["pipeline_stage"], stages=[stage])


def add_hiding(world: World) -> None:
    stage = {"name": "hide", "phase": "pre_transport", "on_failure": "stop"}
    world.add_plugin(ID, HIDE, capabilities=["pipeline_stage"], stages=[stage])


def shown(world: World) -> list[dict[str, Any]]:
    return [json.loads(one) for one in (world.user_dir / "plugin-data" / ID / "shown.jsonl").read_text().splitlines()]


def codes(events: list[Any]) -> list[str]:
    return [one.code for one in only(events, Noticed)]


async def test_no_text_of_a_request_goes_past_a_stage_before_the_transport_and_disk_stays(world: World) -> None:
    add_hiding(world)
    world.add_skill("painter", "Paint it blue.", "Paints things blue.")
    (world.project / "notes.txt").write_text("the sky is blue")
    world.replies = [
        call("read_file", {"path": "notes.txt", "offset": 1}),
        call("Skill", {"name": "painter", "args": "blue"}),
        call("delegate", {"task": "look for what is blue"}),
        say("the fork saw blue"),
        say("It is blue."),
        say("Once more."),
    ]
    async with world.talk() as conversation:
        events = await collect(conversation, "what is blue?")
        await collect(conversation, "and now?")
        kept = str(conversation.session.messages)
    assert isinstance(events[-1], TurnFinished)
    assert [one.body for one in world.server.asked if "blue" in json.dumps(one.body)] == []
    sent = json.dumps(world.sent())
    assert all(f"{before}[COLOUR]" in sent for before in ("the sky is ", "Paint it ", "Paints things ", "It is "))
    assert "the sky is blue" in kept
    assert "[COLOUR]" not in kept
    assert codes(events).count("stage-changed") == 1  # for the turn and the fork
    # Each text is shown once, though it is sent with every request.
    seen = [json.dumps(message) for one in shown(world) for message in one["messages"]]
    assert len(set(seen)) == len(seen) > 8


async def test_a_summary_is_asked_for_with_what_the_stage_makes_of_the_conversation(world: World) -> None:
    add_hiding(world)
    world.replies = [say("one"), say("two"), say("a summary"), say("three")]
    async with world.talk() as conversation:
        await collect(conversation, "the blue house")
        await collect(conversation, "the second")
        events = [event async for event in compact(conversation)]
    assert isinstance(events[-1], TurnFinished)
    assert "the [COLOUR] house" in json.dumps(world.sent())
    assert "blue" not in json.dumps(world.sent())


async def test_a_stage_may_change_what_was_written_and_that_is_told(world: World) -> None:
    add_stage(world, "context.request['text'] = context.request['text'].upper()", "pre_route")
    world.replies = [say("yes")]
    events = await world.run("hello there")
    assert world.sent()["messages"][-1]["content"] == "HELLO THERE"
    assert "stage-changed" in codes(events)


async def test_a_stage_chooses_the_model_unless_somebody_did(world: World) -> None:
    add_stage(world, "context.request['model'] = 'local/other'", "pre_route")
    world.replies = [say("yes"), say("yes")]
    async with world.talk() as conversation:
        await collect(conversation, "hello")
        assert world.sent()["model"] == "other"
        events = await collect(conversation, TurnRequest("hello", model="local/m"))
    assert world.sent()["model"] == "m"
    assert "stage-ignored" in codes(events)


async def test_a_stage_takes_no_other_power(world: World) -> None:
    taking = "context.request.update(agent='root', skill='x', mode='full', tools=['exec_shell'])"
    add_stage(world, f"{taking}\ncontext.response = {{'text': 'other'}}", "post_transport")
    world.replies = [say("mine")]
    events = await world.run("hello")
    end = events[-1]
    assert isinstance(end, TurnFinished)
    assert end.text == "mine"
    said = next(one.message for one in only(events, Noticed) if one.code == "stage-ignored")
    assert "changed agent, skill, mode, tools, the answer, which" in said


@pytest.mark.parametrize(
    "process",
    [
        "raise RuntimeError('oops')",
        "context.request['messages'].append({'role': 'user', 'content': 'more'})",
        "context.request['messages'][-1]['role'] = 'system'",
        "context.request['messages'][-1]['images'] = 3",
        "context.request['tools'] = []",
        "context.request['tools'][0]['parameters'] = {}",
        "context.request['messages'][-1]['content'] = 'x' * 500_000",
        "context.metadata['much'] = 'x' * 100_000",
        "import os; os._exit(3)",
    ],
)
async def test_where_a_required_stage_fails_nothing_is_sent(world: World, process: str) -> None:
    add_stage(world, process)
    world.replies = [say("yes")]
    events = await world.run("hello")
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code == "stage-failed"
    assert world.server.asked == []


async def test_where_another_stage_fails_the_turn_goes_on_and_that_is_told_once(world: World) -> None:
    add_stage(world, "context.request['messages'][-1]['content'] = 3", on_failure="ignore")
    world.replies = [call("list_directory", {"path": "."}), say("yes")]
    events = await world.run("hello")
    assert isinstance(events[-1], TurnFinished)
    assert world.sent()["messages"][1]["content"] == "hello"
    assert codes(events).count("stage-failed") == 1


async def test_a_stage_that_says_no_ends_the_turn_with_its_words(world: World) -> None:
    add_stage(world, "raise PluginError('no pictures of cats')", on_failure="ignore")
    world.replies = [say("yes")]
    events = await world.run("hello")
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code == "stage-refused"
    assert "no pictures of cats" in events[-1].message
    assert world.server.asked == []


@pytest.mark.parametrize("change", ["code", "manifest", "broken", "removed", "config"])
async def test_nothing_is_sent_where_a_required_stage_was_granted_and_cannot_be_asked_now(
    world: World, change: str
) -> None:
    folder = add_stage(world, "pass")
    manifest = folder / "clawft.plugin.json"
    match change:
        case "code":
            (folder / "plugin.py").write_text("# changed\n")
        case "manifest":
            manifest.write_text(manifest.read_text().replace('"stop"', '"ignore"'))
        case "broken":
            manifest.write_text("{")
        case "removed":
            shutil.rmtree(folder)
        case "config":
            world.config = f'[plugins.entries."{ID}".config]\nkind = "none"\n'
    world.replies = [say("yes")]
    events = await world.run("hello")
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code == "stage-missing"
    assert world.server.asked == []
    assert f"weft config set 'plugins.entries.\"{ID}\".enabled' false" in events[-1].hint
    world.config = f'[plugins.entries."{ID}"]\nenabled = false\n'
    assert isinstance((await world.run("hello"))[-1], TurnFinished)


async def test_a_stage_that_is_lost_between_two_turns_lets_nothing_through(world: World) -> None:
    folder = add_stage(world, "pass")
    world.replies = [say("yes"), say("again")]
    async with world.talk() as conversation:
        events = await collect(conversation, "hello")
        assert isinstance(events[-1], TurnFinished)
        assert "stage-changed" not in codes(events)  # it changed nothing
        (folder / "plugin.py").write_text("# changed\n")
        world.add_plugin("org.example.other", "class Plugin(Plugin): ...", capabilities=["tool"], tools=[TOOL])
        lost = (await collect(conversation, "hello"))[-1]
        assert isinstance(lost, TurnFailed)
        assert lost.code == "stage-missing"
        assert len(world.server.asked) == 1
        with open(world.user_dir / "config.toml", "a") as file:
            file.write(f'[plugins.entries."{ID}"]\nenabled = false\n')
        assert isinstance((await collect(conversation, "hello"))[-1], TurnFinished)


async def test_what_nobody_granted_or_the_user_turned_off_stops_nothing(world: World) -> None:
    folder = add_stage(world, "raise RuntimeError('oops')")
    shutil.copytree(folder, world.project / ".clawft" / "plugins" / "other")
    world.config = f'[plugins.entries."{ID}"]\nenabled = false\n'
    world.replies = [say("yes")]
    assert isinstance((await world.run("hello"))[-1], TurnFinished)


async def test_stages_tell_each_other_something_within_a_turn(world: World) -> None:
    code = """
    class One:
        def __init__(self, name, phase):
            self.name, self.phase = name, phase
        def process(self, context):
            context.metadata["seen"] = [*context.metadata.get("seen", []), self.name]
            if self.phase == "post_score":
                raise PluginError(", ".join(context.metadata["seen"]) + context.response["text"])

    class Plugin(Plugin):
        def parts(self):
            return [One(phase, phase) for phase in Phase]
    """
    phases = ("pre_route", "pre_assemble", "pre_transport", "post_transport", "post_score")
    stages = [{"name": one, "phase": one} for one in phases]
    world.add_plugin(ID, code, capabilities=["pipeline_stage"], stages=stages)
    world.replies = [say(" and so on")]
    events = await world.run("hello")
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].message.endswith(f"ended the turn: {', '.join(phases)} and so on")
