"""`/runs`: what runs in the background, seen, answered, watched and ended at the prompt; and a word when it waits."""

import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from clawft.agent.run_request import RunRequest
from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from clawft.cli.repl.notices import RunNotices
from clawft.jobs.run_state import PendingQuestion, WorkerRow, now_text
from clawft.jobs.runs import Runs
from clawft.jobs.worker_registry import this_host, this_mark
from clawft.messages import ApprovalNeeded
from terminal import CTRL_C, Open, Terminal
from wire import Asked, Reply, call, say
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]


@pytest.fixture
def enter() -> Enter:
    """As everywhere else; what is drawn while a command works is no prompt."""

    async def run(terminal: Terminal, line: str) -> str:
        typed = terminal.text().count(f"> {line}\n")
        terminal.type(f"{line}\r")
        await terminal.wait_for(f"> {line}\n", typed + 1)
        await terminal.prompt()
        return terminal.text().rstrip().removesuffix("\n>").rpartition(f"\n> {line}\n")[2]

    return run


@contextmanager
def opened(world: World) -> Iterator[Runs]:
    runs = open_app_runs(open_app(world.environ, str(world.project)))
    try:
        yield runs
    finally:
        runs.close()


def ask_for(world: World, text: str, project: str = "") -> str:
    """Queue a run; this process counts as a worker, so that no other is started."""
    place = project or str(world.project)
    row = WorkerRow(
        id="here",
        host=this_host(),
        pid=os.getpid(),
        mark=this_mark(),
        queue="default",
        concurrency=1,
        started=now_text(),
        beat=0,
        seen=now_text(),
        stopping=False,
    )
    with opened(world) as runs:
        runs.store.roster.register_worker(row)
        return runs.start(RunRequest(kind="agent", cwd=place, project=place, text=text))


def put(world: World, run: str, *, grave: bool = False) -> None:
    """Have a run wait with a question."""
    event = ApprovalNeeded(call="c", tool="exec_shell", question="Run: touch it", reason="Who knows", dangerous=grave)
    with opened(world) as runs:
        assert runs.store.begin(run, 1, "here")
        runs.store.ask(PendingQuestion(run, "1.0?1", "approval", event, now_text()))
        assert runs.store.park(run, 1, ["1.0?1"])


def answers(world: World, run: str) -> list[str | None]:
    with opened(world) as runs:
        return [one.answer for one in runs.store.questions(run, open_only=False)]


async def test_runs_of_the_project_are_listed_those_that_wait_first(world: World, terminal: Open, enter: Enter) -> None:
    async with terminal(columns=110) as t:
        assert await enter(t, "/runs") == "No runs yet. Start one: weft agent --background -m TEXT"
        asks, queued, _ = (
            ask_for(world, "asks something"),
            ask_for(world, "is queued"),
            ask_for(world, "elsewhere", "/elsewhere"),
        )
        put(world, asks)
        lines = (await enter(t, "/runs")).splitlines()
        assert [line.split()[:2] for line in lines if line.startswith(asks[:6])] == [
            [asks, "waiting"],
            [queued, "queued"],
        ]
        assert lines[2] == "   └ asks: Run: touch it"
        assert lines[-2:] == [
            "2 runs of this project: 1 waiting, 1 queued",
            f"  /runs answer {asks} once|session|always|no",
        ]
        shown = await enter(t, f"/runs {asks[:-2]}")
        assert "What: asks something" in shown
        assert shown.endswith(f"/runs answer {asks} once|session|always|no")
        assert "error[run-not-found]" in await enter(t, "/runs nope")
        assert await enter(t, f"/runs cancel {queued}") == f"{queued} is cancelled"
        t.type("/runs can\t")
        await t.wait_for("> /runs cancel")


async def test_a_run_is_answered_and_a_grave_question_is_put_once_more(
    world: World, terminal: Open, enter: Enter
) -> None:
    plain, grave = ask_for(world, "one"), ask_for(world, "two")
    put(world, plain)
    put(world, grave, grave=True)
    async with terminal(columns=110) as t:
        assert await enter(t, "/runs answer x") == "Say: /runs answer ID [KEY] ANSWER"
        assert "error[run-answer]" in await enter(t, f"/runs answer {plain} perhaps")
        said = await enter(t, f"/runs answer {plain} '1.0?1' session")
        assert said.splitlines() == [
            "? Run: touch it",
            "  Who knows",
            f"Answered: session. It goes on; follow it: /runs watch {plain}",
        ]
        t.type(f"/runs answer {grave} once\r")
        await t.wait_for("  Do it? [y]es, [N]o:")
        t.type("\r")
        await t.wait_for("Nothing was answered")
        assert (answers(world, plain), answers(world, grave)) == (["session"], [None])
        t.type(f"/runs answer {grave} once\r")
        await t.wait_for("  Do it? [y]es, [N]o:", 2)
        t.type("y\r")
        await t.wait_for("Answered: once. It goes on")
        assert answers(world, grave) == ["once"]


async def test_a_word_is_said_once_when_a_run_waits_or_is_over(
    world: World, terminal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunNotices, "every_s", 0.05)
    run, over = ask_for(world, "look after the tests"), ask_for(world, "was over before")
    with opened(world) as runs:
        runs.cancel(over)
    async with terminal(columns=66) as t:
        t.type("half a line")
        await t.prompt("half a line")
        put(world, run)
        await t.wait_for(f"● look after t… waits for your answer: /runs {run}\n> half a line")
        with opened(world) as runs:
            runs.cancel(run)
        await t.wait_for(f"● look after the tests was cancelled: /runs {run}\n> half a line")
        assert t.text().count("●") == 2


def answer(asked: Asked) -> Reply:
    if any(one["role"] == "tool" for one in asked.body["messages"]):
        return say("**Made** it.")
    return call("exec_shell", {"command": "touch made.txt"})


async def test_a_run_is_watched_left_and_answered_at_the_prompt(
    world: World, terminal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunNotices, "every_s", 0.05)
    world.replies = answer
    world.config = 'mode = "ask"\n[runs]\nlease_s = 1\npoll_s = 0.05\n'
    async with terminal(columns=110) as t:
        with opened(world) as runs:
            place = str(world.project)
            run = runs.start(RunRequest(kind="agent", cwd=place, project=place, text="make it"))
        try:  # to watch it starts a worker
            t.type(f"/runs watch {run}\r")
            await t.wait_for("? Run: touch made.txt")
            await t.wait_for("[N]o, [l]ater:")
            t.type(CTRL_C)
            await t.wait_for(f"left; it goes on. To see it again: /runs watch {run}")
            await t.prompt()
            t.type(f"/runs watch {run}\r")
            await t.wait_for("[N]o, [l]ater:", 2)
            t.type("y\r")
            await t.wait_for("Made it.")
            await t.prompt()
            assert "is done: /runs" not in t.text()
            assert "**" not in t.text()
        finally:
            os.kill(int((world.user_dir / "runs" / "default.starting").read_text()), signal.SIGKILL)
    assert (world.project / "made.txt").exists()
