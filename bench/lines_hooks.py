"""The lines of hooks: what one costs beyond Deno itself, and what one costs whose process is kept."""

import os
import statistics
import subprocess
import time
from pathlib import Path

import anyio

from clawft.agent.hooks.deno import DenoRunner, find_deno
from clawft.agent.hooks.events import HookEvent
from clawft.agent.hooks.handlers import HookLaunch, HookRunner
from clawft.agent.hooks.processes import HookProcesses
from clawft.config.tools import SandboxSettings
from clawft.errors import ClawftError
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace
from report import Line

LIMIT = 2.6
LIMIT_KEPT_MS = 1.0
HANDLER = """import type { HookHandler } from "openclaw/hooks";
const run: HookHandler = async (event) => {
  if (event.context.params.path.startsWith("/")) event.context.block = true;
  event.messages.push(`${event.context.toolName} was asked for`);
};
export default run;
"""
WARM_UP = 3
MANY = 20  # so many calls of a kept process for each of the others


def measure_hooks(folder: Path, rounds: int) -> list[Line]:
    """A hook and an empty module in turn, then one whose process is kept; the medians. None without Deno."""
    hook, project = folder / "home/.clawft/hooks/it", folder / "project"
    for one in (hook, project / "src"):
        one.mkdir(parents=True)
    (hook / "handler.ts").write_text(HANDLER)
    (hook / "empty.js").write_text("")
    workspace = Workspace(str(folder / "home"), str(folder / "home/.clawft"), str(project), str(project))
    sandbox = Sandbox(SandboxSettings(), workspace, {"PATH": os.environ.get("PATH", os.defpath)})
    try:
        binary = find_deno()
    except ClawftError:
        return []
    if sandbox.status().kind != "bubblewrap":
        return []
    empty = [binary, "run", str(hook / "empty.js")]
    env = {"DENO_DIR": str(folder / "deno"), "DENO_NO_UPDATE_CHECK": "1", "HOME": str(folder)}
    ours, bare, kept = anyio.run(
        _measure, DenoRunner(sandbox), HookLaunch("it", str(hook), "handler.ts"), (empty, env), rounds
    )
    once = f"a hook at tool:before, in the sandbox, from the call to its answer; the median of {rounds}"
    again = f"the same in a process that is kept; the median of {rounds * MANY}"
    limit = f"the limit, {LIMIT_KEPT_MS:g} ms"
    return [
        Line("hook", once, "`deno run` of an empty module, by subprocess.run", ours, bare, "ms", LIMIT),
        Line("hook-kept", again, limit, kept, LIMIT_KEPT_MS, "ms", 1),
    ]


async def _measure(
    deno: DenoRunner, job: HookLaunch, empty: tuple[list[str], dict[str, str]], rounds: int
) -> tuple[float, float, float]:
    ours, bare, kept = [], [], []
    async with HookProcesses(deno) as hosts:
        for number in range(rounds + WARM_UP):
            once = await _call(deno, job)
            start = time.perf_counter()
            subprocess.run(empty[0], env=empty[1], capture_output=True, check=True, timeout=60)
            alone = (time.perf_counter() - start) * 1000
            if number >= WARM_UP:
                ours.append(once)
                bare.append(alone)
        lasting = HookLaunch(job.name, job.root, job.handler, persistent=True)
        for number in range(rounds * MANY + WARM_UP):
            again = await _call(hosts, lasting)
            if number >= WARM_UP:
                kept.append(again)
    return statistics.median(ours), statistics.median(bare), statistics.median(kept)


async def _call(runner: HookRunner, job: HookLaunch) -> float:
    """The milliseconds that a call takes."""
    context = {"workspaceDir": "/", "toolName": "read_file", "params": {"path": "notes.txt"}, "toolCallId": "1"}
    event = HookEvent("tool", "before", "bench", context, "2026-01-02T03:04:05.678Z")
    start = time.perf_counter()
    reply = await runner.call(job, event)
    taken = (time.perf_counter() - start) * 1000
    if reply.messages != ("read_file was asked for",):
        raise SystemExit(f"error: the hook answered {reply}")
    return taken
