"""Jobs in the database of runs: each due time is run for once, whoever looks, whatever the clock does, whoever dies."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from clawft.jobs.database import JOB, RUN, SCHEDULE
from clawft.jobs.run_state import Run
from clawft.jobs.runs import Runs
from clawft.jobs.schedule.jobs import TIMEOUT_S, ScheduledJob, ScheduledTask, make_job
from clawft.jobs.schedule.store import FiredJob, ScheduleStore
from postgres import Postgres
from warm import WarmPopen

START = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


class World:
    """A user with jobs, whose database is a file or a server; time is what a test says."""

    def __init__(self, folder: Path, url: str = "") -> None:
        self.folder = folder
        self.home = folder / "home"
        self.user_dir = self.home / ".clawft"
        self.user_dir.mkdir(parents=True)
        script = self.user_dir / "script.json"
        script.write_text(json.dumps({"loop": True, "steps": [{"text": "An answer."}]}))
        config = f'[agents.defaults]\nmodel = "s/m"\n[providers.s]\nwire = "scripted"\nscript = "{script}"\n'
        config += "[memory]\nenabled = false\n[runs]\nlease_s = 1\npoll_s = 0.05\n"
        (self.user_dir / "config.toml").write_text(config + (f'database = "{url}"\n' if url else ""))
        self.environ = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "TZ": "UTC"}
        self.runs = self.open()
        self.errors: list[str] = []

    @property
    def jobs(self) -> ScheduleStore:
        return self.runs.jobs

    def open(self) -> Runs:
        return open_app_runs(open_app(self.environ, str(self.folder)))

    def add(self, schedule: str, *, now: datetime = START, queue: str = "default", **task: object) -> ScheduledJob:
        what = msgspec.convert({"text": "x", **task}, ScheduledTask)
        job = replace(make_job(schedule, what, cwd=str(self.folder), now=now, zone=UTC), queue=queue)
        self.jobs.add([job])
        return job

    def load(self) -> tuple[ScheduledJob, ...]:
        return self.jobs.load(lambda error: self.errors.append(error.code))

    def get(self, job: ScheduledJob) -> ScheduledJob:
        return next(one for one in self.load() if one.id == job.id)

    def fire(self, now: datetime, *queues: str) -> list[FiredJob]:
        return self.jobs.fire(lambda error: self.errors.append(error.code), queues, now)

    def finish(self, run: str, **values: str) -> None:
        """Have a run done, as a worker does."""
        assert self.runs.store.begin(run, 1, "w")
        assert self.runs.store.finish(run, 1, "failed" if values else "done", **values)

    def started(self) -> list[Run]:
        return [one for one in self.runs.store.list(kinds=["cron"]) if one.request.cwd == str(self.folder)]

    def taken(self) -> list[tuple[str, str, str]]:
        with self.runs.database.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.select(SCHEDULE).order_by(SCHEDULE.c.due))]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("cron"))
    yield world
    world.runs.close()


@pytest.fixture
def world(shared: World) -> World:
    """A user without jobs."""
    shared.errors.clear()
    with shared.runs.database.begin() as connection:
        for table in (JOB, SCHEDULE, RUN):
            connection.execute(sa.delete(table))
    return shared


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A user with a database of their own."""
    postgres: Postgres | None = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    world = World(tmp_path, postgres.url() if postgres else "")
    yield world
    world.runs.close()


def test_a_job_is_started_when_it_is_due_and_not_before(world: World) -> None:
    job = world.add("0 9 * * *", text="What is new?", agent="coder", model="s/two", yes=True)

    assert world.fire(START + 59 * MINUTE) == []
    (fired,) = world.fire(START + HOUR)

    (run,) = world.started()
    assert (fired.run, fired.claim.due, fired.claim.missed) == (run.id, START + HOUR, 0)
    asked = run.request
    assert (asked.kind, asked.text, asked.agent, asked.model, asked.yes) == (
        "cron",
        "What is new?",
        "coder",
        "s/two",
        True,
    )
    assert (asked.session, asked.project, asked.deadline_s) == (f"cron:{job.id}", str(world.folder), TIMEOUT_S)
    kept = world.get(job)
    assert (kept.run, kept.last_run, kept.last_status) == (run.id, START + HOUR, "running")
    assert kept.next_due == START + HOUR + timedelta(days=1)
    assert world.fire(START + HOUR) == []
    world.finish(run.id)
    assert world.get(job).last_status == "ok"


