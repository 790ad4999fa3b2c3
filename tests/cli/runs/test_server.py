"""The same commands where runs are kept on a PostgreSQL."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from clawft.config.jobs import RunsSettings
from clawft.jobs.recent_runs import load_recent_runs
from postgres import Postgres

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.url()


def test_runs_on_a_postgres_are_seen_ended_gone_on_with_and_forgotten(world: Any, run: Call, url: str) -> None:
    first, second = world.ask_for("100% it_works", "it asks")
    world.pretend_worker()
    assert [one["id"] for one in json.loads(run("list", "--format", "json")[1])["runs"]] == [second, first]
    assert [one.title for one in load_recent_runs(RunsSettings(database=url), "", {}, 9)] == [
        "it asks",
        "100% it_works",
    ]
    assert run("cancel", first)[2] == f"{first} is cancelled\n"
    assert run("watch", first)[0] == 1
    assert "waited for a worker" in run("show", first)[1]
    assert run("resume", first)[0] == 0
    assert run("cancel", "--all", "--format", "json")[0] == 0
    assert run("show", first[:13])[0] == (1 if second.startswith(first[:13]) else 0)
    assert run("prune", "--days", "0", "--yes")[2] == "Removed 2 runs\n"
    assert run("list")[2].startswith("No runs yet. Start one: ")


def test_a_password_that_is_not_set_is_what_the_hint_tells_of(world: Any, url: str) -> None:
    world.environ["CLAWFT_RUNS__DATABASE"] = re.sub(r":[^:/@]+@", "@", url)
    code, _, err = world.weft("list")
    assert code == 1
    assert err.startswith("error[runs-unreachable]: ")
    assert err.endswith("hint: Check runs.database_password, and that what it names is set here\n")


def test_a_postgres_that_is_away_is_said_without_its_password(
    postgres: Postgres, world: Any, run: Call, url: str
) -> None:
    world.ask_for("it works")
    postgres.stop()
    try:
        code, _, err = run("list")
    finally:
        postgres.start()
    assert code == 1
    assert err.startswith("error[runs-unreachable]: ")
    assert url.partition("@")[0].rpartition(":")[2] not in err
