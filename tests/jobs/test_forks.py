"""Forks in the background, done by a real worker: limited by whoever started them, however far they go."""

import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from clawft.agent.conversation import open_conversation
from clawft.agent.run_request import RunRequest, TurnRequest
from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from clawft.jobs.run_state import OVER, Run
from clawft.jobs.runs import Runs
from clawft.messages import ForkStarted
from runs_world import end_all
from warm import WarmPopen
from wire import Asked, Reply, call, say
from world import ASKING, World, collect, only

pytestmark = pytest.mark.anyio

APART = "context: fork\nbackground: true\n"
SETTINGS = "[skills.security]\nscan_on_load = false\n[memory]\nenabled = false\n[runs]\npoll_s = 0.05\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("forks"))
    world.provider = SETTINGS
    (world.user_dir / "config.toml").write_text(SETTINGS)
    return world


@pytest.fixture(scope="module")
def runs(world: World) -> Iterator[Runs]:
    """The runs of the user, with a worker that is ended after the tests; while it lives, no other is started."""
    log = world.user_dir / "worker.log"
    with closing(open_app_runs(open_app(world.environ, str(world.project)))) as runs:
        command = (sys.executable, "-m", "clawft", "worker", "--concurrency", "4")
        with log.open("wb") as file:
            worker: WarmPopen[bytes] = WarmPopen(
                command, cwd=world.project, env=world.environ, stdout=file, stderr=file
            )
        try:
            deadline = time.monotonic() + 60
            while not runs.store.roster.workers():
                assert worker.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
            yield runs
        finally:
            end_all([worker])


async def wait_for(runs: Runs, run: str, statuses: tuple[str, ...] = OVER) -> Run:
    with anyio.fail_after(60):
        while (found := runs.store.get(run)).status not in statuses:
            await anyio.sleep(0.05)
    return found


async def find_below(runs: Runs, session: str) -> Run:
    """The one run that was forked from a session, over."""
    (found,) = [one for one in runs.store.list(kinds=("fork",)) if one.session.startswith(f"{session}:fork-")]
    return await wait_for(runs, found.id)


async def answer_question(runs: Runs, run: str, answer: str) -> str:
    """Answer the one question that a run asks; what that was."""
    with anyio.fail_after(60):
        while not (asked := runs.store.questions(run)):
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
    world.environ |= ASKING
    agents = world.user_dir / "agents"
    agents.mkdir()
    (agents / "limited.md").write_text("---\nname: limited\ntools: Skill, Bash(touch:*)\n---\nYou are limited.\n")
    for name in ("outer", "inner"):
        world.add_skill(name, head=f"{APART}agent: default\n")
    world.replies = act
    async with world.talk(agent="limited", key="chain") as conversation:
        (told,) = only(await collect(conversation, "go"), ForkStarted)
        (agents / "limited.md").unlink()
        assert await answer_question(runs, told.run, "once") == "Run: touch touched"
        outer = await wait_for(runs, told.run)
        inner = await find_below(runs, outer.session)
        ledger, sessions = conversation.runtime.usage.ledger, conversation.runtime.sessions
        assert outer.session == told.child
        assert (outer.parent, inner.parent) == ("", outer.id)
        assert (outer.status, inner.status) == ("done", "done")
        refused = "the agent 'limited' does not allow the tool 'write_file'"
        assert all(refused in (one.result or "") for one in (outer, inner))
        assert f"weft runs watch {inner.id}" in (outer.result or "")
        assert "The skill would start itself: outer → inner → outer" in (inner.result or "")
        assert sessions.read(inner.session).messages[-1].content == inner.result
        used = sum(one.usage.total_tokens for one in (outer, inner)) + 30  # two answers here
        assert ledger.spent(session="chain")[0] == used
    assert not (world.project / "made").exists()
    assert (world.project / "touched").exists()


async def test_a_run_that_goes_on_starts_no_second_fork_though_the_skill_changed(world: World, runs: Runs) -> None:
    world.config = f'mode = "ask"\n{world.config}'
    folder = world.add_skill("work", head=APART)

    def reply(asked: Asked) -> Reply:
        if "<skill_content" in str(asked.body["messages"][1]["content"]):
            return say("Worked.")
        results = [str(one["content"]) for one in asked.body["messages"] if one["role"] == "tool"]
        steps = (call("Skill", {"name": "work"}, "a"), call("exec_shell", {"command": "touch touched"}, "b"))
        return steps[len(results)] if len(results) < 2 else say("\n".join(results))

    world.replies = reply
    async with world.open():
        run = runs.start(RunRequest(kind="agent", cwd=str(world.project), text="go"))
        await wait_for(runs, run, ("waiting",))
        (folder / "more.md").write_text("more")
        await answer_question(runs, run, "once")
        again = await wait_for(runs, run)
        fork = await find_below(runs, again.session)
        asked = len(world.server.asked)
    assert (again.attempt, again.status, fork.result) == (2, "done", "Worked.")
    assert f"weft runs watch {fork.id}" in (again.result or "")
    assert asked == 4, "no answer was asked for twice"


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_skill_that_is_trusted_for_a_turn_is_trusted_in_the_run_that_it_starts(
    world: World, runs: Runs, trusted: bool
) -> None:
    name = f"guest-{trusted}".lower()
    folder = world.add_skill(name, head=APART, strangers=True)
    world.replies = [say("Worked.")]
    async with world.open():
        app = open_app(world.environ, str(world.project))
        app.run_trust.project = True
        async with (
            app.open_runtime() as runtime,
            open_conversation(runtime, app.choose_agent(), key=name) as conversation,
        ):
            if not trusted:  # what was trusted is the skill as it was
                start_run = runtime.start_run
                assert start_run is not None

                async def change_and_start(request: RunRequest) -> str:
                    (folder / "more.md").write_text("more")
                    return await start_run(request)

                runtime.start_run = change_and_start
            (told,) = only(await collect(conversation, TurnRequest("", skill=name)), ForkStarted)
        run = await wait_for(runs, told.run)
    assert (run.status, run.result) == (("done", "Worked.") if trusted else ("failed", None))
    assert trusted or (run.error is not None and run.error.code == "fork-changed")


async def test_a_session_of_a_fork_has_one_run(tmp_path: Path) -> None:
    world = World(tmp_path)
    (world.user_dir / "config.toml").write_text(SETTINGS)
    request = RunRequest(kind="fork", cwd=str(world.project), session="test:fork-1", skill="work")
    with closing(open_app_runs(open_app(world.environ, str(world.project)))) as runs:
        first, second = runs.start(request), runs.start(request)
        assert first == second
        assert len(runs.store.list()) == 1
