"""The lines of the terminal: how soon the prompt is there, and how soon a key is on the screen."""

import asyncio
import os
import statistics
import subprocess
import sys
import sysconfig
from pathlib import Path

from make_skills import write_skills
from measure import Timed, best_ms
from on_pty import OnPty
from report import Line
from terminal import CTRL_C, open_terminal
from world import World

SKILLS = 5_000
_TIMEOUT_S = 60


def measure_prompt(folder: Path, starts: int) -> Line:
    """`weft agent` on a terminal until its prompt is there, after a first run."""
    world = World(folder)
    (world.user_dir / "config.toml").write_text('[agents.defaults]\nmodel = "ollama/some"\n')
    environ = {**world.environ, "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "TERM": "xterm"}
    weft = os.path.join(sysconfig.get_path("scripts"), "weft")
    running: list[OnPty] = []

    def end() -> None:
        for one in running:
            one.__exit__(None, None, None)
        running.clear()

    def start() -> None:
        running.append(OnPty([weft, "agent"], environ, world.project).__enter__())
        running[0].wait_for("\x1b[?2004h")  # pastes are asked for
        running[0].wait_for(">")

    start()
    words = [sys.executable, "-c", "pass"]
    ours, bare = best_ms(
        starts,
        Timed(start, before=end),
        Timed(lambda: subprocess.run(words, env=environ, check=True, timeout=_TIMEOUT_S), before=end),
    )
    end()
    what = "`weft agent` from its start to the prompt, after a first run"
    return Line("prompt", what, "`python -c pass` of the same interpreter", ours, bare, "ms", 18)


def measure_keystroke(folder: Path, skills: int, rounds: int) -> Line:
    """From a key to the menu that it changes, with many skills installed."""
    world = World(folder)
    write_skills(world.user_dir / "skills", skills)
    took = asyncio.run(_keystrokes(world, rounds))
    what = f"a key to the screen with the menu of {skills} skills, the median of {rounds}"
    return Line("keystroke", what, "the limit, 16 ms", took, 16, "ms", 1)


async def _keystrokes(world: World, rounds: int) -> float:
    async with open_terminal(world) as terminal:
        names = sorted(one.name for one in terminal.repl.app.skills if one.user_may_invoke)
        took = []
        for number in range(rounds):
            name = names[number * 997 % len(names)]
            await terminal.time_key("/" + name[:1])
            took.append(await terminal.time_key(name[1]) * 1000)
            await terminal.wait_for(next(one for one in names if one.startswith(name[:2])))
            await terminal.time_key(CTRL_C)
    return statistics.median(took)
