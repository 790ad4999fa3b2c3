"""What a fork may do: never more than whoever forked it."""

from collections import Counter
from pathlib import Path

import pytest

from clawft.app.app import open_app
from clawft.messages import (
    ForkFinished,
    ForkStarted,
    Noticed,
    ToolFinished,
    TurnFailed,
    TurnFinished,
)
from forking import FORK, is_fork, repeat_result, using
from wire import Asked, Reply, call, say
from world import World, only

pytestmark = pytest.mark.anyio


def add_agent(folder: Path, name: str, head: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\nname: {name}\ndescription: It works.\n{head}---\n\nYou are {name}.\n")


def tools_of(asked: Asked) -> set[str]:
    return {one["function"]["name"] for one in asked.body.get("tools", ())}


WRITE = ("write_file", {"path": "made", "content": "x"})


async def test_the_agent_of_a_skill_answers_in_its_fork(world: World) -> None:
    add_agent(world.user_dir / "agents", "clerk", "tools: read_file\ntemperature: 0.5\n")
    world.add_skill("work", head=FORK + "agent: clerk\n")
    world.replies = [say("Done.")]
    events = await world.run("", skill="work")
    sent = world.server.asked[0]
    assert only(events, ForkStarted)[0].agent == "clerk"
    assert sent.body["messages"][0]["content"].startswith("You are clerk.")
    assert (tools_of(sent), sent.body["temperature"]) == ({"read_file"}, 0.5)


@pytest.mark.parametrize(
    ("named", "meant"), [("Explore", "explore"), ("general-purpose", "default"), ("Plan", "planner")]
)
async def test_claudes_names_of_agents_mean_ours(world: World, named: str, meant: str) -> None:
    world.add_skill("work", head=f"{FORK}agent: {named}\n")
    world.replies = [say("Done.")]
    assert only(await world.run("", skill="work"), ForkStarted)[0].agent == meant


async def test_an_agent_with_more_tools_than_its_parent_gets_no_more(world: World) -> None:
    add_agent(world.user_dir / "agents", "reader", "tools: read_file, Skill\n")
    world.add_skill("work", head=FORK + "agent: coder\nallowed-tools: write_file read_file\n")
    world.replies = using(*WRITE)
    events = await world.run("go", agent="reader")
    child = next(one for one in world.server.asked if is_fork(one))
    assert tools_of(child) == {"read_file"}
    assert "the agent 'reader' does not allow the tool 'write_file'" in only(events, TurnFinished)[0].text
    assert not (world.project / "made").exists()


async def test_a_limit_of_an_agent_on_arguments_holds_in_forks_below_it(world: World) -> None:
    add_agent(world.user_dir / "agents", "notes", "tools: Write(notes/**), Skill\n")
    world.add_skill("work", head=FORK + "agent: coder\n")
    world.replies = using(*WRITE)
    events = await world.run("go", agent="notes")
    assert "PERMISSION_DENIED" in only(events, TurnFinished)[0].text
    assert not (world.project / "made").exists()


@pytest.mark.parametrize("head", ["allowed-tools: read_file, Skill\n", "disallowed-tools: write_file\n"])
async def test_a_skill_that_is_active_limits_the_forks_of_its_turn(world: World, head: str) -> None:
    world.add_skill("outer", "Start work.", head=head)
    world.add_skill("work", head=FORK + "allowed-tools: write_file\n")

    def reply(asked: Asked) -> Reply:
        inside = '<skill_content name="work">' in str(asked.body["messages"][1]["content"])
        return repeat_result(asked) or (call(*WRITE) if inside else call("Skill", {"name": "work"}))

    world.replies = reply
    events = await world.run("", skill="outer")
    assert "the skill 'outer'" in only(events, TurnFinished)[0].text
    assert not (world.project / "made").exists()


async def test_the_skill_of_a_fork_limits_all_of_it_and_nothing_else(world: World) -> None:
    world.add_skill("work", head=FORK + "allowed-tools: read_file\n")
    steps = Counter[bool]()

    def reply(asked: Asked) -> Reply:
        steps[is_fork(asked)] += 1
        if is_fork(asked):
            return call(*WRITE, call_id=f"c{steps[True]}") if steps[True] < 4 else say("I could not.")
        return (call("Skill", {"name": "work"}), call(*WRITE), say("Done."))[steps[False] - 1]

    world.replies = reply
    events = await world.run("go")
    child = only(events, ForkFinished)[0]
    assert (child.status, child.calls) == ("done", 3)
    assert [one.status for one in only(events, ToolFinished)] == ["success", "success"]
    assert (world.project / "made").exists()  # by the parent, which the skill does not limit


async def test_a_command_in_the_text_of_a_fork_is_judged_by_what_is_above_it(world: World) -> None:
    world.config = '[skills.security]\nallowed_command_prefixes = ["touch"]\n'
    world.add_skill("outer", "Start work.", head="disallowed-tools: Bash\n")
    work = world.add_skill("work", "!touch made\nDone.", head=FORK)
    world.replies = [call("Skill", {"name": "work"}), say("ok")]
    events = await world.run("", skill="outer")
    assert "the skill 'outer' disallows Bash" in only(events, ToolFinished)[0].result["text"]
    assert not list(world.project.glob("made")) + list(work.glob("made"))
    assert "the skill 'outer' disallows Bash" in (world.user_dir / "audit.jsonl").read_text()


async def test_a_fork_has_the_mode_of_its_parent(world: World) -> None:
    world.config = 'mode = "plan"\n'
    world.add_skill("work", head=FORK + "agent: coder\n")
    world.replies = using(*WRITE)
    assert "mode plan" in only(await world.run("go"), TurnFinished)[0].text
    assert not (world.project / "made").exists()


@pytest.mark.parametrize("by", ["user", "model"])
async def test_an_agent_of_the_project_that_nobody_approved_is_refused(world: World, by: str) -> None:
    add_agent(world.project / ".clawft" / "agents", "helper", "")
    world.add_skill("work", head=FORK + "agent: helper\n")
    world.replies = using(*WRITE)
    events = await world.run("go", skill="work" if by == "user" else "")
    last = events[-1]
    assert isinstance(last, TurnFailed) if by == "user" else isinstance(last, TurnFinished)
    said = last.message if isinstance(last, TurnFailed) else only(events, TurnFinished)[0].text
    assert "The project's agent 'helper' is not approved" in said
    assert only(events, ForkStarted) == []
    app = open_app(world.environ, str(world.project))
    app.reviewer.approve([app.reviewer.review_agent(app.get_agent("helper").found)])
    world.replies = [say("ok")]
    assert only(await world.run("", skill="work", key="b"), ForkStarted)[0].agent == "helper"


async def test_an_agent_that_is_not_there_is_an_error_with_the_near_name(world: World) -> None:
    world.add_skill("work", head=FORK + "agent: codr\n")
    world.replies = ()
    failed = (await world.run("", skill="work"))[-1]
    assert isinstance(failed, TurnFailed)
    assert (failed.code, "coder" in failed.hint) == ("agent-not-found", True)


async def test_the_model_of_a_skill_answers_in_its_fork_and_not_outside(world: World) -> None:
    world.add_skill("work", head=FORK + "model: local/big\n")
    world.replies = using("list_directory", {"path": "."})
    events = await world.run("go")
    assert {one.body["model"] for one in world.server.asked if is_fork(one)} == {"big"}
    assert {one.body["model"] for one in world.server.asked if not is_fork(one)} == {"m"}
    assert only(events, ForkFinished)[0].model == "local/big"


@pytest.mark.parametrize("head", ["model: nowhere/big\n", "agent: clerk\n"])
async def test_a_model_that_no_provider_has_is_an_error(world: World, head: str) -> None:
    add_agent(world.user_dir / "agents", "clerk", "model: nowhere/big\n")
    world.add_skill("work", head=FORK + head)
    world.replies = ()
    failed = (await world.run("", skill="work"))[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.code == "provider-not-found"
    assert "asks for the model 'nowhere/big', which cannot be used: No provider 'nowhere'" in failed.message
    assert world.server.asked == []


async def test_what_only_claude_knows_as_a_model_is_the_parents_with_a_note(world: World) -> None:
    world.add_skill("work", head=FORK + "model: opus\n")
    world.replies = [say("Done.")]
    events = await world.run("", skill="work", model="local/mine")
    assert only(events, ForkStarted)[0].model == "local/mine"  # what the person says comes first, without a word
    world.replies = [say("Done.")]
    events = await world.run("", skill="work", key="b")
    assert only(events, ForkStarted)[0].model == "local/m"
    assert [(one.code, one.severity) for one in only(events, Noticed)] == [("fork-model", "note")]
