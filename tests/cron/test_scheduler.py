"""The scheduler by a clock that only moves when it waits: what runs, what is missed, what survives."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import msgspec
import pytest

from clawft.cron import Job, JobStore, Run, make_job
from clawft.cron.jobs import Task
from clawft.cron.process import Outcome
from clawft.cron.scheduler import AT_ONCE, Clock, Scheduler
from clawft.errors import ClawftError

pytestmark = pytest.mark.anyio
START = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)


class World:
    """A folder of jobs, a clock that moves when it is waited for, and a list of all that was reported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = JobStore(str(folder))
        self.time = START
        self.started: list[tuple[str, datetime]] = []
        self.ends = START + timedelta(days=1)
        self.runs: list[Run] = []
        self.errors: list[str] = []
        self.scope: anyio.CancelScope | None = None
        self.run: Callable[[Job, datetime], Awaitable[Outcome]] = self.succeed

    def add(self, schedule: str, name: str = "") -> Job:
        job = make_job(schedule, Task("x"), name=name, cwd="/", now=self.time, zone=UTC)
        self.store.change(lambda jobs: (*jobs, job))
        return job

    def get(self, job: Job) -> Job:
        return next(one for one in self.store.load() if one.id == job.id)

    def logged(self) -> list[Run]:
        lines = (self.folder / "cron-runs.jsonl").read_bytes().splitlines()
        return [msgspec.json.decode(line, type=Run) for line in lines]

    def scheduler(self) -> Scheduler:
        return Scheduler(self.store, self._run, Clock(lambda: self.time, UTC, self._wait), self)

    async def run_until(self, moment: datetime) -> None:
        """The scheduler until the clock has come to a moment."""
        self.ends = moment
        with anyio.fail_after(60), anyio.CancelScope() as self.scope:
            await self.scheduler().run_forever()

    async def succeed(self, job: Job, started: datetime) -> Outcome:
        return Outcome("ok", 0, f"cron:{job.id}", "done")

    def ended(self, job: Job, run: Run, text: str) -> None:
        self.runs.append(run)

    def failed(self, error: ClawftError) -> None:
        self.errors.append(error.code)

    async def _run(self, job: Job, started: datetime) -> Outcome:
        self.started.append((job.name, started))
        return await self.run(job, started)

    async def _wait(self, seconds: float) -> None:
        await anyio.wait_all_tasks_blocked()
        self.time += timedelta(seconds=seconds)
        if self.scope and self.time > self.ends:
            self.scope.cancel()
        await anyio.lowlevel.checkpoint()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_jobs_run_when_they_are_due(world: World) -> None:
    world.add("*/20 * * * *", "often")
    world.add("0 9 * * *", "daily")

    await world.run_until(START + timedelta(minutes=65))

    at = [(name, f"{moment:%H:%M:%S}") for name, moment in world.started]
    assert at == [("often", "08:20:00"), ("often", "08:40:00"), ("often", "09:00:00"), ("daily", "09:00:00")]
    assert all(run.missed == 0 and run.status == "ok" for run in world.runs)


async def test_a_run_is_kept_with_the_job_and_in_the_log(world: World) -> None:
    job = world.add("0 9 * * *")

    await world.run_until(START + timedelta(hours=2))

    nine = START + timedelta(hours=1)
    kept = world.get(job)
    assert (kept.last_run, kept.last_status, kept.next_due) == (nine, "ok", nine + timedelta(days=1))
    assert world.logged() == [
        Run(job=job.id, due=nine, started=nine, finished=nine, status="ok", exit_code=0, session=f"cron:{job.id}")
    ]


async def test_times_that_passed_while_no_scheduler_ran_give_one_run_and_a_count(world: World) -> None:
    job = world.add("every 10m", "often")
    world.time += timedelta(hours=5, minutes=4)

    await world.scheduler().run_due()

    assert [name for name, _ in world.started] == ["often"]
    assert [(run.missed, run.due) for run in world.logged()] == [(29, START + timedelta(hours=5))]
    assert world.get(job).missed == 29
    assert world.get(job).next_due == START + timedelta(hours=5, minutes=10)

    await world.scheduler().run_due()

    assert len(world.started) == 1


async def test_a_daily_job_that_is_hours_late_does_not_run_and_is_reported(world: World) -> None:
    job = world.add("0 9 * * *")
    world.time += timedelta(days=3, hours=4)

    await world.scheduler().run_due()

    assert world.started == []
    assert [(run.status, run.missed, run.started) for run in world.runs] == [("missed", 4, None)]
    assert world.logged() == world.runs
    kept = world.get(job)
    assert (kept.missed, kept.last_status, kept.next_due) == (4, "missed", START + timedelta(days=4, hours=1))


async def test_a_job_for_one_time_runs_once_and_stays_as_done(world: World) -> None:
    job = world.add("at 2026-06-01T09:00")

    await world.run_until(START + timedelta(hours=2))

    assert len(world.started) == 1
    kept = world.get(job)
    assert (kept.enabled, kept.next_due, kept.last_status) == (False, None, "ok")


async def test_a_job_that_is_turned_off_does_not_run(world: World) -> None:
    world.add("every 10m")
    world.store.change(lambda jobs: [msgspec.structs.replace(one, enabled=False) for one in jobs])

    await world.run_until(START + timedelta(hours=1))

    assert world.started == []


