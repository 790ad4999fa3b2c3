"""Budgets and paces that several machines share in a PostgreSQL: one sum, one clock, and nobody waits for the dead.

Every test needs the server, and is skipped without it: hence the parameter `postgresql` in all their names.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from sqlalchemy import make_url

from clawft.agent.ledger import Ledger, Price, RequestPace
from clawft.agent.records import RecordsUnavailable, work_on
from clawft.config.agents import BudgetSettings
from clawft.errors import ClawftError, Refused
from clawft.jobs.postgres_records import SharedRecords
from clawft.messages import TurnFailed, TurnFinished, Usage
from postgres import Postgres
from wire import say
from world import World, only

pytestmark = pytest.mark.parametrize("kind", ["postgresql"])

Open = Callable[[], SharedRecords]


@pytest.fixture(scope="module")
def database(postgres: Postgres) -> str:
    return postgres.url()


@pytest.fixture
def url(postgres: Postgres, database: str) -> str:
    """The address of a database without tables."""
    postgres.start()
    with psycopg.connect(database) as connection:
        connection.execute("DROP TABLE IF EXISTS weft_call, weft_spent, weft_pace")
    return database


@pytest.fixture
def machine(url: str) -> Iterator[Open]:
    """Opens the shared record as one more machine does."""
    opened: list[SharedRecords] = []

    def open_one() -> SharedRecords:
        opened.append(SharedRecords(make_url(url)))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def open_ledger(records: SharedRecords, **budget: Any) -> Ledger:
    return Ledger(records, BudgetSettings(**budget), records.now)


def test_what_one_machine_spends_another_cannot(machine: Open, kind: str) -> None:
    here, there = (open_ledger(machine(), per_day_tokens=1000, per_session_usd=0.01) for _ in range(2))
    price = Price(3.0, 15.0)
    reservation = here.reserve("s", "a/b", Usage(400, 200), price)
    with pytest.raises(Refused, match="per_day_tokens is 1000: 600 is spent, and this call could take 500"):
        there.reserve("t", "a/b", Usage(500, 0), price)
    with pytest.raises(Refused, match=r"per_session_usd is \$0.01: \$0.0042 is spent"):
        there.reserve("s", "a/b", Usage(0, 400), price)
    here.settle(reservation, Usage(100, 10), price)
    here.settle(reservation, Usage(100, 10), price)  # again, after a broken connection
    tokens, usd = there.spent(session="s")
    assert (tokens, round(usd, 9)) == (110, 0.00045)
    assert there.spent() == there.spent(day=there.now().date().isoformat()) == (tokens, usd)
    there.reserve("t", "a/b", Usage(500, 0), price)


SPEND = """
import sys
from sqlalchemy import make_url
from clawft.config.agents import BudgetSettings
from clawft.errors import Refused
from clawft.messages import Usage
from clawft.jobs.postgres_records import SharedRecords
from clawft.agent.ledger import Ledger
made = 0
for session, limit, most in (("a", "per_session_tokens", 1000), ("b", "per_day_tokens", 2000)):
    print(made, flush=True)
    sys.stdin.readline()  # both at once, from making the tables on
    records = SharedRecords(make_url(sys.argv[1]))
    ledger = Ledger(records, BudgetSettings(**{limit: most}), records.now)
    made = 0
    try:
        for _ in range(101):
            ledger.reserve(session, "m", Usage(10, 0), None)
            made += 1
    except Refused:
        pass
