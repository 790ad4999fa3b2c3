"""What is written of runs when the one who writes heard nothing, or writes too late."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from clawft.agent.run_request import RunRequest
from clawft.config.jobs import RunsSettings
from clawft.jobs.engine import AttemptLost
from clawft.jobs.run_state import PendingQuestion, WorkerRow, now_text
from clawft.jobs.runs import Runs
from clawft.jobs.store import EventRow
from clawft.messages import ApprovalNeeded


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    opened = Runs(RunsSettings(), str(tmp_path), {})
    yield opened
    opened.close()


def begin(runs: Runs, worker: str = "a") -> str:
    run = runs.start(RunRequest(kind="agent", cwd="/", text="go"))
    assert runs.store.begin(run, 1, worker)
    return run


def ask(runs: Runs, run: str) -> None:
    event = ApprovalNeeded(call="1.0", tool="exec_shell", question="Run: x", reason="", dangerous=False)
    runs.store.ask(PendingQuestion(run, "1.0?1", "approval", event, now_text()))


def test_a_run_does_not_wait_for_an_answer_that_was_taken_as_it_was_about_to_wait(runs: Runs) -> None:
    run = begin(runs)
    ask(runs, run)
    runs.store.answer(run, "1.0?1", "once", "me")
    assert runs.store.take(run, "1.0?1") == ("once", "me")
    assert not runs.store.park(run, 1, ["1.0?1"])
    assert runs.store.get(run).status == "running"


def test_a_run_that_waits_already_waits_if_it_is_said_again(runs: Runs) -> None:
    run = begin(runs)
    ask(runs, run)
    assert runs.store.park(run, 1, ["1.0?1"])
    assert runs.store.park(run, 1, ["1.0?1"])  # the first word was heard, and its answer got lost
    runs.store.answer(run, "1.0?1", "once", "me")
    assert (runs.store.get(run).status, runs.store.get(run).attempt) == ("queued", 2)


def test_events_that_are_written_twice_are_there_once(runs: Runs) -> None:
    run = begin(runs)
    rows = [EventRow(run, number, "", "{}") for number in (1, 2)]
    runs.store.write(rows, [], "a")
    runs.store.write([*rows, EventRow(run, 3, "", "{}")], [], "a")
    assert [number for number, _, _ in runs.store.events(run)] == [1, 2, 3]


def test_a_worker_tells_nothing_of_runs_that_another_has(runs: Runs) -> None:
    run, other = begin(runs), begin(runs)
    assert runs.store.begin(run, 1, "b")
    runs.store.write([EventRow(run, 1, "", "{}"), EventRow(other, 1, "", "{}")], [], "a")
    assert not runs.store.events(run)
    assert runs.store.events(other)


def test_nothing_changes_where_the_guard_objects(runs: Runs) -> None:
    run = begin(runs)

    def object_to(_connection: sa.Connection) -> None:
        raise AttemptLost

    ask(runs, run)
    runs.store.answer(run, "1.0?1", "once", "me")
    lost = runs.store.guarded(object_to)
    for late in (
        lambda: lost.finish(run, 1, "failed"),
        lambda: lost.begin(run, 1, "c"),
        lambda: lost.take(run, "1.0?1"),
        lambda: lost.park(run, 1, []),
    ):
        with pytest.raises(AttemptLost):
            late()
    assert (runs.store.get(run).status, runs.store.get(run).worker) == ("running", "a")
    assert not runs.store.questions(run, open_only=False)[0].taken


def test_deaths_of_workers_count_until_a_run_gets_further(runs: Runs) -> None:
    run = begin(runs)
    runs.store.orphan(["a"])
    runs.store.begin(run, 1, "b")
    runs.store.orphan(["b"])
    runs.store.begin(run, 1, "c")
    runs.store.orphan(["c"], died=False)
    assert runs.store.get(run).deaths == 2
    runs.store.begin(run, 1, "d")
    names = {"new_input_tokens": 0, "new_output_tokens": 0, "new_cost_usd": None, "new_worked_ms": 0}
    runs.store.write([], [{"of": run, "in_attempt": 1, "new_steps": 0, **names}], "d")
    assert runs.store.get(run).deaths == 2
    runs.store.write([], [{"of": run, "in_attempt": 1, "new_steps": 1, **names}], "d")
    assert runs.store.get(run).deaths == 0


MAKE = """
import resource, sys
from clawft.config.jobs import RunsSettings
from clawft.jobs.runs import Runs
import clawft.jobs.runs, clawft.jobs.engine
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
Runs(RunsSettings(), sys.argv[1], {}).engine
"""


@pytest.mark.parametrize("size", [100_000, 250_000])
def test_a_database_that_could_not_be_made_to_its_end_is_made_when_there_is_room(tmp_path: Path, size: int) -> None:
    words = [sys.executable, "-B", "-c", MAKE, str(tmp_path), str(size)]
    cut = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "The database of runs cannot be used: disk I/O error" in cut.stderr
    with closing(Runs(RunsSettings(), str(tmp_path), {})) as made:
        run = made.start(RunRequest(kind="agent", cwd="/", text="go"))
        assert made.store.get(run).status == "queued"


def test_a_run_is_finished_by_who_has_it_though_another_took_it_for_a_dead_workers(runs: Runs) -> None:
    run = begin(runs)
    runs.store.orphan(["a"])  # and died before it could give the attempt to others
    assert runs.store.get(run).status == "queued"
    assert runs.store.finish(run, 1, "done")
    assert runs.store.get(run).status == "done"


def test_a_worker_that_came_back_keeps_its_runs(runs: Runs) -> None:
    run = begin(runs)
    runs.store.roster.register_worker(WorkerRow("a", "h", 1, "", "default", 4, now_text(), 0, now_text(), False))
    runs.store.orphan(["a"])
    assert runs.store.get(run).status == "running"
    runs.store.orphan(["a"], died=False)
    assert runs.store.get(run).status == "queued"
