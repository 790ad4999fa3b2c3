"""Rows that another wrote: a newer version, one that is damaged, or somebody who may write to a shared database."""

import base64
import json
import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
import sqlalchemy as sa
from msgspec import structs

from clawft.app.app import open_app
from clawft.cli import main
from clawft.config.jobs import RunsSettings
from clawft.errors import ClawftError
from clawft.jobs.database import explain_failure, is_transient, make_url
from clawft.jobs.events import EventSink
from clawft.jobs.fleets import Fleet, FleetSpec, FleetStore
from clawft.jobs.recent_runs import load_recent_runs_of_file
from clawft.jobs.run_state import PendingQuestion, WorkerRow, now_text
from clawft.jobs.runs import Runs, start_worker
from clawft.jobs.store import EventRow
from clawft.jobs.worker_registry import this_host, this_mark
from clawft.messages import ApprovalNeeded, TextDelta
from runs_world import RunsWorld

Weft = Callable[..., tuple[int, str, str]]


@pytest.fixture
def world(tmp_path: Path) -> RunsWorld:
    return RunsWorld(tmp_path, [])


@pytest.fixture
def runs(world: RunsWorld) -> Iterator[Runs]:
    """With a worker that is there, so that none is started."""
    with world.runs() as opened:
        opened.store.roster.register_worker(make_worker("here", this_host(), now_text()))
        yield opened


