"""Workers that end, in order or not, at bad moments; and workers of other versions."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos import Chaos, answer, make_command, ten_steps, until
from clawft.jobs.run_state import FORMAT
from wire import Reply


def one_command(before: str = "", after: str = "") -> Callable[[str, int], Reply]:
    """A turn with one command that must not be repeated, and a model that takes its time afterwards."""

    def reply(label: str, place: int) -> Reply:
        if place == 0:
            return answer(make_command(label, "a", before, after))
        return answer(text="done", wait_s=0.2)

    return reply


ONCE = Counter({("r1", "a"): 1})


# a person who takes his time


@pytest.mark.parametrize("is_parked", [False, True], ids=["at-once", "later"])
def test_a_question_outlives_its_worker_and_is_answered_while_none_lives(tmp_path: Path, is_parked: bool) -> None:
    with Chaos(tmp_path, script=one_command()) as chaos:
        worker = chaos.work_now()
        chaos.start("r1", yes=False)
        (question,) = until(lambda: chaos.questions("r1"), 30)
        if is_parked:
            chaos.wait_for("r1", "waiting")
        worker.kill()
        assert chaos.questions("r1") == (question,)
        chaos.runs.answer(question, "once")
        chaos.work()
        chaos.wait_for("r1")
        assert chaos.count() == ONCE
        assert chaos.questions("r1", open_only=False)[0].taken


# a worker that is told to stop


def test_a_worker_that_is_told_to_stop_ends_its_step_and_others_go_on_after_it(tmp_path: Path) -> None:
    with Chaos(tmp_path, script=one_command("touch begun; sleep 0.5")) as chaos:
        stopped = chaos.work_now()
        chaos.start("r1")
        until((chaos.project / "begun").exists, 30)
        stopped.send(signal.SIGTERM)
        assert stopped.wait() == 0
        assert "stopping: what is being done comes to its end; once more cuts it short" in stopped.said
        assert chaos.count() == ONCE
        assert [one.name for one in chaos.recorded("r1")] == ["1", "1.0!", "1.0"]
        assert (chaos.get("r1").status, chaos.get("r1").worker) == ("queued", "")  # nobody does it now
        chaos.work()
        chaos.wait_for("r1")
        assert chaos.count() == ONCE
        assert not chaos.questions(open_only=False)
        assert chaos.get("r1").deaths == 0


@pytest.mark.soak
def test_a_worker_that_is_told_twice_cuts_its_step_short_which_is_asked_about(tmp_path: Path) -> None:
    with Chaos(tmp_path, script=one_command("touch begun; sleep 600")) as chaos:
        stopped = chaos.work_now()
        chaos.start("r1")
        until((chaos.project / "begun").exists, 30)
        stopped.send(signal.SIGTERM)
        stopped.wait_to_say("stopping")
        stopped.send(signal.SIGTERM)
        before = time.monotonic()
        assert stopped.wait() == 0
        assert time.monotonic() - before < 60
        chaos.work()
        (question,) = until(lambda: chaos.questions("r1"), 20)
        assert question.kind == "in-flight"
        chaos.runs.answer(question, "skip")
        chaos.wait_for("r1")
        assert not chaos.effects


# the first moment


def test_workers_and_a_run_that_begin_at_the_same_moment_make_one_database(tmp_path: Path) -> None:
    for number in range(2):
        with Chaos(tmp_path / str(number), script=one_command()) as chaos:
            workers = [chaos.work(), chaos.work()]
            chaos.start("r1")
            chaos.wait_for("r1")
            assert chaos.count() == ONCE
            until(lambda: all(one.is_ready for one in workers), 20)  # noqa: B023
            assert not any("error" in one.said for one in workers)


# a run that its workers die of


def test_a_run_that_kills_its_workers_again_and_again_ends_with_a_clear_word(tmp_path: Path) -> None:
    def kill(_label: str, _place: int) -> Reply:
        os.kill(chaos.processes[-1].pid, signal.SIGKILL)
        return answer(text="too late", wait_s=0.5)

    with Chaos(tmp_path, script=kill) as chaos:
        (run,) = chaos.start("r1")
        change(chaos, "UPDATE weft_run SET deaths = 8")
        for _ in range(2):
            assert chaos.work().wait() == -signal.SIGKILL
        assert len(chaos.calls) == 2
        worker = chaos.work_now()
        error = chaos.wait_for("r1", "failed").error
        assert error is not None
        assert error.code == "run-deadly"
        assert error.message == "Workers that did it died 10 times in a row, without getting any further"
        assert error.hint == f"See what ended them, as a lack of memory; then: weft runs retry {run}"
        assert len(chaos.calls) == 2
        assert worker.popen.poll() is None
        assert chaos.runs.retry(run).deaths == 0


# other versions

NEWER = "import clawft; clawft.__version__ = '99.0.0'; from clawft.cli import main; main()"


def test_a_run_is_begun_by_one_version_and_finished_by_another(tmp_path: Path) -> None:
    with Chaos(tmp_path, script=lambda label, place: ten_steps(label, place, 0.2)) as chaos:
        older = chaos.work_now()
        chaos.start("r1")
        until(lambda: len(chaos.calls) >= 2, 30)
        newer = subprocess.Popen(
            [sys.executable, "-c", NEWER, "worker"], env=chaos.env, cwd=tmp_path, start_new_session=True
        )
        try:
            older.send(signal.SIGTERM)
            older.wait()
            chaos.wait_for("r1")
        finally:
            newer.kill()
            newer.wait()
        workers = {one.value["worker"] for one in chaos.recorded("r1") if isinstance(one.value, dict)}
        assert len(workers) == 2
        assert chaos.count() == Counter({("r1", "a"): 1, ("r1", "b"): 1})
        assert len(chaos.calls) == 5


def test_runs_of_another_format_are_left_alone_and_told_of(tmp_path: Path) -> None:
    with Chaos(tmp_path, script=one_command()) as chaos:
        chaos.start("old")
        change(
            chaos, "UPDATE weft_run SET format = 'runs-0'", "UPDATE workflow_status SET application_version = 'runs-0'"
        )
        chaos.start("r1")
        worker = chaos.work_now()
        chaos.wait_for("r1")
        said = worker.wait_to_say("runs-other-version")
        assert "1 runs were begun by another version of weft, which alone can go on with them" in said
        assert "hint: Start a worker of that version; or begin them anew: weft runs cancel, then weft" in said
        assert chaos.get("old").status == "queued"
        listed = subprocess.run(
            [sys.executable, "-m", "clawft", "runs", "list"],
            env=chaos.env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert "waits for a worker of the version that began it" in listed.stdout
        run = chaos.runs_by_label["old"]
        chaos.runs.cancel(run)
        assert chaos.runs.retry(run, fresh=True).format == FORMAT
        chaos.wait_for("old")
        assert chaos.count() == Counter({("r1", "a"): 1, ("old", "a"): 1})


def change(chaos: Chaos, *queries: str) -> None:
    """What could only come of days, or of another version."""
    connection = sqlite3.connect(chaos.user_dir / "runs" / "runs.sqlite", isolation_level=None)
    for query in queries:
        connection.execute(query)
    connection.close()
