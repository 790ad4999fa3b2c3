"""The line of forks: what a conversation of its own costs beyond its model calls."""

import json
import time
from contextlib import aclosing
from pathlib import Path

import anyio

from clawft.messages import ForkFinished, Message
from clawft.providers.request import Provider, Request
from clawft.run import Runtime, TurnRequest
from report import Line
from world import World, collect, only

LIMIT_MS = 5
SKILLS = 20
DELAY_MS = 5  # of each model call


def measure_fork(folder: Path, rounds: int) -> Line:
    """From the start of a fork to its result, less the same model calls made by themselves."""
    world = World(folder)
    for number in range(SKILLS):
        world.add_skill(f"skill-{number}", description="Does one thing well. Use it when that thing is asked for.")
    world.add_skill("survey", "Look at what is there.\n" * 50, head="context: fork\n")
    look = {"tool_calls": [{"name": "glob", "arguments": {"pattern": "*.md"}}], "delay_ms": DELAY_MS}
    script = {"steps": [look, {"text": "Two files.", "delay_ms": DELAY_MS}], "loop": True}
    (world.user_dir / "script.json").write_text(json.dumps(script))
    world.config = f'[providers.s]\nwire = "scripted"\nscript = "{world.user_dir}/script.json"\n'
    over = anyio.run(_measure, world, rounds)
    what = f"a fork of two model calls and a tool, less those calls, the best of {rounds}; {SKILLS} other skills"
    return Line("fork", what, f"the limit, {LIMIT_MS} ms", over, LIMIT_MS, "ms", 1)


async def _measure(world: World, rounds: int) -> float:
    forks, calls = [], []
    async with world.talk() as conversation:
        for number in range(rounds + 1):
            bare = await _ask_twice(conversation.runtime)
            events = await collect(conversation, TurnRequest("", skill="survey", model="s/m"))
            (finished,) = only(events, ForkFinished)
            if (finished.status, finished.calls) != ("done", 1):
                raise SystemExit(f"error: the fork ended with {finished}")
            if number:  # the first loads what is needed
                forks.append(finished.time_ms)
                calls.append(bare)
    return max(0.0, min(forks) - min(calls))


async def _ask_twice(runtime: Runtime) -> float:
    """The same answers from the same provider, and nothing around them."""
    provider, model = runtime.open_provider("s/m")
    start = time.perf_counter()
    for _ in range(2):
        await _ask(provider, Request(model, (Message("user", "Look."),)))
    return (time.perf_counter() - start) * 1000


async def _ask(provider: Provider, request: Request) -> None:
    async with aclosing(provider.stream(request)) as stream:
        async for _ in stream:
            pass
