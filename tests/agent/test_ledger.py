"""Budgets: a call that would exceed one is not made, whoever else is spending at the same time."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.ledger import Ledger, Price
from clawft.agent.records import UsageDatabase
from clawft.config.agents import BudgetSettings
from clawft.errors import ClawftError, Refused
from clawft.messages import Usage

NOW = datetime(2026, 11, 15, 12)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "usage.sqlite")


def open_ledger(path: str, now: datetime = NOW, **budget: Any) -> Ledger:
    return Ledger(UsageDatabase(path), BudgetSettings(**budget), lambda: now)


@pytest.fixture
def closing() -> Iterator[list[Ledger]]:
    opened: list[Ledger] = []
    yield opened
    for ledger in opened:
        ledger.records.close()


def test_cost_is_what_was_used_not_what_was_reserved(path: str, closing: list[Ledger]) -> None:
    ledger = open_ledger(path)
    closing.append(ledger)
    price = Price(3.0, 15.0)
    reservation = ledger.reserve("s", "a/b", Usage(1000, 4096), price)
    assert ledger.spent(session="s")[0] == 5096
    ledger.settle(reservation, Usage(1000, 100), price)
    tokens, usd = ledger.spent(session="s")
    assert (tokens, round(usd, 6)) == (1100, 0.0045)


@pytest.mark.parametrize("limit", ["per_day_tokens", "per_session_tokens"])
def test_a_call_that_could_exceed_a_budget_of_tokens_is_not_made(path: str, limit: str, closing: list[Ledger]) -> None:
    ledger = open_ledger(path, NOW, **{limit: 1000})
    closing.append(ledger)
    ledger.settle(ledger.reserve("s", "m", Usage(500, 400), None), Usage(500, 100), None)
    with pytest.raises(Refused, match=rf"agents.budget.{limit} is 1000: 600 is spent, and this call could take 500"):
        ledger.reserve("s", "m", Usage(100, 400), None)
    assert ledger.spent()[0] == 600


def test_another_session_has_its_own_budget_but_shares_the_day(path: str, closing: list[Ledger]) -> None:
    ledger = open_ledger(path, per_session_tokens=1000, per_day_tokens=1500)
    closing.append(ledger)
    ledger.reserve("one", "m", Usage(1000, 0), None)
    ledger.reserve("two", "m", Usage(500, 0), None)
    with pytest.raises(Refused, match="per_day_tokens"):
        ledger.reserve("three", "m", Usage(1, 0), None)


def test_a_new_day_starts_at_nothing(path: str, closing: list[Ledger]) -> None:
    first = open_ledger(path, per_day_tokens=100)
    first.reserve("s", "m", Usage(100, 0), None)
    second = open_ledger(path, NOW.replace(day=16), per_day_tokens=100)
    closing += [first, second]
    second.reserve("s", "m", Usage(100, 0), None)


def test_a_budget_in_dollars_stops_before_the_call(path: str, closing: list[Ledger]) -> None:
    ledger = open_ledger(path, per_day_usd=0.01)
    closing.append(ledger)
    with pytest.raises(Refused) as caught:
        ledger.reserve("s", "a/b", Usage(1000, 1000), Price(3.0, 15.0))
    assert (caught.value.code, caught.value.exit_code) == ("budget-exceeded", 3)


def test_a_budget_in_dollars_without_a_price_fails_closed(path: str, closing: list[Ledger]) -> None:
    ledger = open_ledger(path, per_session_usd=1)
    closing.append(ledger)
    with pytest.raises(Refused, match="the price of a/b is not known"):
        ledger.reserve("s", "a/b", Usage(10, 10), None)
    ledger.reserve("s", "offline", Usage(), None)  # what costs nothing needs no price


SPEND = """
import sys
from datetime import datetime
from clawft.config.agents import BudgetSettings
from clawft.errors import ClawftError, Refused
from clawft.messages import Usage
from clawft.agent.records import UsageDatabase
from clawft.agent.ledger import Ledger
ledger = Ledger(UsageDatabase(sys.argv[1]), BudgetSettings(**{sys.argv[2]: 1000}), lambda: datetime(2026, 11, 15))
made = 0
try:
    for _ in range(60):
        ledger.reserve("s", "m", Usage(10, 0), None)
        made += 1
