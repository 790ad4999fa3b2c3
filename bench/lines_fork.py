"""The line of forks: what a conversation of its own costs beyond its model calls."""

import json
import time
from contextlib import aclosing
from pathlib import Path

import anyio

from clawft.agent.providers.request import ModelRequest
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Runtime
from clawft.messages import ForkFinished, Message
from report import Line
from world import World, collect, only

LIMIT_MS = 5
SKILLS = 20


def measure_fork(folder: Path, rounds: int) -> Line:
    """From the start of a fork to its result, less the same model call made by itself."""
    world = World(folder)
    for number in range(SKILLS):
        world.add_skill(f"skill-{number}", description="Does one thing well. Use it when that thing is asked for.")
    world.add_skill("survey", "Look at what is there.\n" * 50, head="context: fork\n")
    (world.user_dir / "script.json").write_text(json.dumps({"steps": [{"text": "Two files."}], "loop": True}))
    world.config = f'[providers.s]\nwire = "scripted"\nscript = "{world.user_dir}/script.json"\n'
    over = anyio.run(_measure, world, rounds)
    what = f"a fork of a skill, less its model call, the best of {rounds}; {SKILLS} other skills"
    return Line("fork", what, f"the limit, {LIMIT_MS} ms", over, LIMIT_MS, "ms", 1)


async def _measure(world: World, rounds: int) -> float:
    forks, calls = [], []
    async with world.talk() as conversation:
        for number in range(rounds + 1):
            bare = await _ask(conversation.runtime)
            events = await collect(conversation, TurnRequest("", skill="survey", model="s/m"))
            (finished,) = only(events, ForkFinished)
            if finished.status != "done":
                raise SystemExit(f"error: the fork ended with {finished}")
            if number:  # the first loads what is needed
                forks.append(finished.time_ms)
                calls.append(bare)
    return max(0.0, min(forks) - min(calls))


async def _ask(runtime: Runtime) -> float:
    """The same answer from the same provider, and nothing around it."""
    provider, model = runtime.open_provider("s/m")
    start = time.perf_counter()
    async with aclosing(provider.stream(ModelRequest(model, (Message("user", "Look."),)))) as stream:
        async for _ in stream:
            pass
    return (time.perf_counter() - start) * 1000