async def test_a_job_that_fails_stops_no_other_and_runs_again(world: World) -> None:
    bad = world.add("every 10m", "bad")
    world.add("every 10m", "good")

    async def run(job: Job, started: datetime) -> Outcome:
        return Outcome("failed", 1, error="it broke") if job.name == "bad" else Outcome("ok", 0)

    world.run = run

    await world.run_until(START + timedelta(minutes=25))

    assert [name for name, _ in world.started] == ["bad", "good", "bad", "good"]
    assert world.get(bad).last_status == "failed"
    assert [run.error for run in world.logged() if run.job == bad.id] == ["it broke", "it broke"]


async def test_a_job_that_takes_long_is_not_started_twice_and_holds_no_other_up(world: World) -> None:
    slow = world.add("every 10m", "slow")
    world.add("every 10m", "quick")
    going_on = anyio.Event()

    async def run(job: Job, started: datetime) -> Outcome:
        if job.name == "slow" and world.time < START + timedelta(minutes=15):
            await going_on.wait()
        if world.time >= START + timedelta(minutes=40):
            going_on.set()
        return Outcome("ok", 0)

    world.run = run

    await world.run_until(START + timedelta(minutes=55))

    quick = [moment.minute for name, moment in world.started if name == "quick"]
    assert quick == [10, 20, 30, 40, 50]
    assert [moment.minute for name, moment in world.started if name == "slow"] == [10, 40, 50]
    assert [run.missed for run in world.logged() if run.job == slow.id] == [0, 2, 0]


async def test_only_a_few_jobs_run_at_once(world: World) -> None:
    for _ in range(3 * AT_ONCE):
        world.add("every 10m")
    running, most = 0, 0

    async def run(job: Job, started: datetime) -> Outcome:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.wait_all_tasks_blocked()
        running -= 1
        return Outcome("ok", 0)

    world.run = run
    world.time += timedelta(minutes=11)

    await world.scheduler().run_due()

    assert (len(world.started), most) == (3 * AT_ONCE, AT_ONCE)


async def test_a_scheduler_that_is_ended_writes_down_what_it_cut_off(world: World) -> None:
    job = world.add("every 10m")
    world.run = lambda job, started: anyio.sleep_forever()  # type: ignore[assignment,return-value]

    await world.run_until(START + timedelta(minutes=12))

    assert world.get(job).last_status == "interrupted"
    assert [(run.status, run.error) for run in world.logged()] == [("interrupted", "the scheduler was ended")]


async def test_what_a_killed_scheduler_left_is_recovered_and_not_run_again(world: World) -> None:
    job = world.add("every 10m")
    stale = {"last_status": "running", "next_due": START + timedelta(minutes=20)}
    world.store.change(lambda jobs: [msgspec.structs.replace(one, **stale) for one in jobs])

    await world.scheduler().run_due()

    assert world.started == []
    assert world.get(job).last_status == "interrupted"
    assert [run.status for run in world.logged()] == ["interrupted"]


async def test_a_job_that_is_added_or_removed_meanwhile_is_seen(world: World) -> None:
    first = world.add("every 10m", "first")

    async def run(job: Job, started: datetime) -> Outcome:
        world.store.change(lambda jobs: [one for one in jobs if one.id != first.id])
        if job.name == "first":
            world.add("every 5m", "second")
        return Outcome("ok", 0)

    world.run = run

    await world.run_until(START + timedelta(minutes=21))

    assert [(name, moment.minute) for name, moment in world.started] == [("first", 10), ("second", 15), ("second", 20)]
    assert world.logged()[0].job == first.id


async def test_a_file_that_is_damaged_meanwhile_is_said_once_and_the_scheduler_goes_on(world: World) -> None:
    world.add("every 10m", "often")
    whole = (world.folder / "cron.json").read_bytes()

    async def run(job: Job, started: datetime) -> Outcome:
        if started == START + timedelta(minutes=10):
            (world.folder / "cron.json").write_text("{")
        return Outcome("ok", 0)

    world.run = run

    await world.run_until(START + timedelta(minutes=12))
    assert set(world.errors) == {"cron-damaged"}
    assert len(world.errors) == 2  # the run that could not be written down, and the look at the jobs
    assert (world.folder / "cron.json").read_text() == "{"

    (world.folder / "cron.json").write_bytes(whole)
    await world.run_until(START + timedelta(minutes=21))
    assert [moment.minute for _, moment in world.started][-1] == 20


async def test_a_second_scheduler_is_refused(world: World) -> None:
    with world.store.hold_scheduler(), pytest.raises(ClawftError) as caught:
        await world.scheduler().run_due()

    assert caught.value.code == "cron-busy"


async def test_a_job_that_is_asked_for_runs_now_and_its_schedule_stays(world: World) -> None:
    job = world.add("0 9 * * *")

    run = await world.scheduler().run_now(job)

    assert (run.status, run.due, run.started) == ("ok", None, START)
    kept = world.get(job)
    assert (kept.last_status, kept.last_run, kept.next_due) == ("ok", START, job.next_due)


async def test_a_run_that_was_asked_for_does_not_end_one_of_the_schedule(world: World) -> None:
    job = world.add("0 9 * * *")
    world.store.change(lambda jobs: [msgspec.structs.replace(one, last_status="running") for one in jobs])

    await world.scheduler().run_now(job)

    assert world.get(job).last_status == "running"


async def test_a_log_that_cannot_be_written_ends_nothing(world: World) -> None:
    job = world.add("every 10m")
    (world.folder / "cron-runs.jsonl").mkdir()
    world.time += timedelta(minutes=10)

    await world.scheduler().run_due()

    assert world.errors == ["cron-unwritable"]
    assert world.get(job).last_status == "ok"
