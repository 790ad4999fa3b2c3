"""`weft cron`: add, list, remove and run, with the real `weft` for every run of a job."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clawft.cron import Job, JobStore

Weft = Callable[..., subprocess.CompletedProcess[str]]

SCRIPT = {
    "loop": True,
    "steps": [
        {"expect": "^slow", "delay_ms": 600_000, "text": "late"},
        {"expect": "^break", "error": {"code": "provider-failed", "message": "The model is down"}},
        {"expect": "Report on", "text": "The report."},
        {"text": "An answer."},
    ],
}


@pytest.fixture
def user_dir(tmp_path: Path, child_env: dict[str, str]) -> Path:
    """The user's folder, with a model that answers from a script."""
    folder = tmp_path / "home" / ".clawft"
    folder.mkdir()
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    (folder / "config.toml").write_text(
        f'[agents.defaults]\nmodel = "s/one"\n[providers.s]\nwire = "scripted"\nscript = "{folder / "script.json"}"\n'
    )
    return folder


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
    """Let every job be as if it had been added earlier, and no scheduler been there since."""

    def edit(jobs: tuple[Job, ...]) -> list[Job]:
        return [replace(one, created=one.created - by, next_due=one.next_due and one.next_due - by) for one in jobs]

    JobStore(str(user_dir)).change(edit)


def _move(user_dir: Path, job_id: str, at: datetime) -> None:
    """Let a job for one time have that time."""

    def edit(jobs: tuple[Job, ...]) -> list[Job]:
        moved = {"schedule": f"at {at.isoformat()}", "next_due": at}
        return [replace(one, **moved) if one.id == job_id else one for one in jobs]

    JobStore(str(user_dir)).change(edit)


def _log(user_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (user_dir / "cron-runs.jsonl").read_text().splitlines()]


def test_add_prints_the_id_and_the_next_three_times(weft: Weft) -> None:
    done = weft("cron", "add", "0 9 * * *", "-m", "Good morning", "--name", "morning", TZ="Europe/Berlin")

    assert done.returncode == 0
    assert done.stdout.startswith("job-")
    assert len(done.stdout) == 41
    times = done.stderr.splitlines()[0].removeprefix("next: ").split(", ")
    assert len(times) == 3
    assert all(one.endswith(" 09:00") for one in times)
    assert "No scheduler is running. Start it with: weft cron run" in done.stderr


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

    done = weft("cron", "list")
    (job,) = _jobs(weft)

    heads, row = done.stdout.splitlines()
    assert heads.split("  ")[0] == "ID"
    assert row.startswith(job_id[:12] + "  news: Look at the news  every 2h  ")
    assert "1 job; no scheduler is running" in done.stderr
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


def test_a_damaged_file_is_said_and_left_alone(weft: Weft, user_dir: Path) -> None:
    (user_dir / "cron.json").write_text('{"version": 1, "jobs": [')

    for command in (["add", "@daily", "-m", "x"], ["list"], ["remove", "x", "--yes"], ["run", "--once"], ["run"]):
        done = weft("cron", *command)
        assert done.returncode == 1
        assert "error[cron-damaged]" in done.stderr

    assert (user_dir / "cron.json").read_text() == '{"version": 1, "jobs": ['


def test_a_job_that_is_named_runs_now_in_its_own_session(weft: Weft, user_dir: Path) -> None:
    job_id = _add(weft, "@daily", "-m", "--what is new?", "--name", "news")

    for _ in range(2):
        done = weft("cron", "run", "news")
        assert (done.returncode, done.stdout) == (0, "An answer.\n"), done.stderr

    (session,) = json.loads(weft("sessions", "list", "--format", "json").stdout)["sessions"]
    assert (session["key"], session["turns"]) == (f"cron:{job_id}", 2)
    (job,) = _jobs(weft)
    assert (job["last_status"], job["missed"]) == ("ok", 0)
    assert [(run["status"], run["exit_code"], run["session"]) for run in _log(user_dir)] == [
        ("ok", 0, f"cron:{job_id}")
    ] * 2


def test_a_fresh_job_has_a_new_session_each_time(weft: Weft, user_dir: Path) -> None:
    _add(weft, "@daily", "-m", "hello", "--fresh", "--name", "f")

    weft("cron", "run", "f")
    weft("cron", "run", "f")

    sessions = json.loads(weft("sessions", "list", "--format", "json").stdout)["sessions"]
    assert [one["turns"] for one in sessions] == [1, 1]


