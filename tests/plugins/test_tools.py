"""Tools of plugins in real turns: offered as declared, asked about, checked, and contained."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.tools.tool import may_repeat
from clawft.app.app import open_app
from clawft.app.plugins import open_grants
from clawft.messages import Answer, ApprovalNeeded, Event, Noticed, ToolFinished, TurnFinished
from clawft.plugins.extensions import plugin_tools
from clawft.skills.discovery.plugins import load_plugin
from wire import Asked, call, say
from world import World, collect, only
from yard import Yard

pytestmark = pytest.mark.anyio

ID = "org.example.tools"
TOOL = {
    "name": "count_words",
    "description": "Counts words",
    "parameters": {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 1_000_000}},
        "required": ["text"],
        "additionalProperties": False,
    },
}
CODE = """
    class Plugin(Plugin):
        def execute_tool(self, name, arguments):
            return f"{len(arguments['text'].split())} words, as {name}"
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def add(world: World, code: str = CODE, plugin_id: str = ID, **spec: Any) -> Path:
    return world.add_plugin(plugin_id, code, capabilities=["tool"], tools=[TOOL | spec])


async def use(world: World, name: str, *given: dict[str, Any], answer: Answer = "once") -> list[Event]:
    """A turn in which the model makes these calls, and the person gives this answer to every question."""
    world.replies = [*(call(name, one, f"c{n}") for n, one in enumerate(given)), say("done")]

    async def approve(_: ApprovalNeeded) -> Answer:
        return answer

    return await world.run("go", approve=approve)


async def test_a_tool_that_only_looks_is_run_unasked(world: World) -> None:
    add(world, read_only=True)
    events = await use(world, "count_words", {"text": "one two"})
    (done,) = only(events, ToolFinished)
    assert done.result["text"] == "2 words, as count_words"
    assert not only(events, ApprovalNeeded)
    assert only(events, TurnFinished)[0].text == "done"


async def test_any_other_is_asked_about_and_a_no_keeps_it_from_running(world: World) -> None:
    add(world)
    events = await use(world, "count_words", {"text": "one two"}, answer="no")
    (asked,) = only(events, ApprovalNeeded)
    assert asked.question == f"Let the plugin '{ID}' run count_words?"
    assert '"one two"' in asked.reason
    (done,) = only(events, ToolFinished)
    assert done.result["error"]["code"] == "PERMISSION_DENIED"
    assert not world.audit("plugin")  # it was not even started
    events = await use(world, "count_words", {"text": "one two"})
    assert only(events, ToolFinished)[0].result["text"] == "2 words, as count_words"
    (started,) = world.audit("plugin")
    assert (started["subject"], started["decision"]) == (ID, "allowed")


async def test_a_question_names_the_characters_that_nobody_would_see(world: World) -> None:
    add(world)
    events = await use(world, "count_words", {"text": "one\u200b two\u202e\U000e0041\U000e0042"}, answer="no")
    (asked,) = only(events, ApprovalNeeded)
    assert '{"text": "one<U+200B> two<U+202E and 2 more>"}' in asked.reason


async def test_arguments_are_checked_before_anybody_is_asked(world: World) -> None:
    add(world)
    events = await use(world, "count_words", {"text": 3}, {"text": "a", "more": 1}, {})
    assert not only(events, ApprovalNeeded)
    assert [one.result["error"]["code"] for one in only(events, ToolFinished)] == ["INVALID_PARAM"] * 3


async def test_a_name_that_is_taken_gets_that_of_the_plugin_before_it(world: World) -> None:
    add(world, name="read_file", read_only=True)
    events = await use(world, "tools-read_file", {"text": "one"})
    assert only(events, ToolFinished)[0].result["text"] == "1 words, as read_file"
    assert [one.code for one in only(events, Noticed)] == ["tool-name"]


@pytest.mark.parametrize("name", ["Bash", "web_search", "MESSAGE", "save_memory"])
async def test_no_name_that_means_a_tool_of_ours_is_a_plugins(world: World, name: str) -> None:
    add(world, name=name)
    world.config = '[permissions]\nallow = ["Bash", "web_search", "message", "memory_write"]\n'
    events = await use(world, f"tools-{name}", {"text": "one"}, answer="no")
    (asked,) = only(events, ApprovalNeeded)  # what a person allows of ours is not allowed to it
    assert asked.tool == f"tools-{name}"
    (done,) = only(events, ToolFinished)
    assert f"weft permissions allow tools-{name}" in json.dumps(done.result)  # not the one of ours