@pytest.mark.parametrize(("code", "status"), [("provider-failed", "failed"), ("run-deadline", "timeout")])
def test_how_its_run_ended_is_the_status_of_a_job(world: World, code: str, status: str) -> None:
    job = world.add("0 9 * * *")
    (fired,) = world.fire(START + HOUR)

    world.finish(fired.run, error=json.dumps({"code": code, "message": "Why"}))

    assert world.get(job).last_status == status


def test_times_that_passed_while_no_worker_was_there_give_one_run_and_a_count(world: World) -> None:
    job = world.add("every 10m")

    (fired,) = world.fire(START + timedelta(hours=5, minutes=4))

    assert (fired.claim.missed, fired.claim.due) == (29, START + 5 * HOUR)
    kept = world.get(job)
    assert (kept.missed, kept.next_due) == (29, START + timedelta(hours=5, minutes=10))
    assert len(world.started()) == 1


def test_a_daily_job_that_is_hours_late_is_not_started_and_that_is_written_down(world: World) -> None:
    job = world.add("0 9 * * *")

    (fired,) = world.fire(START + timedelta(days=3, hours=4))

    assert (fired.run, fired.claim.missed) == ("", 4)
    assert world.started() == []
    kept = world.get(job)
    assert (kept.missed, kept.last_status, kept.next_due) == (4, "missed", START + timedelta(days=4, hours=1))
    assert [(one, run) for one, _, run in world.taken()] == [(job.id, "")]
    (later,) = world.fire(START + timedelta(days=4, hours=1))
    assert (later.run != "", world.get(job).last_status) == (True, "running")


def test_a_job_for_one_time_is_started_once_and_stays_as_done(world: World) -> None:
    job = world.add("at 2026-06-01T09:00")

    (fired,) = world.fire(START + HOUR)
    world.finish(fired.run)

    kept = world.get(job)
    assert (kept.enabled, kept.next_due, kept.last_status) == (False, None, "ok")
    assert world.fire(START + 2 * HOUR) == []


def test_a_job_that_is_off_or_was_removed_is_not_started(world: World) -> None:
    world.jobs.add([replace(world.add("every 10m"), id="job-" + "0" * 36, enabled=False)])
    world.jobs.remove([one.id for one in world.load() if one.enabled])

    assert world.fire(START + HOUR) == []


def test_a_job_whose_run_goes_on_is_not_started_and_counted_later(world: World) -> None:
    job = world.add("every 10m")
    (first,) = world.fire(START + 10 * MINUTE)
    world.runs.store.begin(first.run, 1, "w")

    assert world.fire(START + 20 * MINUTE) == []
    world.runs.store.park(first.run, 1, ())
    assert world.get(job).last_status == "waiting"
    assert world.fire(START + 30 * MINUTE) == []
    world.runs.cancel(first.run)
    assert world.get(job).last_status == "interrupted"

    (second,) = world.fire(START + 40 * MINUTE)
    assert (second.claim.due, second.claim.missed) == (START + 40 * MINUTE, 2)


def test_each_run_of_a_fresh_job_has_a_session_of_its_own(world: World) -> None:
    job = world.add("every 10m", fresh=True)
    for minutes in (10, 20):
        (fired,) = world.fire(START + minutes * MINUTE)
        world.finish(fired.run)

    sessions = sorted(one.session for one in world.started())

    assert sessions == [f"cron:{job.id}:20260601T08{minutes}00.000000Z" for minutes in (10, 20)]


def test_a_job_that_is_asked_for_runs_now_and_its_schedule_stays(world: World) -> None:
    job = world.add("0 9 * * *")

    run = world.jobs.start(job, START)
    world.finish(run)

    kept = world.get(job)
    assert (kept.last_status, kept.last_run, kept.next_due) == ("ok", START, job.next_due)
    assert world.taken() == []


def test_a_run_that_was_asked_for_does_not_take_the_place_of_one_of_the_schedule(world: World) -> None:
    job = world.add("0 9 * * *")
    (fired,) = world.fire(START + HOUR)

    world.finish(world.jobs.start(job, START + HOUR))

    assert (world.get(job).run, world.get(job).last_status) == (fired.run, "running")


