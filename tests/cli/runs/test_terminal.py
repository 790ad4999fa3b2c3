"""Runs at a real terminal, with workers that are started on demand: to watch one, answer it, leave it, come back."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from clawft.jobs.worker_registry import is_dead
from on_pty import OnPty
from warm import run_warm


def begin(world: Any, text: str) -> tuple[str, str]:
    """`weft agent --background`: what it says to a program, and to a person."""
    words = [sys.executable, "-m", "clawft", "agent", "--background", "-m", text]
    done = run_warm(words, cwd=world.project, env=world.environ, check=True, stdin=subprocess.DEVNULL)
    return done.stdout.strip(), done.stderr


def watch(world: Any, run: str, *more: str) -> OnPty:
    words = [sys.executable, "-m", "clawft", "runs", "watch", run, *more]
    return OnPty(words, {**world.environ, "TERM": "xterm", "NO_COLOR": "1"}, world.project, columns=100)


def test_a_run_is_watched_left_answered_and_seen_to_its_end(world: Any) -> None:
    run, said = begin(world, "it asks")
    assert said == (
        "It goes on in the background, also when this terminal closes, with a worker of its own.\n"
        f"Follow it: weft runs watch {run}\n"
    )
    with watch(world, run) as person:
        person.wait_for("I need a file.\r\n· exec_shell touch made.txt\r\n? Run: touch made.txt\r\n")
        person.wait_for("[N]o, [l]ater: ")
        person.process.send_signal(signal.SIGINT)  # as Ctrl-C does
        person.wait_for(f"left; it goes on. To see it again: weft runs watch {run}")
        assert person.wait() == 130
    with watch(world, run) as person, watch(world, run[:14]) as other:
        person.wait_for("[N]o, [l]ater: ")
        other.wait_for("? Run: touch made.txt\r\n")
        person.type("what\n")
        person.wait_for("  Please answer y, r, a, n, l\r\n")
        person.wait_for("[N]o, [l]ater: ")
        person.type("y\n")
        other.wait_for("[N]o, [l]ater: \r\n  once, said ")  # and nothing about how to answer it
        for one in (person, other):
            one.wait_for("There it is.\r\n")
            one.wait_for(f"session: run:{run}")
        assert (person.wait(), other.wait()) == (0, 0)
    assert (world.project / "made.txt").exists()


@pytest.mark.soak
def test_a_run_goes_on_with_a_new_worker_while_it_is_watched(world: Any) -> None:
    run, _ = begin(world, "it sleeps")
    with watch(world, run, "--format", "json") as person:
        person.wait_for('"event":"TurnStarted"')
        with world.runs() as runs:
            (worker,) = [one for one in runs.store.roster.workers() if not is_dead(one)]
        os.kill(worker.pid, signal.SIGKILL)
        person.wait_for("No worker was there for default, so one was started")
        assert world.weft("cancel", run)[0] == 0
        assert person.wait() == 1
        lines = [json.loads(line) for line in person.written.decode().splitlines() if line.startswith("{")]
        assert [line["event"] for line in lines][-1:] in ([], ["TurnFinished"])
    assert world.get(run).status == "cancelled"
