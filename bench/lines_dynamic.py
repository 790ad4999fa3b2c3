"""The line of dynamic context: commands of one skill run side by side, each in a sandbox of its own."""

import time
from pathlib import Path

import anyio

from clawft.messages import Event
from clawft.skills.render.template import PromptArguments
from report import Line
from world import World

COMMANDS = 8
SLEEP_S = 0.2
LIMIT_MS = 450


def measure_dynamic(folder: Path, rounds: int) -> Line:
    """A skill that waits eight times, from the bytes on disk to its prompt: read, judged, copied, run, recorded."""
    world = World(folder)
    world.config = '[skills.security]\nallowed_command_prefixes = ["sleep"]\n'
    world.add_skill("waits", f"!sleep {SLEEP_S:g}\n" * COMMANDS)
    took = anyio.run(_best_ms, world, rounds)
    what = f"a skill with {COMMANDS} commands `!sleep {SLEEP_S:g}`, the best of {rounds}"
    floor = SLEEP_S * 1000
    return Line("dynamic", what, "one of them, as long as it sleeps", took, floor, "ms", LIMIT_MS / floor)


def _ignore(_: Event) -> None:
    return None


async def _best_ms(world: World, rounds: int) -> float:
    best = float("inf")
    async with world.talk() as conversation:
        skills = conversation.skills
        standing = skills.get_offered("waits")
        await skills.read(standing, PromptArguments(), _ignore)  # the sandbox is looked for once
        for _ in range(rounds):
            start = time.perf_counter()
            await skills.read(standing, PromptArguments(), _ignore)
            best = min(best, (time.perf_counter() - start) * 1000)
    return best