def test_a_skill_runs_with_its_arguments_in_the_project_it_was_added_in(
    weft: Weft, project: Path, user_dir: Path, tmp_path: Path, child_env: dict[str, str]
) -> None:
    _write_skill(project)
    assert weft("skills", "trust", "--all", "--yes").returncode == 0
    job_id = _add(weft, "@daily", "--skill", "report", "--", "--week", "last one")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    done = subprocess.run(
        ["weft", "cron", "run", job_id, "--format", "json"],
        cwd=elsewhere, env=child_env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert (run["schema"], run["status"], run["text"]) == ("clawft.cron.run.v1", "ok", "The report.")
    shown = weft("sessions", "show", f"cron:{job_id}").stdout
    assert "--week 'last one'" in shown


def test_what_lies_in_the_project_is_not_taken_for_a_part_of_weft(weft: Weft, project: Path, user_dir: Path) -> None:
    for name in ("clawft", "click", "anyio", "msgspec"):
        (project / f"{name}.py").write_text("open('taken', 'w').close()\n")
    job_id = _add(weft, "@daily", "-m", "hello")

    done = weft("cron", "run", job_id)

    assert (done.returncode, done.stdout) == (0, "An answer.\n"), done.stderr
    assert not (project / "taken").exists()


def test_a_job_that_fails_says_why_and_gives_its_exit_code(weft: Weft, user_dir: Path) -> None:
    job_id = _add(weft, "@daily", "-m", "break it")

    done = weft("cron", "run", job_id)

    assert done.returncode == 1
    assert f"error[cron-failed]: {job_id} (failed): provider-failed: The model is down" in done.stderr
    assert f"hint: Run: weft sessions show cron:{job_id}" in done.stderr
    assert _jobs(weft)[0]["last_status"] == "failed"


def test_run_once_runs_what_is_due_and_leaves(weft: Weft, user_dir: Path) -> None:
    due = _add(weft, "every 1h", "-m", "hello")
    _set_back(user_dir, timedelta(hours=1, minutes=1))
    later = _add(weft, "every 1h", "-m", "not yet")

    done = weft("cron", "run", "--once")

    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    assert f"  {due}  ok  hello" in line
    jobs = {one["id"]: one for one in _jobs(weft)}
    assert (jobs[due]["last_status"], jobs[later]["last_status"]) == ("ok", None)
    assert datetime.fromisoformat(jobs[due]["next"]) > datetime.now(UTC)

    again = weft("cron", "run", "--once")
    assert (again.returncode, again.stdout) == (0, "")


def test_missed_runs_are_reported_and_not_stampeded(weft: Weft, user_dir: Path) -> None:
    often, once = _add(weft, "every 10m", "-m", "hello"), _add(weft, "at 2099-01-01T09:00Z", "-m", "too late")
    _set_back(user_dir, timedelta(hours=5, minutes=5))
    _move(user_dir, once, datetime.now(UTC).replace(microsecond=0) - timedelta(hours=2))
    before = {one["id"]: one for one in _jobs(weft)}
    assert (before[often]["missed"], before[once]["missed"], before[once]["last_status"]) == (29, 1, "missed")

    done = weft("cron", "run", "--once")

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert f"warning[cron-missed]: 29 runs of {often} were missed; it ran once for all of them" in done.stderr
    assert f"warning[cron-missed]: 1 run of {once} was missed; it waits for its next time" in done.stderr
    assert sorted((run["status"], run["missed"]) for run in _log(user_dir)) == [("missed", 1), ("ok", 29)]
    after = {one["id"]: one for one in _jobs(weft)}
    assert (after[often]["missed"], after[once]["missed"]) == (29, 1)
    assert (after[once]["enabled"], after[once]["next"]) == (False, None)
    assert "done" in weft("cron", "list").stdout


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGHUP, 0)])
def test_a_signal_ends_the_scheduler_and_what_it_runs(
    weft: Weft, project: Path, user_dir: Path, child_env: dict[str, str], number: int, code: int
) -> None:
    slow, quick = _add(weft, "every 1h", "-m", "slow one"), _add(weft, "every 1h", "-m", "quick one")
    _set_back(user_dir, timedelta(hours=1, minutes=1))
    with subprocess.Popen(
        ["weft", "cron", "run"], cwd=project, env=child_env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as scheduler:
        assert scheduler.stdout is not None
        assert f"{quick}  ok  quick one" in scheduler.stdout.readline()
        busy = weft("cron", "run", "--once")
        running = weft("cron", "list")
        scheduler.send_signal(number)
        out, err = scheduler.communicate(timeout=30)

    assert scheduler.returncode == code
    assert f"{slow}  interrupted  slow one" in out
    assert "the scheduler was ended" in err
    assert (busy.returncode, busy.stdout) == (1, "")
    assert "error[cron-busy]: Another scheduler is running" in busy.stderr
    assert "the scheduler is running" in running.stderr
    assert {one["id"]: one["last_status"] for one in _jobs(weft)} == {slow: "interrupted", quick: "ok"}
    assert not _children_of(slow)


def test_a_scheduler_goes_on_without_its_terminal_and_its_reader(
    weft: Weft, project: Path, user_dir: Path, child_env: dict[str, str]
) -> None:
    job_id = _add(weft, "every 1h", "-m", "quick one")
    _set_back(user_dir, timedelta(hours=1, minutes=1))
    with subprocess.Popen(
        ["nohup", "weft", "cron", "run"], cwd=project, env=child_env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as scheduler:  # fmt: skip
        assert scheduler.stdout is not None
        assert scheduler.stdout.readline()
        scheduler.stdout.close()
        scheduler.send_signal(signal.SIGHUP)
        _set_back(user_dir, timedelta(hours=1))  # due again; it sees that within seconds
        for _ in range(300):
            if len(_log(user_dir)) == 2:
                break
            with suppress(subprocess.TimeoutExpired):
                scheduler.wait(0.1)
        scheduler.terminate()
        scheduler.wait(30)

    assert scheduler.returncode == 0
    assert [(run["job"], run["status"]) for run in _log(user_dir)] == [(job_id, "ok")] * 2


def _children_of(job_id: str) -> list[str]:
    """Processes that still run a job."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True, timeout=60).stdout
    return [line for line in listed.splitlines() if f"cron:{job_id}" in line]


def _write_skill(project: Path, more: str = "") -> None:
    folder = project / ".clawft" / "skills" / "report"
    folder.mkdir(parents=True)
    text = f"---\nname: report\ndescription: Writes reports\n{more}---\n\nReport on $ARGUMENTS.\n"
    (folder / "SKILL.md").write_text(text)
