"""The line of hot reload: from an edit on disk to whoever subscribed, among thousands of skills, scanned and judged."""

import os
import random
import time
from pathlib import Path

import anyio

from clawft.app.app import open_app
from clawft.server.protocol.subscriptions import SkillsChanged
from clawft.server.reload import LiveSkills
from make_skills import write_skills
from report import Line

LIMIT_MS = 400.0
WAIT_S = 30.0


def measure_reload(folder: Path, skills: int, edits: int) -> Line:
    """The 95th percentile over edits one after the other, the rest of 250 ms included; `folder` is made."""
    home, cwd = folder / "home", folder / "cwd"
    files = [Path(one) for one in write_skills(home / ".clawft" / "skills", skills)]
    cwd.mkdir()
    took = sorted(anyio.run(_edit, home, cwd, files, edits))
    slow = took[min(len(took) - 1, round(0.95 * len(took)))]
    what = f"an edit among {skills:,} skills, to a subscriber: the 95th percentile of {edits}"
    return Line("reload", what, f"the limit, {LIMIT_MS:.0f} ms", slow, LIMIT_MS, "ms", 1)


async def _edit(home: Path, cwd: Path, files: list[Path], edits: int) -> list[float]:
    live = LiveSkills(open_app({"HOME": str(home), "PATH": os.defpath}, str(cwd)))
    await live.open()
    waiting = [anyio.Event()]
    told: list[SkillsChanged] = []

    def hear(change: SkillsChanged) -> None:
        told.append(change)
        waiting[0].set()

    live.subscribe(hear)
    rng, took = random.Random(1), []
    async with anyio.create_task_group() as group:
        await group.start(live.run)
        if live.watching != "watchfiles":
            raise SystemExit(f"error: nothing is watched: {live.failure}")
        for number in range(edits):
            file, waiting[0] = rng.choice(files), anyio.Event()
            text = file.read_bytes() + f"\nEdited for the time {number}.\n".encode()
            start = time.perf_counter()
            file.write_bytes(text)
            with anyio.fail_after(WAIT_S):
                await waiting[0].wait()
            took.append((time.perf_counter() - start) * 1000)
            if [one.path for one in told[-1].changed] != [str(file)]:
                raise SystemExit(f"error: an edit of {file} was told as {told[-1]}")
            await anyio.sleep(rng.random() / 10)  # at any time of the watcher's
        group.cancel_scope.cancel()
    return took
