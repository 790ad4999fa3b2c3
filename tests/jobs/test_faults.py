"""What machines do to runs: full disks, locks, clocks that jump, processes that stop and go on. Nothing is lost or
done twice unseen, and a person is told what to do."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from glob import glob
from pathlib import Path

import pytest

import chaos as tools
from chaos import Chaos, answer, make_command, ten_steps, until
from wire import Reply


def slow(label: str, place: int) -> Reply:
    return ten_steps(label, place, 0.2)


def one_command(before: str = "", after: str = "", wait_s: float = 0.0) -> Callable[[str, int], Reply]:
    """A turn with one command that must not be repeated."""

    def reply(label: str, place: int) -> Reply:
        if place == 0:
            return answer(make_command(label, "a", before, after), wait_s=wait_s)
        return answer(text="done", wait_s=wait_s)

    return reply


def once(*labels: str, names: str = "ab") -> Counter[tuple[str, str]]:
    return Counter((label, name) for label in labels for name in names)


# a worker that is paused, and goes on when others think it dead


@pytest.mark.soak
def test_a_worker_that_is_paused_while_a_model_answers_loses_its_runs_and_takes_new_ones(tmp_path: Path) -> None:
    with Chaos(tmp_path, script=lambda label, place: ten_steps(label, place, 0.4)) as chaos:
        paused = chaos.work_now()
        chaos.start("r1")
        until(lambda: chaos.calls, 30)
        chaos.pause(paused)
        other = chaos.work_now()
        chaos.wait_for("r1")
        assert "is gone; its runs go on elsewhere" in other.said
        paused.send(signal.SIGCONT)
        said = paused.wait_to_say("worker-silent")
        assert "This worker was silent for longer than its lease, so others took over its runs; it begins anew" in said
        assert "hint: Raise runs.lease_s if the machine is often this busy" in said
        other.kill()
        chaos.start("r2")
        chaos.wait_for("r2")
        assert chaos.count() == once("r1", "r2")
        assert not chaos.questions(open_only=False)


def test_a_command_of_a_worker_that_is_paused_is_asked_about_and_not_done_twice(tmp_path: Path) -> None:
    with Chaos(tmp_path, script=one_command("touch begun; sleep 0.7")) as chaos:
        paused = chaos.work_now()
        chaos.start("r1")
        until((chaos.project / "begun").exists, 30)
        chaos.pause(paused)
        chaos.work_now()
        (question,) = until(lambda: chaos.questions("r1"), 30)
        assert question.kind == "in-flight"
        assert "was in flight when the run was cut short. Do it again, or go on" in question.event.question
        until(lambda: chaos.effects, 10)  # the command itself was not paused
        chaos.runs.answer(question, "done")
        chaos.wait_for("r1")
        paused.send(signal.SIGCONT)
        paused.wait_to_say("worker-silent")
        paused.send(signal.SIGTERM)
        assert paused.wait() == 0
        assert chaos.count() == once("r1", names="a")


def test_an_answer_is_taken_by_the_worker_that_has_the_run_and_by_no_other(tmp_path: Path) -> None:
    with Chaos(tmp_path, script=one_command()) as chaos:
        paused = chaos.work_now()
        chaos.start("r1", yes=False)
        until(lambda: chaos.questions("r1"), 30)
        chaos.pause(paused)
        chaos.work_now()
        chaos.wait_for("r1", "waiting")
        (question,) = chaos.questions("r1")
        chaos.runs.answer(question, "once")
        paused.send(signal.SIGCONT)
        chaos.wait_for("r1")
        paused.wait_to_say("worker-silent")
        assert chaos.count() == once("r1", names="a")


# a disk that is full


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="Needs root, to have a small disk.")
def test_runs_wait_while_the_disk_is_full_and_go_on_when_there_is_room(tmp_path: Path) -> None:
    program = Path(tools.__file__).with_name("full_disk.py")
    words = ["unshare", "--mount", sys.executable, str(program), str(tmp_path / "place")]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr


# a database that another program holds


def test_runs_wait_while_another_program_holds_the_database(tmp_path: Path) -> None:
    with Chaos(tmp_path, script=slow) as chaos:
        workers = [chaos.work_now(), chaos.work_now()]
        chaos.start("r1", "r2", "r3", "r4")
        until(lambda: len(chaos.calls) >= 6, 20)
        held = sqlite3.connect(chaos.user_dir / "runs" / "runs.sqlite", isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        said = workers[0].wait_to_say("runs-locked")
        workers[1].wait_to_say("runs-locked")
        held.execute("ROLLBACK")
        held.close()
        assert "The database of runs took no write for" in said
        assert "runs wait, and go on by themselves" in said
        assert f"hint: See who holds it: fuser -v {chaos.user_dir}/runs/runs.sqlite" in said
        for label in ("r1", "r2", "r3", "r4"):
            chaos.wait_for(label)
        assert chaos.count() == once("r1", "r2", "r3", "r4")
        assert not chaos.questions(open_only=False)
        assert not any("is gone" in one.said or "worker-silent" in one.said for one in workers)


# a clock that jumps

FAKETIME = next(iter(glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), "")


@pytest.mark.skipif(not FAKETIME, reason="Needs Debian's faketime.")
def test_a_clock_that_jumps_an_hour_both_ways_changes_nothing(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("+0")
    env = {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
    env |= {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
    lease = "lease_s = 600"  # shorter than a jump, longer than a busy machine makes a worker wait
    with Chaos(tmp_path / "place", script=slow, runs=lease) as chaos:
        few = ("--concurrency", "2")  # so that either has something to do
        workers = [chaos.work_now(*few, env=env), chaos.work_now(*few)]
        labels = [f"r{number}" for number in range(3)]
        chaos.start(*labels)
        for calls, jump in ((3, "+3600"), (6, "-3600"), (9, "+3600"), (12, "+0")):
            until(lambda calls=calls: len(chaos.calls) >= calls, 20)  # type: ignore[misc]
            clock.write_text(jump)
        for label in labels:
            chaos.wait_for(label)
        lines = [line for one in workers for line in one.said.splitlines() if "takes from" in line]
        named = {line.partition("worker ")[2].split()[0] for line in lines}
        assert {one.worker for one in map(chaos.get, labels)} <= named  # on a busy machine one may do them all
        assert chaos.count() == once(*labels)
        assert len(chaos.calls) == 5 * len(labels)
        assert not chaos.questions(open_only=False)
        assert not any("is gone" in one.said or "worker-silent" in one.said for one in workers)
