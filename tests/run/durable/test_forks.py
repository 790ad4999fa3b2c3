"""Forks in the background, done by a real worker: limited by whoever started them, however far they go."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from clawft.app import open_app
from clawft.messages import ForkStarted
from clawft.run.durable.request import RunRequest
from clawft.run.durable.runs import Runs
from clawft.run.durable.values import OVER, Run
from clawft.working import open_app_runs
from runs_world import end_all
from wire import Asked, Reply, call, say
from world import World, collect, only

pytestmark = pytest.mark.anyio

APART = "context: fork\nbackground: true\n"
SETTINGS = "[skills.security]\nscan_on_load = false\n[memory]\nenabled = false\n[runs]\npoll_s = 0.05\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.provider = SETTINGS
    return world


@pytest.fixture
def runs(world: World) -> Iterator[Runs]:
    """The runs of the user, with a worker that is ended after the test, and so is the only one."""
    (world.user_dir / "config.toml").write_text(SETTINGS)
    with closing(open_app_runs(open_app(world.environ, str(world.project)))) as runs:
        command = (sys.executable, "-m", "clawft", "worker", "--concurrency", "4")
        log = world.user_dir / "worker.log"
        with log.open("wb") as file:
            worker = subprocess.Popen(command, cwd=world.project, env=world.environ, stdout=file, stderr=file)
        try:
            deadline = time.monotonic() + 30
            while not runs.store.workers():
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
            yield runs
        finally:
            end_all([worker])


async def wait_for(runs: Runs, count: int) -> list[Run]:
    """So many runs, over, the oldest first."""
    with anyio.fail_after(30):
        while len(found := runs.store.list(statuses=OVER)) < count:
            await anyio.sleep(0.05)
    return sorted(found, key=lambda one: one.created)


async def answer_question(runs: Runs, answer: str) -> str:
    """Answer the one question that is asked; what that was."""
    with anyio.fail_after(30):
        while not (asked := runs.store.questions()):
            await anyio.sleep(0.05)
    (question,) = asked
    runs.answer(question, answer)
    return question.event.question


def act(asked: Asked) -> Reply:
    """Outside, and in `outer`, a model starts the next skill; inside, it tries what it may not do first."""
    messages = asked.body["messages"]
    first = str(messages[1]["content"])
    here = next((name for name in ("inner", "outer") if f'<skill_content name="{name}">' in first), "")
    write = ("write_file", {"path": "made", "content": "x"})
    plan = {
        "": [("Skill", {"name": "outer"})],
        "outer": [write, ("exec_shell", {"command": "touch touched"}), ("Skill", {"name": "inner"})],
        "inner": [write, ("Skill", {"name": "outer"})],
    }[here]
    results = [str(one["content"]) for one in messages if one["role"] == "tool"]
    if len(results) < len(plan):
        return call(*plan[len(results)], f"c{len(results)}")
    return say("\n".join(results))


async def test_forks_of_forks_are_limited_as_the_first_was_and_pay_from_one_session(world: World, runs: Runs) -> None:
    agents = world.user_dir / "agents"
    agents.mkdir()
    (agents / "limited.md").write_text("---\nname: limited\ntools: Skill, Bash(touch:*)\n---\nYou are limited.\n")
    for name in ("outer", "inner"):
        world.add_skill(name, head=f"{APART}agent: default\n")
    world.replies = act
    async with world.talk(agent="limited") as conversation:
        events = await collect(conversation, "go")
        (agents / "limited.md").unlink()
        assert await answer_question(runs, "once") == "Run: touch touched"
        outer, inner = await wait_for(runs, 2)
        ledger, sessions = conversation.runtime.ledger, conversation.runtime.sessions
        told = only(events, ForkStarted)[0]
        assert (told.run, told.child) == (outer.id, outer.session)
        assert inner.session.startswith(f"{outer.session}:fork-")
        assert [(one.kind, one.status) for one in (outer, inner)] == [("fork", "done")] * 2
        refused = "the agent 'limited' does not allow the tool 'write_file'"
        assert all(refused in (one.result or "") for one in (outer, inner))
        assert f"weft runs watch {inner.id}" in (outer.result or "")
        assert "The skill would start itself: outer → inner → outer" in (inner.result or "")
        assert sessions.read(inner.session).messages[-1].content == inner.result
        used = sum(one.usage.total_tokens for one in (outer, inner)) + 30  # two answers here
        assert ledger.spent(session="test")[0] == used
    assert not (world.project / "made").exists()
    assert (world.project / "touched").exists()


async def test_a_run_that_goes_on_starts_no_second_fork_though_the_skill_changed(world: World, runs: Runs) -> None:
    folder = world.add_skill("work", head=APART)

    def reply(asked: Asked) -> Reply:
        if "<skill_content" in str(asked.body["messages"][1]["content"]):
            return say("Worked.")
        results = [str(one["content"]) for one in asked.body["messages"] if one["role"] == "tool"]
        steps = (call("Skill", {"name": "work"}, "a"), call("exec_shell", {"command": "touch touched"}, "b"))
        return steps[len(results)] if len(results) < 2 else say("\n".join(results))

    world.replies = reply
    async with world.open():
        first = runs.start(RunRequest(kind="agent", cwd=str(world.project), text="go"))
        with anyio.fail_after(30):
            while runs.store.get(first).status != "waiting":
                await anyio.sleep(0.05)
        (folder / "more.md").write_text("more")
        await answer_question(runs, "once")
        found = await wait_for(runs, 2)
        asked = len(world.server.asked)
    (fork,) = [one for one in found if one.kind == "fork"]
    again = runs.store.get(first)
    assert (again.attempt, again.status, fork.result) == (2, "done", "Worked.")
    assert f"weft runs watch {fork.id}" in (again.result or "")
    assert asked == 4, "no answer was asked for twice"


async def test_a_session_of_a_fork_has_one_run(world: World) -> None:
    (world.user_dir / "config.toml").write_text(SETTINGS)
    request = RunRequest(kind="fork", cwd=str(world.project), session="test:fork-1", skill="work")
    with closing(open_app_runs(open_app(world.environ, str(world.project)))) as runs:
        first, second = runs.start(request), runs.start(request)
        assert first == second
        assert len(runs.store.list()) == 1
