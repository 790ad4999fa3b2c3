"""Fleets: lines become runs while there is room, and what comes of them is told in order."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.run_request import RunRequest
from clawft.errors import ClawftError
from clawft.jobs.fleet_feed import FleetFeed, check_inputs, check_unchanged, find_last_batch, read_jobs
from clawft.jobs.fleets import Fleet, FleetSpec, FleetStore
from clawft.jobs.runs import Runs
from postgres import Postgres
from runs_world import RunsWorld

LINES = 12
REQUEST = RunRequest(kind="skill", cwd="/", skill="greet")


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    with RunsWorld(tmp_path, []).runs() as opened:
        yield opened


def make_fleet(path: Path, lines: list[Any] | int = LINES, kind: str = "run", total: int = 0) -> Fleet:
    values = [f"input {number}" for number in range(1, lines + 1)] if isinstance(lines, int) else lines
    path.write_text("".join(f"{one.decode() if isinstance(one, bytes) else json.dumps(one)}\n" for one in values))
    checked = check_inputs(str(path))
    spec = FleetSpec(
        title="a fleet",
        path=str(path),
        size=checked.size,
        digest=checked.digest,
        last=checked.last,
        request=REQUEST,
        queue="q",
    )
    return Fleet("f1", kind, spec, total or checked.total, "2026-01-01T00:00:00.000Z")  # type: ignore[arg-type]


class FollowedItem:
    """A fleet that is fed, and what it told. Runs are ended here as a worker ends them."""

    def __init__(self, runs: Runs, fleet: Fleet, **how: Any) -> None:
        self.runs = runs
        self.store = FleetStore(runs.database)
        self.results: list[dict[str, Any]] = []
        self.feed = FleetFeed(runs, fleet, self.results.append, **{"ahead": 500, **how})
        self.feed.step()

    def end(self, line: int, status: Any = "done") -> None:
        run = f"f1.{line:06}"
        attempt = self.runs.store.get(run).attempt
        self.runs.store.begin(run, attempt, "w")
        if status == "waiting":
            assert self.runs.store.park(run, attempt, ())
        else:
            error = '{"code":"broken","message":"It broke"}' if status == "failed" else None
            assert self.runs.store.finish(run, attempt, status, result=f"result {line}", error=error)

    def step(self) -> list[int]:
        self.feed.step()
        return [one["line"] for one in self.results]

    def under_way(self) -> int:
        counts = self.runs.store.counts("f1")
        return counts.get("queued", 0) + counts.get("running", 0)


def test_results_are_told_in_the_order_of_lines_whichever_run_ends_first(runs: Runs, tmp_path: Path) -> None:
    told = FollowedItem(runs, make_fleet(tmp_path / "in.jsonl", 5))

    for line in (3, 2, 5):
        told.end(line)
    assert told.step() == []
    told.end(1)
    assert told.step() == [1, 2, 3]
    told.end(4)
    assert told.step() == [1, 2, 3, 4, 5]
    assert told.feed.state.is_over
    assert told.results[4] == {
        "line": 5,
        "input": "input 5",
        "run": "f1.000005",
        "status": "done",
        "result": "result 5",
        "error": None,
        "usage": {"input_tokens": 0, "output_tokens": 0, "cache_read_tokens": 0, "cache_write_tokens": 0},
        "cost_usd": None,
    }


def test_never_more_runs_are_under_way_than_there_is_room_for(runs: Runs, tmp_path: Path) -> None:
    told = FollowedItem(runs, make_fleet(tmp_path / "in.jsonl", LINES), ahead=4)

    for line in range(1, LINES + 1):
        assert told.under_way() == min(4, LINES - line + 1)
        told.end(line)
        told.step()

    assert told.feed.state.is_over
    assert [one["line"] for one in told.results] == list(range(1, LINES + 1))


def test_a_run_that_waits_for_a_person_holds_up_no_other_and_is_told_at_the_end(runs: Runs, tmp_path: Path) -> None:
    told = FollowedItem(runs, make_fleet(tmp_path / "in.jsonl", 4), ahead=2)

    told.end(1, "waiting")
    assert told.step() == []
    for line in (2, 3):
        told.end(line)
        told.step()
    assert told.feed.state.waiting == 1
    told.end(4)
    assert told.step() == [1, 2, 3, 4]
    assert [one["status"] for one in told.results] == ["waiting", "done", "done", "done"]


def test_what_failed_is_tried_again_and_nothing_else(runs: Runs, tmp_path: Path) -> None:
    fleet = make_fleet(tmp_path / "in.jsonl", 4)
    told = FollowedItem(runs, fleet)
    for line, status in ((1, "done"), (2, "failed"), (3, "done"), (4, "failed")):
        told.end(line, status)
    told.step()
    assert [one["error"] and one["error"]["code"] for one in told.results] == [None, "broken", None, "broken"]

    again = FollowedItem(runs, fleet, retry=True, ahead=1)
    assert again.step() == [1], "the second is tried again before it is told"
    assert again.under_way() == 1
    again.end(2)
    assert again.step() == [1, 2, 3]
    again.end(4, "failed")
    assert again.step() == [1, 2, 3, 4]
    assert again.feed.state.is_over
    assert [one["status"] for one in again.results] == ["done", "done", "done", "failed"]
    assert [runs.store.get(f"f1.{line:06}").attempt for line in (1, 2, 3, 4)] == [1, 2, 1, 2]


def test_a_fleet_that_goes_on_starts_nothing_twice_and_tells_what_comes_after(runs: Runs, tmp_path: Path) -> None:
    fleet = make_fleet(tmp_path / "in.jsonl", 6)
    left = FollowedItem(runs, fleet, ahead=3)
    for line in (1, 2, 3):
        left.end(line)

    told = FollowedItem(runs, fleet, after=2)
    for line in (4, 5, 6):
        told.end(line)
    assert told.step() == [3, 4, 5, 6]
    assert runs.store.get("f1.000001").attempt == 1
    assert sum(runs.store.counts("f1").values()) == 6


def test_bad_lines_and_runs_that_were_removed_are_told_as_failures_in_their_place(runs: Runs, tmp_path: Path) -> None:
    told = FollowedItem(runs, make_fleet(tmp_path / "in.jsonl", ["a", [1], "b", b"{", "c"]))

    for line in (1, 3, 5):
        told.end(line)
    runs.remove([runs.store.get("f1.000003")])
    told.step()

    assert [(one["line"], one["status"], (one["error"] or {}).get("code")) for one in told.results] == [
        (1, "done", None),
        (2, "failed", "fleet-line"),
        (3, "failed", "fleet-gone"),
        (4, "failed", "fleet-line"),
        (5, "done", None),
    ]


def test_no_line_is_lost_when_the_database_cannot_be_written_for_a_while(runs: Runs, tmp_path: Path) -> None:
    refused = 0

    def refuse(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        nonlocal refused
        if statement.startswith("INSERT INTO weft_run") and refused < 2:
            refused += 1
            raise sa.exc.OperationalError(statement, None, Exception("database is locked"))

    told = FollowedItem(runs, make_fleet(tmp_path / "in.jsonl", 6), ahead=2)
    sa.event.listen(runs.database, "before_cursor_execute", refuse)
    for line in (1, 2):
        told.end(line)
    for _ in range(2):
        with pytest.raises(ClawftError) as caught:
            told.step()
        assert caught.value.code == "runs-locked"
    for line in range(3, 7):
        told.step()
        told.end(line)
    assert told.step() == [1, 2, 3, 4, 5, 6]


def test_a_fleet_whose_runs_were_removed_does_not_begin_again(runs: Runs, tmp_path: Path) -> None:
    fleet = make_fleet(tmp_path / "in.jsonl", 4)
    FleetStore(runs.database).add(fleet)
    told = FollowedItem(runs, fleet)
    for line in range(1, 5):
        told.end(line)
    runs.remove(told.store.runs("f1"))

    again = FollowedItem(runs, fleet, after=2)

    assert again.under_way() == 0
    assert [(one["line"], one["error"]["code"]) for one in again.results] == [(3, "fleet-gone"), (4, "fleet-gone")]
    assert again.feed.state.is_over


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        ("Ada Lovelace", "Ada Lovelace", ()),
        ({"args": "one two", "id": 7}, "one two", ()),
        ({"args": ["one", "two three"]}, "one two three", ("one", "two three")),
        ({"text": "say it"}, "say it", ()),
        ({"city": "Bern", "days": 3}, '{"city": "Bern", "days": 3}', ()),
    ],
)
def test_a_line_gives_the_arguments_that_people_expect(
    tmp_path: Path, line: Any, text: str, words: tuple[str, ...]
) -> None:
    (job,) = read_jobs(make_fleet(tmp_path / "in.jsonl", [line]))

    assert job.request is not None
    assert (job.request.text, job.request.words, job.inputs) == (text, words, (line,))


def test_bad_lines_are_found_with_their_numbers_and_blank_ones_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    long = json.dumps("x" * (300 << 10))
    path.write_text(f'"a"\n\n  \n{{"args": 1}}\n{long}\n"b"\n{{"args": "x", "text": "y"}}\nnull\nnope')

    checked = check_inputs(str(path))

    assert (checked.total, checked.bad_total, checked.last) == (7, 5, 6)
    assert [(one.line, one.reason.partition(":")[0]) for one in checked.bad] == [
        (4, "`args` is neither a text nor texts"),
        (5, "It is longer than 256 KiB"),
        (7, "It has both `args` and `text`"),
        (8, "It is neither a text nor an object"),
        (9, "It is no JSON"),
    ]


def test_a_changed_input_is_refused(tmp_path: Path) -> None:
    fleet = make_fleet(tmp_path / "in.jsonl", 3)
    check_unchanged(fleet.spec)

    (tmp_path / "in.jsonl").write_text('"input 1"\n"input 2"\n"input X"\n')
    with pytest.raises(ClawftError) as caught:
        check_unchanged(fleet.spec)
    assert caught.value.code == "fleet-changed"

    (tmp_path / "in.jsonl").unlink()
    with pytest.raises(ClawftError, match="gone"):
        check_unchanged(fleet.spec)


def test_reading_a_hundred_thousand_lines_takes_no_more_memory_than_reading_one(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    lines = (json.dumps({"args": f"input number {number}", "more": "x" * 60}) for number in range(100_000))
    path.write_text("\n".join(lines))
    one = make_fleet(tmp_path / "one.jsonl", 1)
    fleet = Fleet("f1", "run", FleetSpec(**_values(one.spec) | {"path": str(path)}), 100_000, one.created)

    tracemalloc.start()
    try:
        count = sum(job.request is not None for job in read_jobs(fleet))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert count == 100_000
    assert peak < 1 << 20


def _values(spec: FleetSpec) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in FleetSpec.__struct_fields__}


@given(total=st.integers(1, 6_000))
def test_batches_hold_every_target_once_and_are_small_at_the_end(
    tmp_path_factory: pytest.TempPathFactory, total: int
) -> None:
    path = tmp_path_factory.getbasetemp() / f"targets-{total}.jsonl"
    fleet = make_fleet(path, [{"path": f"/skills/{number}"} for number in range(total)], "scan")
    jobs = list(read_jobs(fleet))

    assert [one.path for job in jobs for one in job.inputs] == [f"/skills/{number}" for number in range(total)]
    assert [job.line for job in jobs] == [1 + sum(len(one.inputs) for one in jobs[:at]) for at in range(len(jobs))]
    assert max(len(job.inputs) for job in jobs) <= 64
    assert len(jobs[-1].inputs) <= 4
    assert jobs[-1].line == find_last_batch(total)
    path.unlink()


def test_a_fleet_is_found_by_the_start_of_its_id_and_forgotten_when_it_is_old_and_empty(
    runs: Runs, tmp_path: Path
) -> None:
    store = FleetStore(runs.database)
    old = make_fleet(tmp_path / "in.jsonl", 1)
    for name, created in (("f1", "2026-01-01"), ("f2a", "2026-01-01"), ("f2b", "2026-03-01")):
        store.add(Fleet(name, "run", old.spec, 1, created))
    runs.start_fleet("f2a", [(1, REQUEST)])

    assert [one.id for one in store.list()] == ["f2b", "f2a", "f1"]
    assert store.get("f1").spec == old.spec
    assert store.get("f2b").created == "2026-03-01"
    for name in ("f2", "f3", ""):
        with pytest.raises(ClawftError) as caught:
            store.get(name)
        assert caught.value.code == "fleet-not-found"

    assert [one.id for one in store.remove_old("2026-02-01")] == ["f1"]
    assert [one.id for one in store.list()] == ["f2b", "f2a"], "one has runs, one is new"


def test_a_fleet_is_fed_told_and_tried_again_on_postgres(postgres: Postgres, tmp_path: Path) -> None:
    with RunsWorld(tmp_path, [], url=postgres.url()).runs() as runs:
        fleet = make_fleet(tmp_path / "in.jsonl", 5)
        store = FleetStore(runs.database)
        store.add(fleet)
        told = FollowedItem(runs, fleet, ahead=2)
        told.end(2)
        assert told.step() == []
        for line, status in ((1, "done"), (3, "failed"), (4, "done"), (5, "done")):
            told.end(line, status)
            told.step()
        assert [(one["line"], one["status"]) for one in told.results][2:] == [(3, "failed"), (4, "done"), (5, "done")]

        again = FollowedItem(runs, fleet, retry=True, after=2)
        again.end(3)
        assert again.step() == [3, 4, 5]
        assert store.get("f").id == "f1"
        runs.remove(store.runs("f1"))
        assert [one.id for one in store.remove_old("2026-02-01")] == ["f1"]