except Refused:
    pass
print(made)
"""


@pytest.mark.parametrize("limit", ["per_day_tokens", "per_session_tokens"])
def test_processes_together_never_exceed_a_budget(path: str, limit: str) -> None:
    words = [sys.executable, "-c", SPEND, path, limit]
    spending = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    made = [int(one.communicate(timeout=60)[0]) for one in spending]
    assert sum(made) == 100


def test_a_call_that_is_settled_twice_counts_once(path: str, closing: list[Ledger]) -> None:
    ledger = open_ledger(path)
    closing.append(ledger)
    reservation = ledger.reserve("s", "m", Usage(100, 0), None)
    ledger.settle(reservation, Usage(10, 0), None)
    ledger.settle(reservation, Usage(10, 0), None)
    assert ledger.spent() == ledger.spent(day="2026-11-15") == ledger.spent(session="s") == (10, 0)


def test_a_call_that_is_refused_leaves_no_trace_in_the_sums(path: str, closing: list[Ledger]) -> None:
    ledger = open_ledger(path, per_session_tokens=100)
    closing.append(ledger)
    with pytest.raises(Refused):
        ledger.reserve("s", "m", Usage(101, 0), None)
    assert ledger.spent() == ledger.spent(session="s") == (0, 0)
    ledger.reserve("s", "m", Usage(100, 0), None)


def test_a_call_over_midnight_is_settled_on_the_day_that_it_was_reserved_on(path: str, closing: list[Ledger]) -> None:
    first, second = open_ledger(path), open_ledger(path, NOW.replace(day=16))
    closing += [first, second]
    second.settle(first.reserve("s", "m", Usage(100, 0), None), Usage(10, 0), None)
    assert (first.spent(day="2026-11-15")[0], first.spent(day="2026-11-16")[0]) == (10, 0)


def test_a_record_without_sums_is_added_up(path: str, closing: list[Ledger]) -> None:
    old = sqlite3.connect(path)
    old.execute(
        "CREATE TABLE call(id INTEGER PRIMARY KEY, day TEXT NOT NULL, session TEXT NOT NULL, model TEXT NOT NULL,"
        " input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, usd REAL, settled INTEGER NOT NULL)"
    )
    for day, session in (("2026-11-14", "a"), ("2026-11-15", "a"), ("2026-11-15", "b")):
        old.execute(
            "INSERT INTO call(day, session, model, input_tokens, output_tokens, usd, settled)"
            " VALUES (?, ?, 'm', 100, 10, 0.5, 1)",
            (day, session),
        )
    old.commit()
    old.close()
    for _ in range(2):
        ledger = open_ledger(path, per_day_tokens=300)
        closing.append(ledger)
        assert (ledger.spent(), ledger.spent(session="a")) == ((330, 1.5), (220, 1.0))
    with pytest.raises(Refused, match="220 is spent"):
        ledger.reserve("c", "m", Usage(81, 0), None)
    ledger.reserve("c", "m", Usage(80, 0), None)


@pytest.mark.parametrize("kind", ["folder", "garbage"])
def test_a_file_that_is_no_database_is_an_error_with_a_hint(path: str, kind: str) -> None:
    if kind == "folder":
        Path(path).mkdir()
    else:
        Path(path).write_bytes(b"no database" * 1000)
    with pytest.raises(ClawftError) as caught:
        open_ledger(path)
    assert (caught.value.code, caught.value.diagnostic.path) == ("usage-file", path)
    assert caught.value.hint


def test_a_transaction_that_fails_leaves_nothing_behind(path: str, closing: list[Ledger]) -> None:
    ledger = open_ledger(path)
    closing.append(ledger)
    with pytest.raises(ClawftError, match="cannot be used"):
        ledger.reserve("s", "m", Usage(2**70, 0), None)
    assert ledger.spent() == (0, 0)
    assert ledger.reserve("s", "m", Usage(1, 0), None)
