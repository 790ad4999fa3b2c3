"""Dynamic context in turns: who may start it, what reaches the model, and what never does."""

import json

import pytest

from clawft.messages import Answer, Noticed, SkillActivated, ToolFinished, TurnFailed, TurnFinished
from wire import call, say
from world import Person, World, only

pytestmark = pytest.mark.anyio
ALLOWED = '[skills.security]\nscan_on_load = false\nallowed_command_prefixes = ["echo", "ls nowhere"]\n'


def denials(world: World) -> list[str]:
    lines = [json.loads(line) for line in (world.user_dir / "audit.jsonl").read_text().splitlines()]
    return [line["rule"] for line in lines if line["kind"] == "denial"]


async def test_a_skill_that_a_person_starts_brings_its_output_to_the_model(world: World) -> None:
    world.config = ALLOWED
    world.add_skill("state", "Say: !`echo $ARGUMENTS`")
    world.replies = [say("done")]
    events = await world.run("a; $(id)", skill="state")
    assert "Say: a; $(id)\n" in world.sent()["messages"][-1]["content"]
    (said,) = [one for one in only(events, Noticed) if one.code == "dynamic-context"]
    assert (said.severity, said.message) == ("note", "The skill 'state' runs `echo 'a; $(id)'`")


@pytest.mark.parametrize(
    ("command", "code", "exit_code"), [("id", "command-refused", 3), ("ls nowhere", "command-failed", 1)]
)
async def test_where_a_command_is_refused_or_fails_nothing_is_sent(
    world: World, command: str, code: str, exit_code: int
) -> None:
    world.config = ALLOWED
    world.add_skill("state", f"Say: !`{command}`")
    world.replies = [say("never")]
    *before, last = await world.run(skill="state")
    assert isinstance(last, TurnFailed)
    assert (last.code, last.exit_code) == (code, exit_code)
    assert command in last.message
    assert only(before, SkillActivated) == []
    assert world.server.asked == []


async def test_a_person_is_told_what_would_allow_the_commands(world: World) -> None:
    world.config = 'mode = "ask"\n[skills.security]\nscan_on_load = false\n'
    world.add_skill("state", "Say: !`touch a`")
    world.replies = [say("done")]
    events = await world.run(skill="state")
    (said,) = [one for one in only(events, Noticed) if one.code == "dynamic-context-off"]
    assert said.severity == "warning"
    assert "weft config set skills.security.allowed_command_prefixes" in said.hint
    assert "Say: !`touch a`" in world.sent()["messages"][-1]["content"]


@pytest.mark.parametrize(("answer", "shown"), [("once", "Say: ran\n"), ("no", "Say: !`sh go.sh`")])
async def test_a_person_is_asked_where_the_mode_asks(world: World, answer: Answer, shown: str) -> None:
    world.config = 'mode = "ask"\n[skills.security]\nscan_on_load = false\n'
    (world.add_skill("state", "Say: !`sh go.sh`") / "go.sh").write_text("echo ran\n")
    world.replies = [say("done")]
    person = Person(answer)
    await world.run(skill="state", approve=person)
    assert [event.question for event in person.asked] == ["Run for the skill 'state': sh go.sh"]
    assert shown in world.sent()["messages"][-1]["content"]
    (line,) = world.audit("approval")
    assert line["decision"] == ("allowed" if answer == "once" else "denied")


async def test_in_mode_plan_nobody_is_asked_and_reading_commands_run(world: World) -> None:
    world.config = 'mode = "plan"\n[skills.security]\nscan_on_load = false\n'
    world.add_skill("state", "Say: !`echo a` !`touch b`")
    world.replies = [say("done")]
    person = Person("once")
    await world.run(skill="state", approve=person)
    assert person.asked == []
    assert "Say: a !`touch b`" in world.sent()["messages"][-1]["content"]


async def test_a_list_for_one_skill_leaves_the_others_usable(world: World) -> None:
    world.config = ALLOWED
    world.add_skill("plain", "Just do it.")
    world.add_skill("state", "Say: !`echo a`")
    world.replies = [call("Skill", {"name": "plain"}), call("Skill", {"name": "state"}, "c2"), say("done")]
    assert [one.status for one in only(await world.run(), ToolFinished)] == ["success"] * 2


async def test_a_skill_that_a_model_loads_runs_its_commands_too(world: World) -> None:
    world.config = ALLOWED
    world.add_skill("state", "Say: !`echo $ARGUMENTS`")
    world.replies = [call("Skill", {"name": "state", "args": "x;y"}), say("done")]
    await world.run()
    assert "Say: x;y\n" in world.sent()["messages"][-1]["content"]


async def test_a_model_is_told_of_a_refusal_and_the_skill_is_not_loaded(world: World) -> None:
    world.config = ALLOWED
    world.add_skill("state", "UNIQUE !`id`")
    world.replies = [call("Skill", {"name": "state"}), say("done")]
    events = await world.run()
    (finished,) = only(events, ToolFinished)
    assert finished.result["error"]["code"] == "PERMISSION_DENIED"
    assert "UNIQUE" not in str(world.sent()["messages"])
    assert only(events, SkillActivated) == []
    assert any("allow-list" in rule for rule in denials(world))


async def test_a_model_that_loads_without_a_list_is_given_the_text_and_the_person_is_told(world: World) -> None:
    world.config = 'mode = "ask"\n[skills.security]\nscan_on_load = false\n'
    world.add_skill("state", "Say: !`touch a`")
    world.replies = [call("Skill", {"name": "state"}), say("done")]
    events = await world.run()
    assert "dynamic-context-off" in [one.code for one in only(events, Noticed)]
    assert "Say: !`touch a`" in world.sent()["messages"][-1]["content"]


async def test_a_skill_without_commands_cannot_get_them_through_another(world: World) -> None:
    world.config = ALLOWED
    world.add_skill("reader", "Load the skill state.", head="allowed-tools: Read, Skill\n")
    world.add_skill("state", "Say: !`echo a`")
    world.replies = [call("Skill", {"name": "reader"}), call("Skill", {"name": "state"}), say("done")]
    _, second = only(await world.run(), ToolFinished)
    assert second.result["error"]["code"] == "PERMISSION_DENIED"
    assert "the skill 'reader' does not allow the tool 'exec_shell'" in second.result["error"]["message"]
    assert "the skill 'reader' does not allow the tool 'exec_shell'" in denials(world)


async def test_an_agents_own_skill_runs_nothing(world: World) -> None:
    world.config = ALLOWED
    world.add_skill("state", "Say: !`echo ran`")
    (world.user_dir / "agents").mkdir()
    (world.user_dir / "agents" / "ops.md").write_text(
        "---\nname: ops\ndescription: x\nskills: [state]\n---\nYou run.\n"
    )
    world.replies = [say("done")]
    events = await world.run(agent="ops")
    assert "Say: !`echo ran`" in world.sent()["messages"][0]["content"]
    assert "dynamic-context-off" in [one.code for one in only(events, Noticed)]
    assert isinstance(events[-1], TurnFinished)