async def test_a_failure_is_told_to_the_model_and_once_to_the_person(world: World) -> None:
    add(world, CODE.replace("len(", "1 // len(").replace("'text'", "'none'"), read_only=True)
    events = await use(world, "count_words", {"text": ""}, {"text": ""})
    told = [one.result["error"]["message"] for one in only(events, ToolFinished)]
    assert all("It raised KeyError" in one for one in told)
    (notice,) = [one for one in only(events, Noticed) if one.code == "plugin-raised"]
    assert ID in notice.message
    assert only(events, TurnFinished)[0].text == "done"


async def test_a_long_result_is_cut_and_kept_in_a_file(world: World) -> None:
    add(world, CODE.replace("return f", "return 'x' * 100_000 + f"), read_only=True)
    events = await use(world, "count_words", {"text": "a"})
    (done,) = only(events, ToolFinished)
    assert done.result["status"] == "partial"
    assert "[cut:" in done.result["text"]


async def test_a_secret_in_a_result_is_masked(world: World) -> None:
    world.environ["TOOL_KEY"] = "key-4711-4711"
    code = CODE.replace("return f", "import os\n            return os.environ['TOOL_KEY'] + f")
    permissions = {"env_vars": ["TOOL_KEY"]}
    world.add_plugin(ID, code, capabilities=["tool"], tools=[TOOL | {"read_only": True}], permissions=permissions)
    events = await use(world, "count_words", {"text": "a"})
    assert only(events, ToolFinished)[0].result["text"] == "<secret>1 words, as count_words"


async def test_a_plugin_that_changed_offers_nothing(world: World) -> None:
    folder = add(world, read_only=True)
    (folder / "plugin.py").write_text("raise SystemExit\n")
    offered: list[Asked] = []

    def reply(asked: Asked) -> Any:
        offered.append(asked)
        return say("done")

    world.replies = reply
    events = await world.run("go")
    assert "count_words" not in str(offered[0].body)
    (notice,) = [one for one in only(events, Noticed) if one.code == "plugin-untrusted"]
    assert "changed since it was granted" in notice.message


async def test_nothing_is_started_unless_a_tool_is_used(world: World) -> None:
    add(world)
    world.replies = [say("done")]
    await world.run("go")
    assert not world.audit("plugin")
    assert not (world.user_dir / "plugin-data").exists()


async def test_a_call_is_made_again_after_a_crash_only_where_that_does_no_harm(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    specs: list[dict[str, Any]] = [
        {"name": "looks", "read_only": True},
        {"name": "twice", "repeatable": True},
        {"name": "once"},
    ]
    yard.add_tool("return 1", tools=[{"description": "Does it", **one} for one in specs])
    async with yard.open() as plugins:
        tools = plugin_tools(plugins, plugins.ready[0])
    assert {tool.name: may_repeat(tool, {}) for tool in tools} == {"looks": True, "twice": True, "once": False}


async def test_what_is_granted_and_taken_back_between_turns_counts_from_the_next(world: World) -> None:
    folder = add(world, read_only=True)
    offered: list[bool] = []

    def reply(asked: Asked) -> Any:
        offered.append("count_words" in str(asked.body.get("tools")))
        used = any(one.get("role") == "tool" for one in asked.body["messages"][-1:])
        return call("count_words", {"text": "a b"}, f"c{len(offered)}") if offered[-1] and not used else say("done")

    world.replies = reply
    async with world.talk() as conversation:
        first = await collect(conversation, "go")
        grants = open_grants(open_app(world.environ, str(world.project)))
        assert grants.remove(load_plugin("user", str(folder)))
        second = await collect(conversation, "go")
        world.grant(folder)
        third = await collect(conversation, "go")
    assert [len(only(one, ToolFinished)) for one in (first, second, third)] == [1, 0, 1]
    assert offered == [True, True, False, True, True]
    assert [one.code for one in only(second, Noticed)] == ["plugin-revoked"]


async def test_every_call_is_in_the_audit_log_also_of_a_tool_that_only_looks(world: World) -> None:
    add(world, read_only=True)
    await use(world, "count_words", {"text": "one two"})
    assert [one["subject"] for one in world.audit("tool", "allowed")] == ["count_words one two"]


async def test_a_strangers_skill_gets_a_plugins_tool_only_if_it_names_it(world: World) -> None:
    add(world, read_only=True)
    world.add_skill("plain", strangers=True)
    world.add_skill("names", strangers=True, head="allowed-tools: count_words\n")
    app = open_app(world.environ, str(world.project))
    codes = {}
    for name in ("plain", "names"):
        app.reviewer.approve([app.reviewer.review(app.get_skill(name).found)])
        world.replies = [call("count_words", {"text": "a"}, "c1"), say("done")]
        (done,) = only(await world.run("go", skill=name, key=name), ToolFinished)
        codes[name] = done.result.get("error", {}).get("code", "")
    assert codes == {"plain": "PERMISSION_DENIED", "names": ""}