def test_a_worker_starts_only_what_it_would_do(world: World) -> None:
    world.add("every 10m")
    there = world.add("every 10m", queue="there")

    fired = world.fire(START + 10 * MINUTE, "there", "elsewhere")

    assert [one.job.id for one in fired] == [there.id]
    assert [one.queue for one in world.started()] == ["there"]


def test_a_job_that_cannot_be_understood_is_said_and_holds_no_other_up(world: World) -> None:
    bad, worse, good = (world.add("every 10m") for _ in range(3))
    with world.runs.database.begin() as connection:
        connection.execute(sa.update(JOB).where(JOB.c.id == bad.id).values(zone="Mars/Base"))
        connection.execute(sa.update(JOB).where(JOB.c.id == worse.id).values(task='{"later": 1}'))

    fired = world.fire(START + 10 * MINUTE)

    assert [one.job.id for one in fired] == [good.id]
    assert sorted(world.errors) == ["cron-damaged", "cron-zone"]
    assert {one.id for one in world.load()} == {bad.id, good.id}
    assert world.errors[2:] == ["cron-damaged"]


@pytest.mark.parametrize("schedule", ["every 10m", "*/10 * * * *"])
def test_a_clock_that_jumps_an_hour_either_way_fires_nothing_twice_and_loses_nothing_silently(
    world: World, schedule: str
) -> None:
    job = world.add(schedule)
    jumps = [
        10,
        20,
        80,
        90,
        30,
        40,
        90,
        100,
        100,
        50,
        60,
        110,
    ]  # minutes by a clock that is set forward, back, and back again
    told = 0
    for minutes in jumps:
        for fired in world.fire(START + minutes * MINUTE):
            told += fired.claim.missed
            world.finish(fired.run)

    taken = [due for _, due, _ in world.taken()]
    assert taken == [f"2026-06-01T{8 + at // 60:02}:{at % 60:02}:00.000000Z" for at in (10, 20, 80, 90, 100, 110)]
    assert told == world.get(job).missed == 5  # 30, 40, 50, 60, 70
    assert len(world.started()) == len(taken)


def test_hours_are_those_of_the_zone_a_job_was_added_in(world: World) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    job = make_job("0 9 * * *", ScheduledTask("x"), cwd="/", now=START, zone=berlin)
    world.jobs.add([replace(job, zone="Europe/Berlin", queue="default")])

    (fired,) = world.fire(datetime(2026, 6, 2, 7, 0, tzinfo=UTC))

    assert fired.job.next_due == datetime(2026, 6, 3, 7, 0, tzinfo=UTC)


def test_a_due_time_that_was_taken_stays_taken_whatever_a_job_says(world: World) -> None:
    job = world.add("every 10m")
    (fired,) = world.fire(START + 10 * MINUTE)
    world.finish(fired.run)
    with world.runs.database.begin() as connection:
        connection.execute(sa.update(JOB).values(next_due="2026-06-01T08:10:00.000000Z"))

    assert world.fire(START + 15 * MINUTE) == []

    assert world.get(job).next_due == START + 20 * MINUTE
    assert (world.get(job).run, len(world.started())) == (fired.run, 1)


def test_a_look_with_nothing_due_is_one_query(world: World) -> None:
    for _ in range(20):
        world.add("every 10m")
    asked: list[str] = []

    def note(connection: object, cursor: object, statement: str, *more: object) -> None:
        asked.append(statement)

    sa.event.listen(world.runs.database, "before_cursor_execute", note)
    try:
        assert world.fire(START + 9 * MINUTE) == []
    finally:
        sa.event.remove(world.runs.database, "before_cursor_execute", note)

    assert len(asked) == 1


def test_due_times_of_long_ago_are_forgotten(world: World) -> None:
    world.add("0 9 * * *")
    for days in (0, 1, 20, 40):
        for fired in world.fire(START + timedelta(days=days, hours=1)):
            world.finish(fired.run)

    assert [due[:10] for _, due, _ in world.taken()] == ["2026-06-21", "2026-07-11"]


def test_many_that_look_at_once_start_each_due_time_once(database: World) -> None:
    jobs = [database.add("every 10m") for _ in range(5)]
    opened = [database.open() for _ in range(6)]
    try:
        with ThreadPoolExecutor(len(opened)) as pool:
            now = START + 10 * MINUTE
            fired = list(pool.map(lambda runs: runs.jobs.fire(lambda error: None, (), now), opened))
    finally:
        for one in opened:
            one.close()

    assert sorted(one.job.id for some in fired for one in some) == sorted(one.id for one in jobs)
    assert sorted(run for _, _, run in database.taken()) == sorted(one.id for one in database.started())


