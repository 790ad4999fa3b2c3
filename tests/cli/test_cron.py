"""`weft cron`: add, list, remove and run, with real workers for every run of a job."""

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from warm import WarmPopen

Weft = Callable[..., subprocess.CompletedProcess[str]]

SCRIPT = {
    "loop": True,
    "steps": [
        {"expect": "^slow", "delay_ms": 600_000, "text": "late"},
        {"expect": "^ask", "tool_calls": [{"name": "exec_shell", "arguments": {"command": "touch made"}}]},
        {"expect": "^break", "error": {"code": "provider-failed", "message": "The model is down"}},
        {"expect": "Report on", "text": "The report."},
        {"text": "An answer."},
    ],
}


@pytest.fixture
def user_dir(tmp_path: Path, child_env: dict[str, str]) -> Iterator[Path]:
    """The user's folder, with a model that answers from a script; workers that were started on demand end with it."""
    folder = tmp_path / "home" / ".clawft"
    folder.mkdir()
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    (folder / "config.toml").write_text(
        '[agents.defaults]\nmodel = "s/one"\nmode = "ask"\n'
        f'[providers.s]\nwire = "scripted"\nscript = "{folder / "script.json"}"\n'
        "[memory]\nenabled = false\n[runs]\nlease_s = 1\npoll_s = 0.05\nidle_s = 1\n"
    )
    yield folder
    with suppress(sqlite3.OperationalError):
        for (pid,) in _query(folder, "SELECT pid FROM weft_worker"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def worker(user_dir: Path, project: Path, child_env: dict[str, str]) -> Iterator[None]:
    """A worker that does what is started; it is ready when it has something to do."""
    with WarmPopen[str](["weft", "worker"], cwd=user_dir, env=child_env, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert "takes from default" in process.stderr.readline()
            yield
        finally:
            process.kill()


def _query(user_dir: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{user_dir / 'runs' / 'runs.sqlite'}?mode=rw", uri=True)) as file, file:
        return file.execute(query, values).fetchall()


def _add(weft: Weft, *args: str) -> str:
    done = weft("cron", "add", *args)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _jobs(weft: Weft) -> list[dict[str, Any]]:
    document = json.loads(weft("cron", "list", "--format", "json").stdout)
    assert document["schema"] == "clawft.cron.list.v1"
    listed: list[dict[str, Any]] = document["jobs"]
    return listed


def _set_back(user_dir: Path, by: timedelta) -> None:
    """Let every job be as if it had been added earlier, and no worker been there since."""
    rows = _query(user_dir, "SELECT id, created, next_due FROM weft_job")
    for job, *moments in rows:
        earlier = [(datetime.fromisoformat(one) - by).isoformat(timespec="microseconds") for one in moments]
        written = [one.replace("+00:00", "Z") for one in earlier]
        _query(user_dir, "UPDATE weft_job SET created = ?, next_due = ? WHERE id = ?", *written, job)


def test_add_prints_the_id_and_the_next_three_times(weft: Weft) -> None:
    done = weft("cron", "add", "0 9 * * *", "-m", "Good morning", "--name", "morning", TZ="Europe/Berlin")

    assert done.returncode == 0
    assert done.stdout.startswith("job-")
    assert len(done.stdout) == 41
    times = done.stderr.splitlines()[0].removeprefix("next: ").split(", ")
    assert len(times) == 3
    assert all(one.endswith(" 09:00") for one in times)
    assert "No worker is running, so nothing starts when it is due. Start one: weft worker" in done.stderr


def test_add_as_json(weft: Weft, project: Path) -> None:
    document = json.loads(weft("cron", "add", "every 2h", "-m", "x", "--fresh", "--yes", "--format", "json").stdout)

    assert document["schema"] == "clawft.cron.add.v1"
    job = document["job"]
    assert (job["kind"], job["text"], job["cwd"], job["fresh"], job["yes"]) == (
        "message",
        "x",
        str(project),
        True,
        True,
    )
    assert len(job["times"]) == 3
    assert job["times"][0] == job["next"]


def test_list_says_what_runs_when_and_how_it_went(weft: Weft, user_dir: Path) -> None:
    job_id = _add(weft, "every 2h", "-m", "Look at the news", "--name", "news", "--agent", "coder", "--model", "s/two")

    done = weft("cron", "list", COLUMNS="100")
    (job,) = _jobs(weft)

    heads, row = done.stdout.splitlines()
    assert heads.split("  ")[0] == "ID"
    assert row.startswith(job_id[:12] + "  news: Look at the news  every 2h  ")
    assert "1 job\nNo worker is running, so nothing starts when it is due. Start one: weft worker\n" in done.stderr
    expected = {
        "id": job_id, "name": "news", "schedule": "every 2h", "kind": "message", "text": "Look at the news",
        "skill": None, "args": None, "agent": "coder", "model": "s/two", "session": f"cron:{job_id}",
        "enabled": True, "last_run": None, "last_status": None, "missed": 0,
    }  # fmt: skip
    assert {key: job[key] for key in expected} == expected
    assert datetime.fromisoformat(job["next"]) - datetime.fromisoformat(job["created"]) == timedelta(hours=2)


def test_no_jobs_are_no_error_and_leave_no_folder(weft: Weft, tmp_path: Path) -> None:
    done = weft("cron", "list")

    assert (done.returncode, done.stdout) == (0, "")
    assert "No jobs" in done.stderr
    assert not (tmp_path / "home" / ".clawft").exists()


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["often", "-m", "x"], 1, "error[cron-schedule]"),
        (["at 2001-01-01", "-m", "x"], 1, "'at 2001-01-01' is in the past"),
        (["@daily"], 2, "either -m TEXT or --skill NAME"),
        (["@daily", "-m", "x", "--skill", "y"], 2, "either -m TEXT or --skill NAME"),
        (["@daily", "-m", "  "], 2, "The message is empty"),
        (["every", "10m", "-m", "x"], 2, "Put the schedule in quotes"),
        (["@daily", "-m", "x", "--session", "s", "--fresh"], 2, "either a --session or a --fresh"),
        (["@daily", "-m", "x", "--name", "a\nb"], 2, "--name needs"),
        (["@daily", "-m", "x", "--queue", "a,b"], 2, "--queue needs"),
        (["@daily", "-m", "x", "--session", "../x"], 1, "error[session-key]"),
        (["@daily", "-m", "x", "--agent", "codr"], 1, "did you mean 'coder'?"),
        (["@daily", "-m", "x", "--model", "nobody/x"], 1, "error[provider-not-found]"),
        (["@daily", "--skill", "reprot"], 1, "did you mean 'report'? Run: weft skills list"),
    ],
)
def test_what_cannot_run_is_not_added(weft: Weft, project: Path, args: list[str], code: int, said: str) -> None:
    _write_skill(project)

    done = weft("cron", "add", *args)

    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert _jobs(weft) == []


