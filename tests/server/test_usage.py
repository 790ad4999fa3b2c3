"""Usage as the daemon tells of it: by day, model, session and skill, over a range."""

from contextlib import closing
from datetime import datetime

import pytest

from clawft.agent.ledger import Ledger, Price
from clawft.app.app import open_app
from clawft.app.runtime import open_usage
from clawft.config.agents import BudgetSettings
from clawft.errors import ClawftError, Refused
from clawft.messages import Usage
from clawft.server.protocol.executions import ExecuteSkill
from clawft.server.protocol.records import GetUsage
from serve_world import Client, ServeWorld

pytestmark = pytest.mark.anyio


def spend(world: ServeWorld, day: str, session: str, model: str, price: Price | None = None) -> None:
    world.write_config()
    with closing(open_usage(open_app(world.environ, str(world.project)))) as records:
        ledger = Ledger(records, BudgetSettings(), lambda: datetime.fromisoformat(day))
        ledger.settle(ledger.reserve(session, model, Usage(1000, 1000), price), Usage(100, 20), price)


async def test_what_models_cost_is_summed_by_day_model_and_session(world: ServeWorld) -> None:
    dear = Price(10_000.0, 10_000.0)
    for day in ("2030-01-01", "2030-01-02", "2030-01-02"):
        spend(world, day, "talk", "a/dear", dear)
    spend(world, "2030-01-02", "other", "b/unknown")
    spend(world, "2029-01-01", "old", "a/dear", dear)
    async with world.open_daemon() as daemon:
        told = await Client(daemon).ask(GetUsage(since="2030-01-01", until="2030-01-31"))
        assert [(one.name, one.calls, one.tokens, round(one.usd, 6)) for one in told.days] == [
            ("2030-01-01", 1, 120, 1.2),
            ("2030-01-02", 3, 360, 2.4),
        ]
        assert [(one.name, one.calls, one.unpriced) for one in told.models] == [("a/dear", 3, 0), ("b/unknown", 1, 1)]
        assert [(one.name, one.input_tokens) for one in told.sessions] == [("talk", 300), ("other", 100)]
        assert (told.total.tokens, round(told.total.usd, 6)) == (480, 3.6)


async def test_days_from_before_such_sums_were_kept_are_told_all_the_same(world: ServeWorld) -> None:
    spend(world, "2030-01-01", "talk", "m", Price(10_000.0, 10_000.0))
    with closing(open_usage(open_app(world.environ, str(world.project)))) as records:
        records.execute("DELETE FROM used")
    async with world.open_daemon() as daemon:
        told = await Client(daemon).ask(GetUsage(since="2030-01-01", until="2030-01-01"))
        assert [(one.name, one.calls, one.tokens, round(one.usd, 6)) for one in told.days] == [
            ("2030-01-01", 0, 120, 1.2)
        ]


async def test_a_shared_record_that_is_away_hides_nothing_of_this_machine(world: ServeWorld) -> None:
    world.config = '[runs]\ndatabase = "postgresql://nobody@127.0.0.1:9/none"\n'
    spend(world, "2030-01-01", "talk", "m")
    async with world.open_daemon() as daemon:
        told = await Client(daemon).ask(GetUsage(since="2030-01-01", until="2030-01-01"))
        assert (told.total.tokens, told.problem.code) == (120, "usage-database")


async def test_a_turn_of_the_daemon_counts_for_its_skill_model_and_session(world: ServeWorld) -> None:
    world.add_skill("greet")
    async with world.open_daemon() as daemon:
        await Client(daemon).ask(ExecuteSkill(name="greet", session="hello"))
        told = await Client(daemon).ask(GetUsage())
        assert [(one.name, one.calls) for one in told.models] == [("script/m", 1)]
        assert [one.name for one in told.sessions] == ["hello"]
        assert {one.name: (one.loaded, one.here) for one in told.skills}["greet"] == (1, True)


async def test_a_range_that_is_none_is_refused_and_an_empty_one_is_empty(world: ServeWorld) -> None:
    wrong = (("2030-01-31", "2030-01-01"), ("2030-02-31", ""), ("0001-01-01", "9999-12-31"))
    async with world.open_daemon() as daemon:
        for since, until in wrong:
            with pytest.raises(ClawftError, match=r"Days are|A range"):
                await Client(daemon).ask(GetUsage(since=since, until=until))
        assert (await Client(daemon).ask(GetUsage(since="0001-01-01", until="0001-01-01"))).days == ()


async def test_usage_is_for_who_may_do_all(world: ServeWorld) -> None:
    async with world.open_daemon() as daemon:
        assert (await Client(daemon).ask(GetUsage())).total.calls == 0
        with pytest.raises(Refused, match="lacks the scope admin"):
            await Client(daemon, "read").ask(GetUsage())
