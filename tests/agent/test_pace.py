"""Requests per minute: spread evenly over all who send any, whatever the clock does."""

import heapq
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from clawft.agent.ledger import RequestPace
from clawft.agent.loop import run_turn
from clawft.agent.records import UsageDatabase
from clawft.agent.run_request import TurnRequest
from clawft.messages import Noticed, TurnFinished
from wire import call, fail, say
from world import World, collect, only

HOUR = 3600.0


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "usage.sqlite")


@pytest.fixture
def database(path: str) -> Iterator[UsageDatabase]:
    database = UsageDatabase(path)
    yield database
    database.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(database: UsageDatabase, clock: Clock) -> RequestPace:
    return RequestPace(database, clock)


def test_requests_are_spread_evenly(pace: RequestPace) -> None:
    assert [pace.take("p", 60).wait_s for _ in range(4)] == [0, 1, 2, 3]
    assert pace.take("q", 60).wait_s == 0  # another provider has a pace of its own


def test_a_long_silence_saves_nothing_up(pace: RequestPace, clock: Clock) -> None:
    pace.take("p", 60)
    clock.now += HOUR
    assert [pace.take("p", 60).wait_s for _ in range(3)] == [0, 1, 2]


def test_only_a_few_seconds_are_given_away_ahead(pace: RequestPace, clock: Clock) -> None:
    slots = [pace.take("p", 60) for _ in range(30)]
    assert [one.taken for one in slots] == [True] * 11 + [False] * 19
    assert all(4 <= one.wait_s <= 8 for one in slots[11:])
    clock.now += 5
    assert [pace.take("p", 60).wait_s for _ in range(5)] == [6, 7, 8, 9, 10]


def test_one_request_in_many_minutes_is_possible(pace: RequestPace, clock: Clock) -> None:
    assert pace.take("p", 0.1).wait_s == 0
    assert pace.take("p", 0.1).wait_s == 600
    assert not pace.take("p", 0.1).taken


@pytest.mark.parametrize("jump_s", [-HOUR, HOUR])
def test_a_clock_that_jumps_an_hour_neither_stops_requests_nor_lets_all_through(
    pace: RequestPace, clock: Clock, jump_s: float
) -> None:
    for _ in range(30):
        pace.take("p", 60)
    clock.now += jump_s
    slots = [pace.take("p", 60) for _ in range(30)]
    assert slots[0].wait_s <= 10
    assert all(later.wait_s - sooner.wait_s == 1 for sooner, later in pairwise(slots) if later.taken)
    assert sum(one.taken for one in slots) <= 11


@pytest.mark.parametrize("jump_s", [-HOUR, 0.0, HOUR])
def test_many_that_wait_are_all_served_at_the_pace(pace: RequestPace, clock: Clock, jump_s: float) -> None:
    start, jumps_at = clock.now, 20.0
    waiting = [(0.0, number, False) for number in range(200)]  # when, who, with a moment of its own
    sent: list[float] = []
    while waiting:
        at, who, taken = heapq.heappop(waiting)
        if taken:
            sent.append(at)
            continue
        clock.now = start + at + (jump_s if at >= jumps_at else 0)
        slot = pace.take("p", 60)
        heapq.heappush(waiting, (at + slot.wait_s, who, slot.taken))
    extra = 0 if jump_s == 0 else 11  # what was given away before the jump
    assert max(sum(begin <= one < begin + 59.999 for one in sent) for begin in sent) <= 60 + extra
    assert 198.9 - extra <= sent[-1] <= 199 + 15


SEND = """
import sys, time
import anyio
from clawft.agent.records import UsageDatabase
from clawft.agent.ledger import RequestPace
database = UsageDatabase(sys.argv[1])
pace = RequestPace(database, database.clock)
async def send():
    for _ in range(5):
        await pace.wait("p", 1200, lambda wait_s: None, lambda error: None)
        print(time.time())
anyio.run(send)
"""


def test_processes_together_keep_the_pace(path: str) -> None:
    words = [sys.executable, "-c", SEND, path]
    sending = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    sent = sorted(float(line) for one in sending for line in one.communicate(timeout=60)[0].splitlines())
    assert len(sent) == 10
    assert sent[-1] - sent[0] >= 9 * 0.05 - 0.04  # the first may have been late, nobody is early


@pytest.mark.anyio
async def test_a_turn_waits_for_its_provider_and_says_so_once(world: World) -> None:
    world.provider = "requests_per_minute = 50"  # every 1.2 s
    world.replies = [call("list_directory", {"path": "."}), call("list_directory", {"path": "."}), say("done")]
    began = time.monotonic()
    events = await world.run()
    assert only(events, TurnFinished)[0].text == "done"
    assert time.monotonic() - began > 2.3
    (told,) = [one for one in only(events, Noticed) if one.code == "provider-pace"]
    assert told.message == "local gets 50 requests a minute, so this one waits for its turn"
    assert told.hint == "The limit is providers.local.requests_per_minute"


@pytest.mark.anyio
async def test_a_request_that_is_tried_again_keeps_the_pace_too(world: World) -> None:
    world.provider = "requests_per_minute = 120"
    world.replies = [fail(429, "slow down", retry_after="0"), say("now")]
    began = time.monotonic()
    events = await world.run()
    assert only(events, TurnFinished)[0].text == "now"
    assert time.monotonic() - began > 0.45


@pytest.mark.anyio
async def test_a_turn_that_waits_for_its_provider_can_be_cancelled(world: World) -> None:
    world.provider = "requests_per_minute = 0.1"
    world.replies = [say("first"), say("never")]
    with anyio.fail_after(60):
        async with world.talk() as conversation:
            await collect(conversation, "one")
            events = []
            async for event in run_turn(conversation, TurnRequest("two")):
                events.append(event)
                if isinstance(event, Noticed) and event.code == "provider-pace":
                    conversation.cancel()
    assert only(events, TurnFinished)[0].stop == "cancelled"