def test_a_skill_that_nobody_may_start_now_is_added_with_a_note(weft: Weft, project: Path) -> None:
    _write_skill(project, "user-invocable: false\n")

    assert weft("skills", "trust", "--all", "--yes").returncode == 0

    done = weft("cron", "add", "@daily", "--skill", "report")

    assert done.returncode == 0
    assert "note: the skill 'report' is not for users to start now. Run: weft skills why report" in done.stderr


def test_a_yes_for_all_runs_of_a_job_is_a_line_of_the_audit_log(weft: Weft) -> None:
    assert weft("cron", "add", "every 2h", "-m", "asked").returncode == 0
    job_id = weft("cron", "add", "every 2h", "-m", "tidy up", "--yes").stdout.strip()
    (line,) = json.loads(weft("audit", "show", "--format", "json").stdout)["lines"]
    told = [line[name] for name in ("kind", "decision", "rule", "subject")]
    assert told == ["approval", "granted", "--yes", f"job {job_id} on every 2h: tidy up"]


def test_remove_needs_a_yes_where_nobody_can_be_asked(weft: Weft) -> None:
    job_id = _add(weft, "@daily", "-m", "x")

    refused = weft("cron", "remove", job_id)
    assert refused.returncode == 3
    assert "error[needs-yes]" in refused.stderr
    assert len(_jobs(weft)) == 1

    done = weft("cron", "remove", job_id[:16], "--yes", "--format", "json")
    assert json.loads(done.stdout) == {"schema": "clawft.cron.remove.v1", "removed": [job_id]}
    assert _jobs(weft) == []


