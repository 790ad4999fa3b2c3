"""The lines of background runs: how they grow with workers, what a step costs, and whether memory stays flat."""

import os
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio

from clawft.agent.conversation import open_conversation
from clawft.agent.loop import run_turn
from clawft.agent.run_request import TurnRequest
from clawft.app.app import open_app
from postgres import Postgres, find_postgres
from report import ROOT, Line
from runs_world import RunsWorld

LOOK = {"name": "list_directory", "arguments": {"path": "."}}
CALL_MS = 200
CONCURRENCY = 8
CALLS = 5  # of the model, in one run; each but the last asks for a tool
WORKERS = (1, 2, 4)


def measure_runs(folder: Path) -> list[Line]:
    """All lines that need a server, as far as there is one, then those of a file."""
    lines = []
    if find_postgres():
        with Postgres() as server:
            lines += measure_scale(folder / "scale", server)
            lines.append(measure_drain(folder / "many", server.url("many"), 10_000))
    lines.append(measure_step(folder / "step", 100, 3))
    lines.append(measure_drain(folder / "some", "", 1_000))
    return lines


def script(calls: int, delay_ms: int) -> list[dict[str, Any]]:
    looks = [{"text": "I look.", "delay_ms": delay_ms, "tool_calls": [LOOK]} for _ in range(calls - 1)]
    return [*looks, {"text": "That is all.", "delay_ms": delay_ms}]


def measure_scale(folder: Path, server: Postgres, rounds: int = 6) -> list[Line]:
    """How much more four workers do than one, by the same script; each does eight runs at a time."""
    rates = {count: _rate(folder / str(count), server.url(f"scale{count}"), count, rounds) for count in WORKERS}
    lines = []
    for count in WORKERS[1:]:
        what = f"runs a second with {count} workers of concurrency {CONCURRENCY}, {CALL_MS} ms a call, on PostgreSQL"
        base = f"{count} times those with one ({rates[1]:.2f})"
        ideal = count * rates[1]
        # At least 85 % of linear: how many times the ideal takes, at most.
        lines.append(Line(f"runs-{count}", what, base, ideal, rates[count], "runs/s", 1 / 0.85))
    return lines


def _rate(folder: Path, url: str, workers: int, rounds: int) -> float:
    world = RunsWorld(folder, script(CALLS, CALL_MS), url=url, runs="poll_s = 0.1\nlease_s = 30\n")
    with world.workers(workers, CONCURRENCY):
        world.wait_for_workers(workers)
        at_once = workers * CONCURRENCY
        world.start("warm", at_once)
        world.drain("warm", at_once, 60)
        count = at_once * rounds
        world.start("full", count)
        with world.runs() as runs:
            return _steady(lambda: runs.store.counts("full").get("done", 0), count)


def _steady(count_done: Any, total: int) -> float:
    """Runs a second between the first fifth and the last: how they begin and end is not what is measured."""
    marks: list[tuple[float, int]] = []
    while not marks or marks[-1][1] < total:
        marks.append((time.monotonic(), count_done()))
        time.sleep(0.05)
    inner = [mark for mark in marks if 0.2 * total <= mark[1] <= 0.85 * total] or marks
    (first, before), (last, after) = inner[0], inner[-1]
    return (after - before) / (last - first)


def measure_step(folder: Path, pairs: int, rounds: int) -> Line:
    """What a step costs more in the background than in the foreground, to a step of the engine that does nothing."""
    config = "[agents.defaults]\nmax_tool_iterations = 1000\n"
    world = RunsWorld(folder, script(pairs, 0), runs="poll_s = 0.1\n")
    path = world.user_dir / "config.toml"
    path.write_text(path.read_text().replace("[agents.defaults]\n", config))
    behind = _in_background(world, rounds)
    ahead = min(anyio.run(_in_foreground, world) for _ in range(rounds))
    steps = 2 * pairs - 1
    bare = folder / "bare.sqlite"
    command = (sys.executable, ROOT / "bench" / "bare_dbos.py", f"sqlite:///{bare}", str(steps))
    floor = float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)
    over = (behind - ahead) / steps
    what = f"a step of a run in the background, less the same in the foreground, over {steps} steps; on a file"
    return Line("runs-step", what, "a step of DBOS that does nothing", over * 1000, floor * 1000, "ms", 2)


def _in_background(world: RunsWorld, rounds: int) -> float:
    took = []
    with world.workers(1, 1), world.runs() as runs:
        for number in range(rounds + 1):
            world.start(f"f{number}", 1)
            world.drain(f"f{number}", 1, 120)
            took.append(runs.store.list(fleet=f"f{number}")[0].worked_ms / 1000)
    return min(took[1:])


async def _in_foreground(world: RunsWorld) -> float:
    app = open_app(world.environ, str(world.project))
    async with app.open_runtime() as runtime, open_conversation(runtime, app.choose_agent("")) as conversation:
        begun = time.perf_counter()
        async with aclosing(run_turn(conversation, TurnRequest("hello"))) as events:
            async for _ in events:
                pass
        return time.perf_counter() - begun


def measure_drain(folder: Path, url: str, count: int) -> Line:
    """The memory of a worker at the end of a long queue, to that after its first tenth."""
    world = RunsWorld(folder, script(1, 0), url=url, runs="poll_s = 0.05\n")
    name = f"{count} queued runs on {'PostgreSQL' if url else 'a file'}"
    with world.workers(2 if url else 1, CONCURRENCY) as workers:
        world.wait_for_workers(len(workers))
        world.start("f", count)
        sizes: list[tuple[int, int]] = []
        begun = time.monotonic()
        with world.runs() as runs:
            while not sizes or sizes[-1][0] < count:
                done = runs.store.counts("f").get("done", 0)
                sizes.append((done, max(_resident(one.pid) for one in workers)))
                if time.monotonic() - begun > 900:
                    raise SystemExit(f"error: {done} of {count} runs after 900 s:\n{world.log()}")
                time.sleep(0.2)
        took = time.monotonic() - begun
    tenth = [size for done, size in sizes if count / 10 <= done <= count / 4]
    early = statistics.median(tenth or [sizes[0][1]])
    late = statistics.median(size for done, size in sizes if done >= count * 0.9)
    shutil.rmtree(folder)
    what = f"memory of a worker at the end of {name}, drained in {took:.0f} s"
    return Line(f"runs-flat-{count}", what, "after the first tenth", late / 1e6, early / 1e6, "MB", 1.2)


def _resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
