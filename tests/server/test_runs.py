"""Runs in the background through the daemon: listed, shown, started, ended, answered, and pushed when they change."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import anyio
import msgspec
import pytest

from clawft.agent.run_request import RunRequest
from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from clawft.errors import ClawftError, NotFound, Refused
from clawft.jobs.run_state import PendingQuestion, WorkerRow, now_text
from clawft.jobs.runs import Runs
from clawft.jobs.worker_registry import this_host, this_mark
from clawft.messages import ApprovalNeeded
from clawft.server.callers import Listener
from clawft.server.protocol.records import AnswerRun, CancelRun, GetRun, ListRuns, RetryRun, StartRun
from serve_world import ADMIN, Client, ServeWorld

pytestmark = pytest.mark.anyio


@contextmanager
def runs_of(world: ServeWorld) -> Iterator[Runs]:
    world.write_config()
    with closing(open_app_runs(open_app(world.environ, str(world.project)))) as runs:
        yield runs


def served(runs: Runs) -> None:
    """Have it look as if a worker were there: this process, which does nothing."""
    row = WorkerRow("w", this_host(), os.getpid(), this_mark(), "default", 4, now_text(), 0, now_text(), stopping=False)
    runs.store.roster.register_worker(row)


def start(world: ServeWorld, *texts: str) -> list[str]:
    with runs_of(world) as runs:
        served(runs)
        cwd = str(world.project)
        return [runs.start(RunRequest(kind="agent", cwd=cwd, project=cwd, text=text)) for text in texts]


def ask(world: ServeWorld, run: str, **event: Any) -> None:
    """Have a run wait for an answer."""
    with runs_of(world) as runs:
        runs.store.begin(run, 1, "w")
        asked = ApprovalNeeded(call="c", tool="exec_shell", question="Run touch made.txt?", **event)
        runs.store.ask(PendingQuestion(run=run, key="1.0", kind="approval", event=asked, asked=now_text()))
        runs.store.park(run, 1, ["1.0"])


async def until(happened: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not happened():
            await anyio.sleep(0.01)


async def test_who_never_started_a_run_is_told_so_and_no_database_is_made(world: ServeWorld) -> None:
    async with world.open_daemon() as daemon:
        told = await Client(daemon).ask(ListRuns())
        assert (told.runs, told.missing.code, "--background" in told.missing.hint) == ((), "runs-unused", True)
        for request in (
            GetRun(run="x"),
            CancelRun(run="x"),
            RetryRun(run="x"),
            AnswerRun(run="x", key="k", answer="no"),
        ):
            with pytest.raises(NotFound, match="no run 'x'"):
                await Client(daemon).ask(request)
        assert not (world.user_dir / "runs").exists()


async def test_without_the_part_that_runs_need_it_is_said_in_words(
    world: ServeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)  # as if it were not installed
    async with world.open_daemon() as daemon:
        told = await Client(daemon).ask(ListRuns())
        assert (told.missing.code, told.missing.hint) == ("durable-missing", "Install clawft[durable]")
        for request in (StartRun(text="x"), GetRun(run="x")):
            with pytest.raises(ClawftError) as caught:
                await Client(daemon).ask(request)
            assert caught.value.code == "durable-missing"


async def test_runs_are_listed_newest_first_in_pages_by_state(world: ServeWorld) -> None:
    ids = start(world, "one", "two", "three")
    async with world.open_daemon() as daemon:
        first = await Client(daemon).ask(ListRuns(limit=2))
        rest = await Client(daemon).ask(ListRuns(limit=2, cursor=first.cursor))
        listed = [one.id for one in (*first.runs, *rest.runs)]
        assert (sorted(listed), first.counts, rest.cursor) == (sorted(ids), {"queued": 3}, "")
        await Client(daemon).ask(CancelRun(run=ids[0]))
        ended = await Client(daemon).ask(ListRuns(statuses=("cancelled",)))
        assert [one.title for one in ended.runs] == ["one"]
        for cursor in ("x", "2030/", "/a", "a/b/c", "\0/\0"):
            with pytest.raises(ClawftError, match="no cursor"):
                await Client(daemon).ask(ListRuns(cursor=cursor))


async def test_a_run_is_shown_with_its_timeline_ended_and_gone_on_with(world: ServeWorld) -> None:
    (run,) = start(world, "a task")
    async with world.open_daemon() as daemon:
        client = Client(daemon)
        told = (await client.ask(GetRun(run=run[:-2]))).run
        assert (told.summary.title, told.summary.status, told.timeline[0]["kind"]) == ("a task", "queued", "queued")
        assert (await client.ask(CancelRun(run=run))).run.summary.status == "cancelled"
        assert (await client.ask(RetryRun(run=run))).run.summary.status == "queued"
        with pytest.raises(Refused, match="cannot be retried"):
            await client.ask(RetryRun(run=run))
    lines = [json.loads(line) for line in (world.user_dir / "audit.jsonl").read_text().splitlines()]
    asked = [one for one in lines if one["subject"].startswith(("cancel", "retry"))]
    assert {one["detail"]["by"] for one in asked} == {"ann"}
    assert [one["decision"] for one in asked] == ["allowed", "allowed", "allowed", "failed"]


async def test_what_a_run_asks_is_told_and_answered_once(world: ServeWorld) -> None:
    (run,) = start(world, "a task")
    ask(world, run, dangerous=True)
    async with world.open_daemon() as daemon:
        (entry,) = (await Client(daemon).ask(ListRuns(statuses=("waiting",)))).runs
        (question,) = entry.questions
        assert (question.question, question.choices) == ("Run touch made.txt?", ("once", "no"))
        with pytest.raises(ClawftError, match="'always' is no answer here"):
            await Client(daemon).ask(AnswerRun(run=run, key="1.0", answer="always"))
        with pytest.raises(Refused, match="lacks the scope approve"):
            await Client(daemon, "run").ask(AnswerRun(run=run, key="1.0", answer="once"))
        done = await Client(daemon, "approve", name="bob").ask(AnswerRun(run=run, key="1.0", answer="once"))
        assert done.run.summary.status == "queued"
        waited = done.run.timeline  # what it did is not theirs to see
        assert [(one["kind"], one["answer"], one["by"]) for one in waited] == [("wait", "once", "token bob")]
        with pytest.raises(NotFound, match="asks nothing by that name"):
            await Client(daemon).ask(AnswerRun(run=run, key="1.0", answer="no"))


async def test_a_token_sees_and_ends_the_runs_that_it_started_only(world: ServeWorld) -> None:
    (other,) = start(world, "of somebody else")
    async with world.open_daemon() as daemon:
        robot = Client(daemon, "run", name="robot")
        started = await robot.ask(StartRun(text="my own", session="mine"))
        assert (started.session, started.problem) == ("@robot:mine", None)
        assert (await robot.ask(GetRun(run=started.run))).run.summary.title == "my own"
        for request in (GetRun(run=other), CancelRun(run=other), RetryRun(run=other), GetRun(run=other[:8])):
            with pytest.raises(NotFound, match="no run"):
                await robot.ask(request)
        with pytest.raises(Refused, match="lacks the scope admin"):
            await robot.ask(ListRuns())
        assert (await robot.ask(CancelRun(run=started.run))).run.summary.status == "cancelled"


async def test_a_run_that_says_nothing_or_names_no_skill_is_not_started(world: ServeWorld) -> None:
    async with world.open_daemon() as daemon:
        with pytest.raises(ClawftError, match="Name a skill"):
            await Client(daemon).ask(StartRun(text="  "))
        with pytest.raises(NotFound):
            await Client(daemon).ask(StartRun(skill="not-there"))
        with pytest.raises(ClawftError, match="cannot name a session"):
            await Client(daemon).ask(StartRun(text="x", session=".hidden"))


async def test_changes_are_pushed_to_who_subscribed(world: ServeWorld) -> None:
    (run,) = start(world, "a task")
    async with world.open_daemon() as daemon:
        told: list[dict[str, Any]] = []
        listener = Listener(ADMIN, lambda message: told.append(msgspec.json.decode(message)))
        daemon.topics.add("runs", listener)
        daemon.runs.refresh_soon()
        await until(lambda: bool(told))
        assert [(one["id"], one["status"]) for one in told[0]["runs"]] == [(run, "queued")]
        ask(world, run)
        daemon.runs.refresh_soon()
        await until(lambda: len(told) > 1)
        assert [one["questions"][0]["tool"] for one in told[1]["runs"]] == ["exec_shell"]
        await Client(daemon).ask(CancelRun(run=run))
        await until(lambda: len(told) > 2)
        assert (told[2]["runs"][0]["status"], told[2]["counts"]) == ("cancelled", {"cancelled": 1})


async def test_a_run_is_done_by_a_worker_and_its_result_is_told(world: ServeWorld) -> None:
    world.add_skill("greet")
    world.config = "[runs]\nidle_s = 0.1\npoll_s = 0.05\n"
    async with world.open_daemon() as daemon:
        client = Client(daemon)
        started = await client.ask(StartRun(skill="greet", text="the world"))
        with anyio.fail_after(60):
            while (told := (await client.ask(GetRun(run=started.run))).run).summary.status != "done":
                assert told.summary.status in ("queued", "running"), told
                await anyio.sleep(0.1)
        assert (told.result or "").startswith("Done")
        assert [one["kind"] for one in told.timeline] == ["queued", "model"]
        await until(lambda: not _workers(world))


def _workers(world: ServeWorld) -> list[WorkerRow]:
    with runs_of(world) as runs:
        return list(runs.store.roster.workers())
