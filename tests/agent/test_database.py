"""A record of costs that cannot be used: a turn in the foreground says so and ends, one in the background waits."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from clawft.agent.ledger import Ledger, RequestPace
from clawft.agent.loop import run_turn
from clawft.agent.records import UsageDatabase
from clawft.agent.run_request import TurnRequest
from clawft.config.agents import BudgetSettings
from clawft.errors import ClawftError
from clawft.messages import Event, Noticed, TurnFailed, TurnFinished
from wire import say
from world import World, only

pytestmark = pytest.mark.anyio

FILL = (
    "INSERT INTO spent(scope, tokens, usd) VALUES (hex(randomblob(16)), 0, 0)",
    "INSERT INTO call(id, day, session, model, input_tokens, output_tokens, settled)"
    " VALUES (abs(random()), '2000-01-01', '', '', 0, 0, 1)",
)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "full.sqlite")


@pytest.fixture
def watcher(path: str) -> Iterator[UsageDatabase]:
    database = UsageDatabase(path)
    yield database
    database.close()


def open_full(path: str, *, patient: bool) -> UsageDatabase:
    """A record on a disk without room for another row."""
    database = UsageDatabase(path, patient=patient)
    Ledger(database, BudgetSettings(), database.now)
    RequestPace(database, database.clock)
    ((pages,),) = database.execute("PRAGMA page_count")
    database.execute(f"PRAGMA max_page_count = {pages}")
    for statement in FILL:
        with pytest.raises(ClawftError, match="full"):
            _repeat(database, statement)
    return database


def _repeat(database: UsageDatabase, statement: str) -> None:
    for _ in range(10_000):
        database.execute(statement)


async def test_a_turn_ends_where_the_disk_is_full_and_says_so(world: World, path: str) -> None:
    world.shared = lambda: open_full(path, patient=False)
    world.replies = [say("never")]
    events = await world.run()
    failed = only(events, TurnFailed)[0]
    assert failed.code == "usage-file"
    assert "disk is full" in failed.message


async def test_a_patient_turn_goes_on_when_there_is_room_again(world: World, path: str, watcher: UsageDatabase) -> None:
    database = open_full(path, patient=True)
    world.shared = lambda: database
    world.replies = [say("At last.")]
    events: list[Event] = []
    with anyio.fail_after(60):
        async with world.talk() as conversation:
            async for event in run_turn(conversation, TurnRequest("hello")):
                events.append(event)
                if isinstance(event, Noticed) and event.code == "usage-file":
                    database.execute("PRAGMA max_page_count = 100000")
    assert only(events, TurnFinished)[0].text == "At last."
    (told,) = only(events, Noticed)
    assert told.severity == "warning"
    assert told.message.endswith("disk is full; it is tried again until it can be")
    assert watcher.execute("SELECT tokens FROM spent WHERE scope = 'session:test'") == [(15,)]
