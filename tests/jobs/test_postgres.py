"""Several workers on a real PostgreSQL: one is killed, another goes on; the server goes away and comes back."""

import os
import signal
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from chaos import COMMANDS, Chaos, ten_steps, until
from clawft.agent.run_request import RunRequest
from clawft.config.jobs import RunsSettings
from clawft.jobs.runs import Runs
from postgres import Mode, Postgres
from wire import Reply

LEASE_S = 5.0
# Processes that nobody else sees, as those of another machine: only their beats tell whether they live.
ELSEWHERE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


PLACES = {name: place for place, name in COMMANDS.items()}


def script(label: str, place: int) -> Reply:
    return ten_steps(label, place, 0.2)


def once(labels: list[str]) -> Counter[tuple[str, str]]:
    return Counter((label, name) for label in labels for name in "ab")


@pytest.mark.parametrize(
    "prefix",
    [
        pytest.param((), id="here"),
        pytest.param(
            ELSEWHERE,
            id="elsewhere",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="Needs root, for a namespace."),
        ),
    ],
)
def test_a_worker_finishes_the_runs_of_one_that_was_killed_within_twice_the_lease(
    postgres: Postgres, tmp_path: Path, prefix: tuple[str, ...]
) -> None:
    labels = [f"r{number}" for number in range(6)]  # four fit one worker, so each has some
    runs = f'database = "{postgres.url()}"\nlease_s = {LEASE_S}'
    with Chaos(tmp_path, script=script, runs=runs) as chaos:
        killed, other = chaos.work(prefix=prefix), chaos.work()
        until(lambda: len(chaos.runs.store.roster.workers()) == 2, 20)
        assert len({one.host for one in chaos.runs.store.roster.workers()}) == (2 if prefix else 1)
        own = other.wait_to_say("takes from").partition("worker ")[2].split()[0]
        chaos.start(*labels)
        left = until(lambda: find_runs(chaos, labels, own), 20)
        killed.kill()
        finish(chaos, left, 2 * LEASE_S)
        assert "is gone; its runs go on elsewhere" in other.said
        assert {one.worker for one in map(chaos.get, left)} == {own}
        flagged = {(one.run, one.key.partition("~")[0]) for one in chaos.questions(open_only=False)}
        certain = [
            (label, name) for label, name in once(labels) if (chaos.runs_by_label[label], PLACES[name]) not in flagged
        ]
        finish(chaos, labels, 30)
        assert [chaos.count()[one] for one in certain] == [1] * len(certain)
        assert max(chaos.count().values()) == 1


def find_runs(chaos: Chaos, labels: list[str], other: str) -> list[str]:
    """Runs that are under way, and not with the other worker."""
    runs = {label: chaos.get(label) for label in labels}
    return [label for label, one in runs.items() if one.status == "running" and one.worker != other and one.steps >= 2]


def finish(chaos: Chaos, labels: list[str], seconds: float) -> None:
    """Wait for the end of runs, and say that what was in flight was done."""

    def look() -> bool:
        for question in chaos.questions():
            chaos.runs.answer(question, "done")
        return all(chaos.get(label).status == "done" for label in labels)

    until(look, seconds)


@pytest.mark.parametrize("mode", ["fast", pytest.param("immediate", marks=pytest.mark.soak)])
def test_runs_wait_while_the_server_is_away_and_go_on_when_it_is_back(
    postgres: Postgres, tmp_path: Path, mode: Mode
) -> None:
    labels = [f"r{number}" for number in range(4)]
    with Chaos(tmp_path, script=script, runs=f'database = "{postgres.url()}"') as chaos:
        workers = [chaos.work_now(), chaos.work_now()]
        chaos.start(*labels)
        until(lambda: len(chaos.calls) >= 7, 20)
        postgres.stop(mode)
        try:
            for worker in workers:
                said = worker.wait_to_say("runs-unreachable")
                assert "The database of runs cannot be used: " in said
                assert "hint: Check that the server runs, and runs.database" in said
        finally:
            postgres.start()
        chaos.runs.database.dispose()
        for label in labels:
            chaos.wait_for(label)
        assert chaos.count() == once(labels)
        assert len(chaos.calls) == 5 * len(labels)  # what was answered meanwhile was kept
        assert not chaos.questions(open_only=False)
        for worker in workers:
            assert "Traceback" not in worker.said
            assert worker.popen.poll() is None
        workers[0].send(signal.SIGTERM)
        assert workers[0].wait() == 0


def test_tables_that_another_process_has_half_made_are_not_used_before_they_are_whole(
    postgres: Postgres, tmp_path: Path
) -> None:
    settings = RunsSettings(database=postgres.url())
    with closing(Runs(settings, str(tmp_path), {})) as first:
        first.start(RunRequest(kind="agent", cwd=str(tmp_path), text="go"))
        with first.database.begin() as connection:
            (whole,) = connection.execute(sa.text("SELECT version FROM dbos.dbos_migrations")).one()
            connection.execute(sa.text("UPDATE dbos.dbos_migrations SET version = version - 1"))
        with closing(Runs(settings, str(tmp_path), {})) as second:
            second.start(RunRequest(kind="agent", cwd=str(tmp_path), text="go"))
        with first.database.connect() as connection:
            assert connection.execute(sa.text("SELECT version FROM dbos.dbos_migrations")).scalar() == whole