@pytest.fixture
def weft(
    world: RunsWorld,
    environ: MutableMapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Weft:
    """The command line in this process: exit code, stdout, stderr."""

    def weft(*args: str) -> tuple[int, str, str]:
        environ.update(world.environ)
        monkeypatch.chdir(world.project)
        monkeypatch.setattr(sys, "argv", ["weft", *args])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        return int(left.value.code or 0), *capsys.readouterr()

    return weft


def make_worker(name: str, host: str, seen: str) -> WorkerRow:
    return WorkerRow(name, host, os.getpid(), this_mark(), "default", 1, now_text(), 0, seen, stopping=False)


def change(world: RunsWorld, query: str, *values: object) -> None:
    with closing(sqlite3.connect(world.user_dir / "runs" / "runs.sqlite")) as file:
        assert file.execute(query, values).rowcount == 1
        file.commit()


def begin(world: RunsWorld, runs: Runs, text: str) -> str:
    run = runs.start(world.request(text))
    assert runs.store.begin(run, 1, "here")
    return run


def ask(runs: Runs, run: str) -> None:
    event = ApprovalNeeded(call="1.0", tool="exec_shell", question="Run: x", reason="", dangerous=False)
    runs.store.ask(PendingQuestion(run, "1.0?1", "approval", event, now_text()))


BAD = (
    ("request", "{no JSON"),
    ("request", '{"kind": "of a newer version", "cwd": "/"}'),
    ("request", "[" * 100_000),
    ("error", '["nothing we know"]'),
    ("status", "of a newer version"),
    ("created", "no time"),
    ("queue", "../../elsewhere"),
)


def test_a_fleet_that_cannot_be_read_hides_no_other(world: RunsWorld, runs: Runs, weft: Weft) -> None:
    store = FleetStore(runs.database)
    asked = world.request("x")
    spec = FleetSpec(title="some", path="/x", size=1, digest="", last=1, request=asked, queue="default")
    for name in ("bad", "good"):
        store.add(Fleet(name, "run", spec, 1, "2026-01-01T00:00:00.000Z"))
    change(world, "UPDATE weft_fleet SET spec = '{}' WHERE id = 'bad'")
    code, out, _ = weft("fleet", "list")
    assert (code, "good" in out, "bad" in out) == (0, True, True)
    assert weft("fleet", "run", "--resume", "bad")[2].startswith("error[fleet-changed]")
    assert {one.id for one in store.remove_old("2026-02-01")} == {"bad", "good"}


BAD_EVENTS = ("{", "[]", '{"event":"TextDelta"}', '{"event":"Noticed","code":[1],"name":{}}')


def test_a_run_that_cannot_be_read_hides_no_other(world: RunsWorld, runs: Runs, weft: Weft) -> None:
    ids = [begin(world, runs, f"{column}, {value[:20]}") for column, value in BAD]
    for run, (column, value) in zip(ids, BAD, strict=True):
        change(world, f"UPDATE weft_run SET {column} = ? WHERE id = ?", value, run)
    ids.append(begin(world, runs, "good"))
    for words in (("list",), ("list", "--format", "json")):
        code, out, err = weft("runs", *words)
        assert (code, [run for run in ids if run not in out]) == (0, []), err
    for run in ids:
        assert weft("runs", "show", run)[0] == 0
    assert len(load_recent_runs_of_file(str(world.user_dir), 10)) == len(ids)
    assert not (world.home / "elsewhere.starting").exists()


def test_a_question_or_a_worker_that_cannot_be_read_hides_no_other(world: RunsWorld, runs: Runs) -> None:
    good, bad = begin(world, runs, "good"), begin(world, runs, "bad")
    ask(runs, good)
    ask(runs, bad)
    change(world, "UPDATE weft_question SET event = '{' WHERE run = ?", bad)
    runs.store.roster.register_worker(make_worker("odd", "elsewhere", "no time"))
    asked = {one.run: one.choices for one in runs.store.questions()}
    assert asked == {good: ("once", "session", "always", "no"), bad: ("no",)}  # nobody knows what a yes would be to
    assert not start_worker(runs.store, "default", str(world.user_dir), {})


def test_a_run_goes_on_after_events_that_cannot_be_read(world: RunsWorld, runs: Runs) -> None:
    run = begin(world, runs, "go")
    rows = [EventRow(run, number, "1@a", event) for number, event in enumerate(BAD_EVENTS, start=1)]
    runs.store.write(rows, [], "here")
    sink = EventSink(runs.store, run)
    anyio.run(sink.open)
    sink.put(TextDelta(text="more"))
    assert [row.seq for row in sink.take()] == [len(rows) + 1]


class Planted:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_what_says_of_itself_that_it_is_a_pickle_is_not_unpickled(world: RunsWorld, runs: Runs, tmp_path: Path) -> None:
    run = begin(world, runs, "go")
    text = base64.b64encode(pickle.dumps(Planted(tmp_path / "planted"))).decode()
    columns = "workflow_uuid, function_id, function_name, output, serialization"
    query = f"INSERT INTO operation_outputs ({columns}) VALUES (?, 1, '1', ?, 'py_pickle')"
    change(world, query, f"{run}.1", text)
    assert len(runs.recorded(runs.store.get(run))) == 1
    assert not (tmp_path / "planted").exists()


def test_a_run_that_was_tried_again_while_somebody_thought_about_removing_it_keeps_its_steps(
    world: RunsWorld, runs: Runs
) -> None:
    again, gone = begin(world, runs, "again"), begin(world, runs, "gone")
    columns = "workflow_uuid, function_id, function_name, output, serialization"
    for run in (again, gone):
        change(world, f"INSERT INTO operation_outputs ({columns}) VALUES (?, 1, '1', '{{}}', 'weft_json')", f"{run}.1")
        runs.store.finish(run, 1, "failed")
    old = runs.find_old(0)
    assert {one.id for one in old} == {again, gone}
    runs.retry(again)
    runs.remove(old)
    assert [one.name for one in runs.recorded(runs.store.get(again))] == ["1"]
    assert [one.id for one in runs.store.list()] == [again]
    assert not runs.engine.recorded(gone, 1)


@pytest.mark.parametrize(
    "url", ["sqlite:///s3cret.db", "postgresql://u:s3cr@t@h", "postgresql:u:s3cret", "postgresql://u@h?password=s3cret"]
)
def test_an_address_that_cannot_be_used_is_not_shown_since_it_may_hold_a_password(url: str) -> None:
    with pytest.raises(ClawftError) as refused:
        make_url(RunsSettings(database=url), "/", {})
    assert "s3cr" not in f"{refused.value} {refused.value.hint}"
    assert "t@h" not in str(refused.value)


def test_what_cannot_be_written_down_is_said_when_a_run_is_started(world: RunsWorld, runs: Runs) -> None:
    with pytest.raises(ClawftError) as refused:
        runs.start(world.request("half \udcff a character"))
    assert refused.value.code == "run-not-text"
    assert (
        runs.store.get(runs.start(world.request("nothing \0 here"))).title == "nothing \N{REPLACEMENT CHARACTER} here"
    )


def test_a_database_of_somebody_else_does_not_count_as_away() -> None:
    wrong = sa.exc.ProgrammingError("SELECT", {}, Exception('column "kind" does not exist'))
    away = sa.exc.OperationalError("SELECT", {}, Exception("connection refused"))
    assert [(explain_failure(one).code, is_transient(explain_failure(one))) for one in (wrong, away)] == [
        ("runs-database", False),
        ("runs-unreachable", True),
    ]


def test_the_password_of_a_database_is_hidden_wherever_it_stands_in_its_address(world: RunsWorld, weft: Weft) -> None:
    config = world.user_dir / "config.toml"
    for url in ("postgresql://u:s3cret-of-it@h/d", "postgresql://u@h/d?sslmode=require&password=s3cret-of-it"):
        config.write_text(f'[runs]\ndatabase = "{url}"\n')
        assert "s3cret-of-it" not in "".join(map(str, weft("config", "show")))
        assert open_app(world.environ, str(world.project)).secrets.mask("s3cret-of-it") == "<secret>"


def test_a_run_that_is_to_be_ended_does_not_begin_to_wait(world: RunsWorld, runs: Runs) -> None:
    run = begin(world, runs, "go")
    ask(runs, run)
    runs.cancel(run)
    assert not runs.store.park(run, 1, ["1.0?1"])
    assert runs.store.get(run).status == "running"


def test_a_run_that_no_worker_could_be_started_for_is_named(world: RunsWorld) -> None:
    (world.user_dir / "logs").write_text("no folder")

    def start(*options: str) -> tuple[int, str, str]:
        command = (sys.executable, "-m", "clawft", "agent", "--background", "-m", "go", "--format", "json", *options)
        done = subprocess.run(
            command, cwd=world.project, env=world.environ, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout, done.stderr.partition(":")[0]

    code, out, err = start()
    with world.runs() as runs:
        assert (code, json.loads(out), err) == (0, {"run": runs.store.list()[0].id}, "error[worker-start]")
    code, out, err = start("--session", "../up")
    assert (code, json.loads(out)["error"]["code"], err) == (1, "session-key", "error[session-key]")


def test_runs_of_another_version_keep_no_worker_that_is_idle(world: RunsWorld, runs: Runs) -> None:
    other, _ = runs.start(world.request("other")), runs.start(world.request("own"))
    change(world, "UPDATE weft_run SET format = 'runs-2' WHERE id = ?", other)
    assert (runs.store.counts(), runs.store.counts("", "default")) == ({"queued": 2}, {"queued": 1})


def test_an_answer_is_for_the_question_that_was_seen_not_for_one_in_its_place(world: RunsWorld, runs: Runs) -> None:
    run = begin(world, runs, "go")
    event = ApprovalNeeded(call="1.0", tool="exec_shell", question="Run: ls")
    seen = runs.store.ask(PendingQuestion(run, "1.0?1", "approval", event, "2026-01-01T00:00:00.000Z"))
    runs.store.finish(run, 1, "failed")
    runs.retry(run, fresh=True)
    assert runs.store.begin(run, 2, "here")
    other = structs.replace(event, question="Run OUTSIDE the sandbox: rm x", dangerous=True)
    runs.store.ask(PendingQuestion(run, "1.0?1", "approval", other, now_text()))
    with pytest.raises(ClawftError) as refused:
        runs.answer(seen, "once")
    assert refused.value.code == "run-answered"
    runs.answer(runs.store.questions(run)[0], "no")
