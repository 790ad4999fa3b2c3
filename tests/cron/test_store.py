"""The jobs on disk: ids, damage, two writers, the log of runs, one scheduler."""

import fcntl
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from clawft.cron import Job, JobStore, Run, find_job, make_job, new_job_id
from clawft.cron import store as store_module
from clawft.cron.jobs import MAX_TEXT, Task
from clawft.errors import ClawftError, NotFound

NOW = datetime(2026, 6, 1, 10, 30, tzinfo=UTC)


def _job(text: str = "hello", name: str = "") -> Job:
    return make_job("@daily", Task(text), name=name, cwd="/", now=NOW, zone=UTC)


def _add(store: JobStore, *jobs: Job) -> None:
    store.change(lambda before: (*before, *jobs))


def test_1000_ids_are_unique() -> None:
    ids = {new_job_id() for _ in range(1000)}

    assert len(ids) == 1000
    assert all(one.startswith("job-") and len(one) == 40 for one in ids)


def test_jobs_are_read_as_they_were_written_and_only_by_their_owner(tmp_path: Path) -> None:
    store = JobStore(str(tmp_path))
    task = Task("a\nb", skill="x", agent="coder", model="m/n", session="s", yes=True)
    jobs = (_job(), make_job("every 2h", task, name="n", cwd="/tmp", now=NOW, zone=UTC))

    assert store.load() == ()
    _add(store, *jobs)

    assert JobStore(str(tmp_path)).load() == jobs
    assert stat.S_IMODE((tmp_path / "cron.json").stat().st_mode) == 0o600
    assert not list(tmp_path.glob(".cron-*"))


def test_a_job_has_a_session_of_its_own_or_a_new_one_each_time() -> None:
    own, shared = _job(), make_job("@daily", Task("x", session="work"), cwd="/", now=NOW, zone=UTC)
    fresh = make_job("@daily", Task("x", fresh=True), cwd="/", now=NOW, zone=UTC)

    assert own.session_key(NOW) == f"cron:{own.id}"
    assert shared.session_key(NOW) == "work"
    assert fresh.session_key(NOW) == f"cron:{fresh.id}:20260601T103000.000000Z"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"\xff", b'{"version": 2, "jobs": []}', b'{"version": 1, "jobs": [{}]}', b"[" * 100_000,
        b'{"version": 1, "jobs": [], "later": 1}',
    ],
)  # fmt: skip
def test_a_damaged_file_is_said_and_never_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cron.json"
    path.write_bytes(content)
    store = JobStore(str(tmp_path))

    for attempt in (store.load, lambda: _add(store, _job())):
        with pytest.raises(ClawftError) as caught:
            attempt()
        assert caught.value.code == "cron-damaged"
        assert caught.value.diagnostic.path == str(path)

    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("key", "value"), [("schedule", "often"), ("id", "x"), ("missed", -1), ("created", "2026-06-01")]
)
def test_a_job_that_was_edited_into_nonsense_is_damage_too(tmp_path: Path, key: str, value: object) -> None:
    job = {**msgspec.to_builtins(_job()), key: value}
    (tmp_path / "cron.json").write_bytes(msgspec.json.encode({"version": 1, "jobs": [job]}))

    with pytest.raises(ClawftError, match="cannot be read"):
        JobStore(str(tmp_path)).load()


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("keep")
    for name in ("cron.json", "cron-runs.jsonl", "cron.lock"):
        (tmp_path / name).symlink_to(elsewhere)
    store = JobStore(str(tmp_path))

    with pytest.raises(ClawftError):
        store.load()
    with pytest.raises(ClawftError):
        store.record(Run(job="job-x", status="ok"))

    assert elsewhere.read_text() == "keep"


def test_a_fifo_in_the_place_of_the_log_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "cron-runs.jsonl")

    with pytest.raises(ClawftError) as caught:
        JobStore(str(tmp_path)).record(Run(job="job-x", status="ok"))

    assert caught.value.code == "cron-unwritable"