print(made, flush=True)
"""


def test_processes_together_never_take_the_last_tokens_twice(url: str, machine: Open, kind: str) -> None:
    words = [sys.executable, "-c", SPEND, url]
    spending = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    made = []
    try:
        for last in (False, False, True):
            made.append(sum(int(one.stdout.readline()) for one in spending if one.stdout))
            for one in spending if not last else ():  # who is done reads no more
                assert one.stdin
                one.stdin.write("\n")
                one.stdin.flush()
    finally:
        for one in spending:
            one.kill()
            one.communicate()
    assert made == [0, 100, 100]
    assert open_ledger(machine()).spent() == (2000, 0)


def test_the_day_is_that_of_the_server(machine: Open, kind: str) -> None:
    records = machine()
    ((day,),) = records.execute("SELECT current_date")
    assert records.now().date() == day
    assert abs(records.clock() - time.time()) < 60
    assert isinstance(open_ledger(records).now(), datetime)


def test_a_call_that_fails_halfway_leaves_nothing_behind(machine: Open, kind: str) -> None:
    ledger = open_ledger(machine())
    with pytest.raises(ClawftError, match="cannot be used: bigint out of range"):
        ledger.reserve("s", "m", Usage(2**70, 0), None)
    assert ledger.spent() == (0, 0)
    assert ledger.reserve("s", "m", Usage(1, 0), None)


def test_a_full_disk_of_the_server_is_told_and_may_pass(machine: Open, kind: str) -> None:
    records = machine()
    ledger = open_ledger(records)
    records.execute(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN RAISE EXCEPTION ''could not extend file'' USING ERRCODE = ''53100''; END'"
    )
    records.execute("CREATE TRIGGER full_disk BEFORE INSERT ON weft_call EXECUTE FUNCTION full_disk()")
    with pytest.raises(RecordsUnavailable, match="could not extend file") as caught:
        ledger.reserve("s", "m", Usage(1, 0), None)
    assert caught.value.hint == "Its disk is full: make room there"
    assert ledger.spent() == (0, 0)
    records.execute("DROP TRIGGER full_disk ON weft_call")
    ledger.reserve("s", "m", Usage(1, 0), None)


def test_a_server_that_is_away_is_told_without_the_password(postgres: Postgres, machine: Open, kind: str) -> None:
    records = machine()
    ledger = open_ledger(records)
    postgres.stop("immediate")
    with pytest.raises(RecordsUnavailable) as caught:
        ledger.reserve("s", "m", Usage(1, 0), None)
    postgres.start()
    assert caught.value.code == "usage-database"
    assert "runs.database" in caught.value.hint
    password = make_url(postgres.url()).password
    assert isinstance(password, str)
    assert password not in f"{caught.value} {caught.value.diagnostic}"
    assert "weft:***@127.0.0.1" in caught.value.diagnostic.path
    ledger.reserve("s", "m", Usage(1, 0), None)


@pytest.mark.anyio
async def test_a_call_waits_for_a_server_that_is_started_again(postgres: Postgres, machine: Open, kind: str) -> None:
    records = machine()
    ledger = open_ledger(records)
    reservation = ledger.reserve("s", "m", Usage(100, 0), None)
    told: list[ClawftError] = []

    postgres.stop("immediate")
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(work_on, records, lambda: ledger.settle(reservation, Usage(10, 0), None), told.append)
            while not told:
                await anyio.sleep(0.01)
            await anyio.to_thread.run_sync(postgres.start)
    assert ledger.spent() == (10, 0)


def test_a_worker_that_stands_still_in_a_transaction_loses_it(machine: Open, kind: str) -> None:
    still, other = machine(), machine()
    open_ledger(still)
    ledger = open_ledger(other, per_day_tokens=1000)
    day = still.now().date().isoformat()
    took, done = threading.Event(), threading.Event()
    told: list[ClawftError] = []

    def stand_still() -> None:
        try:
            with still.transaction():
                still.execute("INSERT INTO weft_spent VALUES (?1, 900, 0)", (f"day:{day}",))
                took.set()
                assert done.wait(60)
                still.execute("SELECT 1")
        except RecordsUnavailable as error:
            told.append(error)

    thread = threading.Thread(target=stand_still)
    thread.start()
    try:
        assert took.wait(60)
        ledger.reserve("s", "m", Usage(500, 0), None)  # has to wait for the other one, and not for long
    finally:
        done.set()
        thread.join(60)
    assert ledger.spent() == (500, 0)
    assert "idle-in-transaction" in str(told)


def test_a_pace_goes_by_the_clock_of_the_server(machine: Open, kind: str) -> None:
    first, second = (RequestPace(records, records.clock) for records in (machine(), machine()))
    assert first.take("p", 6).wait_s == 0
    assert 9 < second.take("p", 6).wait_s <= 10
    assert not first.take("p", 6).taken


@pytest.mark.anyio
async def test_turns_on_two_machines_share_a_budget(tmp_path: Path, machine: Open, kind: str) -> None:
    worlds = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        world = World(tmp_path / name)
        world.config = "[agents.budget]\nper_day_tokens = 10_000\n"
        world.replies = [say("Hello.", usage=(6_000, 1_000))]
        world.shared = machine
        worlds.append(world)
    here = await worlds[0].run()
    there = await worlds[1].run()
    assert only(here, TurnFinished)[0].text == "Hello."
    failed = only(there, TurnFailed)[0]
    assert failed.code == "budget-exceeded"
    assert "7000 is spent" in failed.message
