"""The lines of the runtime: what it adds to a model's first word, and whether many conversations lose anything."""

import json
import statistics
import time
from contextlib import aclosing
from itertools import repeat
from pathlib import Path

import anyio
import httpx2

from clawft.agent.conversation import open_conversation
from clawft.agent.loop import run_turn
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Conversation, Runtime
from clawft.app.app import open_app
from clawft.messages import TextDelta, TurnFinished
from report import Line
from wire import say
from world import World

WAIT_S = 0.1
SESSIONS = 50
WORDS = 100


def measure_first_token(folder: Path, rounds: int) -> Line:
    """The whole runtime against a bare stream from the same server; both have asked before, so both are warm."""
    world = World(folder)
    for number in range(20):
        world.add_skill(f"skill-{number}", description="Does one thing well. Use it when that thing is asked for.")
    world.replies = repeat(say("first ", "second", wait_s=WAIT_S), 2 * (rounds + 1))
    ours, bare = anyio.run(_first_tokens, world, rounds)
    what = f"the first word of an answer through the runtime, the median of {rounds}; the server waits {WAIT_S:g} s"
    return Line("first-token", what, "the same through a bare httpx2 stream", ours, bare, "ms", 1.3)


async def _first_tokens(world: World, rounds: int) -> tuple[float, float]:
    ours, bare = [], []
    async with world.talk() as conversation, httpx2.AsyncClient() as client:
        for number in range(rounds + 1):
            took = await _first_of_turn(conversation), await _first_of_stream(client, world.server.url)
            if number:  # the first of each connects
                ours.append(took[0])
                bare.append(took[1])
    return statistics.median(ours), statistics.median(bare)


async def _first_of_turn(conversation: Conversation) -> float:
    start, first = time.perf_counter(), 0.0
    async with aclosing(run_turn(conversation, TurnRequest("Say two words."))) as events:
        async for event in events:
            if isinstance(event, TextDelta) and not first:
                first = time.perf_counter()
    return (first - start) * 1000


async def _first_of_stream(client: httpx2.AsyncClient, url: str) -> float:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Say two words."}]}
    start, first = time.perf_counter(), 0.0
    async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if not first and line.startswith("data: {") and json.loads(line[6:])["choices"][0]["delta"].get("content"):
                first = time.perf_counter()
    return (first - start) * 1000


def measure_concurrent(folder: Path, sessions: int = SESSIONS) -> Line:
    """Conversations of one process, all at once: how many events each missed, over all of them."""
    world = World(folder)
    world.replies = repeat(say(*(f"{index} " for index in range(WORDS))), sessions)
    missed = anyio.run(_missed, world, sessions)
    what = f"events lost by {sessions} conversations at once, {WORDS} words each (counted from 1)"
    return Line("concurrent", what, "none", missed + 1, 1, "", 1)


async def _missed(world: World, sessions: int) -> int:
    whole = "".join(f"{index} " for index in range(WORDS))
    missed = 0

    async def run(runtime: Runtime, number: int) -> None:
        nonlocal missed
        async with open_conversation(runtime, agent, key=f"bench-{number}") as conversation:
            text, ended = "", 0
            async with aclosing(run_turn(conversation, TurnRequest("Count."))) as events:
                async for event in events:
                    text += event.text if isinstance(event, TextDelta) else ""
                    ended += isinstance(event, TurnFinished) and event.text == whole
            missed += (text != whole) + (ended != 1)

    async with world.open() as runtime:
        agent = open_app(world.environ, str(world.project)).choose_agent()
        async with anyio.create_task_group() as group:
            for number in range(sessions):
                group.start_soon(run, runtime, number)
    return missed