def test_no_job_is_lost_when_many_are_added_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: _add(JobStore(str(tmp_path)), _job()), range(40)))

    assert len(JobStore(str(tmp_path)).load()) == 40


def test_a_lock_that_is_held_for_ever_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "LOCK_WAIT_S", 0.05)
    with (tmp_path / "cron.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        with pytest.raises(ClawftError) as caught:
            _add(JobStore(str(tmp_path)), _job())

    assert caught.value.code == "cron-locked"


def test_there_is_one_scheduler_at_a_time(tmp_path: Path) -> None:
    store, other = JobStore(str(tmp_path)), JobStore(str(tmp_path))

    assert not other.has_scheduler()
    with store.hold_scheduler():
        assert other.has_scheduler()
        with pytest.raises(ClawftError) as caught, other.hold_scheduler():
            pass
    assert caught.value.code == "cron-busy"
    assert not other.has_scheduler()


def test_a_scheduler_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    code = "from clawft.cron import JobStore\nwith JobStore('.').hold_scheduler():\n  print(1, flush=True)\n  input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert JobStore(str(tmp_path)).has_scheduler()
        process.kill()

    assert not JobStore(str(tmp_path)).has_scheduler()


def test_runs_are_lines_of_a_log(tmp_path: Path) -> None:
    store = JobStore(str(tmp_path))
    run = Run(job="job-x", due=NOW, started=NOW, finished=NOW, status="failed", exit_code=1, session="s", error="why")

    store.record(run)
    with (tmp_path / "cron-runs.jsonl").open("ab") as log:
        log.write(b'{"torn')
    store.record(Run(job="job-y", status="missed", missed=3))

    first, torn, last = (tmp_path / "cron-runs.jsonl").read_bytes().splitlines()
    assert msgspec.json.decode(first, type=Run) == run
    assert torn == b'{"torn'
    assert msgspec.json.decode(last) == {"job": "job-y", "status": "missed", "missed": 3}


def test_the_log_keeps_the_newest_runs_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_LOG_BYTES", 2000)
    monkeypatch.setattr(store_module, "KEPT_RUNS", 5)
    store = JobStore(str(tmp_path))

    for number in range(200):
        store.record(Run(job=f"job-{number}", status="ok"))

    lines = (tmp_path / "cron-runs.jsonl").read_bytes().splitlines()
    assert 5 <= len(lines) <= 60
    assert msgspec.json.decode(lines[-1])["job"] == "job-199"
    assert stat.S_IMODE((tmp_path / "cron-runs.jsonl").stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ClawftError) as caught:
        _add(JobStore(str(tmp_path / "none")), _job())

    assert caught.value.code == "cron-unwritable"


def test_a_job_is_found_by_id_start_or_name() -> None:
    jobs = (_job(name="backup"), _job(name="report"), _job(name="report"))

    assert find_job(jobs, jobs[1].id) is jobs[1]
    assert find_job(jobs, jobs[1].id[:20]) is jobs[1]
    assert find_job(jobs, jobs[1].id.removeprefix("job-")[:16]) is jobs[1]
    assert find_job(jobs, "backup") is jobs[0]
    with pytest.raises(NotFound) as caught:
        find_job(jobs, "report")
    assert caught.value.code == "job-ambiguous"
    assert jobs[1].id in caught.value.hint


def test_an_unknown_job_gets_the_close_match() -> None:
    jobs = (_job(name="backup"),)

    for text, hint in (("bakcup", "did you mean 'backup'? Run: weft cron list"), ("", "Run: weft cron list")):
        with pytest.raises(NotFound) as caught:
            find_job(jobs, text)
        assert (caught.value.code, caught.value.hint) == ("job-not-found", hint)


@pytest.mark.parametrize("text", ["x" * (MAX_TEXT + 1), "\ud800"])
def test_a_text_that_cannot_be_kept_is_refused(text: str) -> None:
    with pytest.raises(ClawftError) as caught:
        _job(text)

    assert caught.value.code == "cron-text"