@pytest.mark.parametrize(("answer", "code", "left"), [(b"y\n", 0, 0), (b"n\n", 1, 1)])
def test_remove_asks_on_a_terminal(
    weft: Weft, project: Path, child_env: dict[str, str], answer: bytes, code: int, left: int
) -> None:
    job_id = _add(weft, "@daily", "-m", "x")
    master, slave = pty.openpty()
    os.write(master, answer)
    try:
        done = subprocess.run(
            ["weft", "cron", "remove", job_id],
            cwd=project, env=child_env, stdin=slave, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(master)
        os.close(slave)

    assert done.returncode == code
    assert f"{job_id}: @daily: x" in done.stderr
    assert len(_jobs(weft)) == left


def test_an_unknown_job_is_an_error_with_the_close_match(weft: Weft) -> None:
    _add(weft, "@daily", "-m", "x", "--name", "backup")

    for command in (["remove", "bakcup", "--yes"], ["run", "bakcup"]):
        done = weft("cron", *command)
        assert done.returncode == 1
        assert "error[job-not-found]: No job 'bakcup'" in done.stderr
        assert "did you mean 'backup'? Run: weft cron list" in done.stderr


def test_without_the_extra_it_is_said_what_to_install(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)

    done = weft("cron", "add", "@daily", "-m", "x")

    assert done.returncode == 1
    assert "error[durable-missing]" in done.stderr
    assert "Install clawft[durable]" in done.stderr
    assert weft("cron", "list").returncode == 0


def test_a_job_that_is_named_runs_now_in_its_own_session(
    weft: Weft, project: Path, user_dir: Path, worker: None
) -> None:
    job_id = _add(weft, "@daily", "-m", "--what is new?", "--name", "news")

    for _ in range(2):
        done = weft("cron", "run", "news")
        assert (done.returncode, done.stdout) == (0, "An answer.\n"), done.stderr

    (session,) = json.loads(weft("sessions", "list", "--format", "json").stdout)["sessions"]
    assert (session["key"], session["turns"]) == (f"cron:{job_id}", 2)
    (job,) = _jobs(weft)
    assert (job["last_status"], job["missed"]) == ("ok", 0)
    assert job["run"] == _query(user_dir, "SELECT id FROM weft_run ORDER BY created DESC")[0][0]


def test_what_fails_and_what_asks_give_their_exit_codes(
    weft: Weft, project: Path, user_dir: Path, worker: None
) -> None:
    bad, asking = _add(weft, "@daily", "-m", "break it"), _add(weft, "@daily", "-m", "ask me")

    failed = weft("cron", "run", bad)
    waiting = weft("cron", "run", asking, "--format", "json")

    assert failed.returncode == 1
    assert f"error[cron-failed]: {bad} (failed): provider-failed: The model is down" in failed.stderr
    run = json.loads(waiting.stdout)
    assert (waiting.returncode, run["status"], run["job"]) == (3, "waiting", asking)
    assert f"hint: Run: weft runs show {run['run']}" in waiting.stderr
    assert {one["id"]: one["last_status"] for one in _jobs(weft)} == {bad: "failed", asking: "waiting"}
    assert (
        f"A run waits for an answer, and its job with it. Run: weft runs show {run['run']}"
        in weft("cron", "list").stderr
    )
    assert not (project / "made").exists()


def test_run_once_runs_what_is_due_by_a_worker_that_it_starts_and_leaves(
    weft: Weft, project: Path, user_dir: Path, child_env: dict[str, str]
) -> None:
    due = _add(weft, "every 10m", "-m", "hello")
    _set_back(user_dir, timedelta(hours=5, minutes=5))
    later = _add(weft, "every 1h", "-m", "not yet")
    assert [one["missed"] for one in _jobs(weft)] == [29, 0]

    for name in ("clawft", "click", "anyio", "msgspec"):  # what lies in a project is no part of weft
        (project / f"{name}.py").write_text("open('taken', 'w').close()\n")
    done = subprocess.run(
        ["weft", "cron", "run", "--once"],
        cwd=project, env=child_env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0
    assert done.stderr == f"warning[cron-missed]: 29 runs of {due} were missed; it runs once for all of them\n"
    (line,) = done.stdout.splitlines()
    assert f"  {due}  ok  hello" in line
    jobs = {one["id"]: one for one in _jobs(weft)}
    assert (jobs[due]["last_status"], jobs[due]["missed"], jobs[later]["last_status"]) == ("ok", 29, None)
    assert datetime.fromisoformat(jobs[due]["next"]) > datetime.now(UTC)
    again = weft("cron", "run", "--once")
    assert (again.returncode, again.stdout) == (0, "")
    assert not (project / "taken").exists()


def test_a_scheduler_tells_of_runs_and_a_signal_leaves_what_it_does_to_others(
    weft: Weft, project: Path, user_dir: Path, child_env: dict[str, str]
) -> None:
    slow, quick, asking = (_add(weft, "every 1h", "-m", one) for one in ("slow one", "quick one \x07", "ask me"))
    _set_back(user_dir, timedelta(hours=1, minutes=1))
    words = ["nohup", "weft", "cron", "run"]
    with subprocess.Popen(
        words, cwd=project, env=child_env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as scheduler:  # fmt: skip
        try:
            assert scheduler.stdout is not None
            told = sorted(scheduler.stdout.readline().split("  ", 1)[1] for _ in range(2))
            scheduler.send_signal(signal.SIGHUP)  # the terminal is gone, which nohup wants ignored
            running = weft("cron", "list")
            scheduler.send_signal(signal.SIGINT)
            heard: list[str] = []
            while "stopping: " not in "".join(heard):
                heard.append(next(scheduler.stderr or iter(())))
            scheduler.send_signal(signal.SIGINT)  # said twice, it does not wait for the model
            out, err = scheduler.communicate(timeout=60)
        finally:
            scheduler.kill()

    assert "\x07" not in "".join((*told, *heard))
    assert told == sorted([f"{quick}  ok  quick one \ufffd\n", f"{asking}  waiting  ask me\n"])
    assert (scheduler.returncode, out) == (130, "")
    assert "3 jobs; a worker starts what is due" in running.stderr
    ((run, status),) = _query(user_dir, "SELECT id, status FROM weft_run WHERE title = 'slow one'")
    assert f"{run} goes on when a worker is started: weft worker" in err
    assert status == "queued"
    assert {one["id"]: one["last_status"] for one in _jobs(weft)} == {
        slow: "running", quick: "ok", asking: "waiting",
    }  # fmt: skip


def test_a_scheduler_in_the_background_of_a_shell_ignores_ctrl_c_and_ends_when_it_is_asked_to(
    weft: Weft, project: Path, child_env: dict[str, str]
) -> None:
    with subprocess.Popen(
        ["sh", "-c", "trap '' INT; exec weft cron run"],
        cwd=project, env=child_env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as scheduler:  # fmt: skip
        try:
            while " takes from " not in next(scheduler.stderr or iter(())):
                pass
            scheduler.send_signal(signal.SIGINT)
            scheduler.send_signal(signal.SIGTERM)
            scheduler.communicate(timeout=60)
        finally:
            scheduler.kill()
    assert scheduler.returncode == 0, "which is 130 after SIGINT"


def test_who_waits_for_a_job_may_leave_and_the_run_goes_on(
    weft: Weft, project: Path, user_dir: Path, worker: None, child_env: dict[str, str]
) -> None:
    job_id = _add(weft, "@daily", "-m", "slow one")
    with WarmPopen[str](
        ["weft", "cron", "run", job_id], cwd=project, env=child_env, stderr=subprocess.PIPE, text=True
    ) as waiting:
        try:
            for _ in range(400):
                if _query(user_dir, "SELECT id FROM weft_run WHERE status = 'running'"):
                    break
                with suppress(subprocess.TimeoutExpired):
                    waiting.wait(0.1)
            waiting.send_signal(signal.SIGINT)
            _, err = waiting.communicate(timeout=60)
        finally:
            waiting.kill()

    ((run, status),) = _query(user_dir, "SELECT id, status FROM weft_run")
    assert (waiting.returncode, status) == (130, "running")
    assert err == f"{run} goes on in the background. Run: weft runs watch {run}\n"


def test_a_scheduler_that_nobody_listens_to_does_its_work(
    weft: Weft, project: Path, user_dir: Path, child_env: dict[str, str]
) -> None:
    _add(weft, "every 1h", "-m", "quick one")
    _set_back(user_dir, timedelta(hours=1, minutes=1))
    with WarmPopen[bytes](
        ["weft", "cron", "run"], cwd=project, env=child_env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as scheduler:
        try:
            assert scheduler.stdout is not None
            assert scheduler.stderr is not None
            scheduler.stdout.close()
            scheduler.stderr.close()
            for _ in range(400):
                if _jobs(weft)[0]["last_status"] == "ok" or scheduler.poll() is not None:
                    break
                with suppress(subprocess.TimeoutExpired):
                    scheduler.wait(0.1)
            assert (scheduler.poll(), _jobs(weft)[0]["last_status"]) == (None, "ok")
        finally:
            scheduler.kill()


def test_a_skill_runs_with_its_arguments_in_the_project_it_was_added_in(
    weft: Weft, project: Path, user_dir: Path, worker: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_skill(project)
    assert weft("skills", "trust", "--all", "--yes").returncode == 0
    job_id = _add(weft, "@daily", "--skill", "report", "--", "--week", "last one")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    monkeypatch.chdir(elsewhere)
    done = weft("cron", "run", job_id, "--format", "json")
    monkeypatch.chdir(project)

    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert (run["schema"], run["status"], run["text"]) == ("clawft.cron.run.v1", "ok", "The report.")
    shown = weft("sessions", "show", f"cron:{job_id}").stdout
    assert "--week 'last one'" in shown


def _write_skill(project: Path, more: str = "") -> None:
    folder = project / ".clawft" / "skills" / "report"
    folder.mkdir(parents=True)
    text = f"---\nname: report\ndescription: Writes reports\n{more}---\n\nReport on $ARGUMENTS.\n"
    (folder / "SKILL.md").write_text(text)