DIE = """
import os, sys
from datetime import datetime
from clawft.app.app import open_app
from clawft.jobs.schedule.store import ScheduleStore
from clawft.jobs.store import RunStore
from clawft.app.jobs import open_app_runs
runs = open_app_runs(open_app(dict(os.environ), "."))
def die(connection, *due):
    if sys.argv[2] == "late":
        runs.engine.enqueue(connection, *due)
    print("claimed", flush=True)
    os.kill(os.getpid(), int(sys.argv[2]))
jobs = ScheduleStore(RunStore(runs.database, die), datetime.fromisoformat(sys.argv[1]).tzinfo, lambda: runs.engine)
jobs.fire(print, (), datetime.fromisoformat(sys.argv[1]))
"""


def test_a_worker_that_is_killed_between_claim_and_start_leaves_the_time_to_others(database: World) -> None:
    job = database.add("every 10m")
    now = START + 10 * MINUTE
    words = [sys.executable, "-c", DIE, now.isoformat(), str(int(signal.SIGKILL))]

    killed = subprocess.run(
        words, cwd=database.folder, env=database.environ, capture_output=True, text=True, timeout=60, check=False
    )

    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "claimed\n"), killed.stderr
    assert (database.taken(), database.started(), database.get(job).next_due) == ([], [], now)
    (fired,) = database.fire(now)
    assert [one.id for one in database.started()] == [fired.run]


@pytest.mark.soak
def test_a_worker_that_stands_still_on_postgres_between_claim_and_start_loses_the_time(
    postgres: Postgres, tmp_path: Path
) -> None:
    world = World(tmp_path, postgres.url())
    job = world.add("every 10m")
    now = START + 10 * MINUTE
    words = [sys.executable, "-c", DIE, now.isoformat(), str(int(signal.SIGSTOP))]
    with subprocess.Popen(words, cwd=tmp_path, env=world.environ, stdout=subprocess.PIPE, text=True) as still:
        try:
            assert still.stdout is not None
            assert still.stdout.readline() == "claimed\n"
            (fired,) = world.fire(now)  # has to wait for the other one, and not for long
            still.send_signal(signal.SIGCONT)
            said, _ = still.communicate(timeout=60)
            assert "idle-in-transaction" in said
            assert (world.get(job).run, len(world.started())) == (fired.run, 1)
        finally:
            still.kill()
            world.runs.close()


def test_workers_that_race_on_postgres_start_each_due_time_once_and_do_it(postgres: Postgres, tmp_path: Path) -> None:
    world = World(tmp_path, postgres.url())
    now = datetime.now(UTC)
    words = [sys.executable, "-m", "clawft", "worker"]
    workers: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(3):
            with (tmp_path / "log").open("ab") as log:
                workers.append(WarmPopen(words, cwd=tmp_path, env=world.environ, stdout=log, stderr=log))
        _wait_for(lambda: len(world.runs.store.roster.workers()) == 3, tmp_path)
        jobs = [world.add("at 2099-01-01T00:00Z", now=now) for _ in range(6)]
        due = datetime.now(UTC) + timedelta(seconds=0.7)  # the server's clock is this machine's
        with world.runs.database.begin() as connection:
            moved = {"schedule": f"at {due.isoformat()}", "next_due": due.isoformat(timespec="microseconds")[:-6] + "Z"}
            connection.execute(sa.update(JOB).values(moved))
        _wait_for(lambda: len(world.taken()) > 2, tmp_path)
        workers[0].kill()
        _wait_for(lambda: world.runs.store.counts() == {"done": 6}, tmp_path)
        runs = world.started()
        assert sorted(one.request.session for one in runs) == sorted(f"cron:{one.id}" for one in jobs)
        assert sorted(run for _, _, run in world.taken()) == sorted(one.id for one in runs)
        assert {one.result for one in runs} == {"An answer."}
    finally:
        for one in workers:
            one.kill()
            one.wait()
        world.runs.close()


def _wait_for(condition: Callable[[], bool], folder: Path, wait_s: float = 60) -> None:
    deadline = time.monotonic() + wait_s
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail((folder / "log").read_text()[-4000:])
        time.sleep(0.02)
