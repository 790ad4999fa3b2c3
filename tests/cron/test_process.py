"""One run of a job, as a real process: what it is given, and what is made of how it ends."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from clawft.cron import Job, make_job
from clawft.cron.jobs import Task
from clawft.cron.process import Launcher, Outcome, job_words
from clawft.messages import TurnFailed, TurnFinished

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)


def _job(cwd: Path, text: str = "hello", **task: object) -> Job:
    return make_job("@daily", msgspec.convert({"text": text, **task}, Task), cwd=str(cwd), now=NOW, zone=UTC)


async def _run(job: Job, code: str, timeout_s: float = 30) -> Outcome:
    """Run a job with a program of Python in the place of `weft`."""
    launcher = Launcher((sys.executable, "-c", code), {"PATH": os.defpath, "KEPT": "yes"}, "/user", timeout_s)
    return await launcher.run(job, NOW)


def _event(event: TurnFinished | TurnFailed) -> str:
    return msgspec.json.encode(event).decode()


def test_a_message_is_read_from_a_pipe_whatever_it_holds(tmp_path: Path) -> None:
    job = _job(tmp_path, "--help", agent="coder", model="s/m", yes=True)

    words = job_words(job, "cron:x")

    assert words == [
        "agent",
        "--session=cron:x",
        "--format=json",
        "--agent=coder",
        "--model=s/m",
        "--yes",
        "--message=-",
    ]


def test_a_skill_gets_its_arguments_as_one_line(tmp_path: Path) -> None:
    words = job_words(_job(tmp_path, "--all 'a b'", skill="report"), "s")

    assert words == ["skills", "run", "--session=s", "--format=json", "--args=--all 'a b'", "--", "report"]


async def test_a_run_gets_its_folder_its_project_the_environment_and_the_message(tmp_path: Path) -> None:
    code = """if True:
        import json, os, sys
        seen = [os.getcwd(), sys.stdin.read(), *map(os.environ.get, ("CLAWFT_PROJECT", "CLAWFT_HOME", "KEPT"))]
        print('{"event": "TurnStarted", "turn": 1, "model": "m"}')
        print(json.dumps({"event": "TurnFinished", "text": json.dumps(seen), "session": "cron:own"}))"""

    outcome = await _run(_job(tmp_path, "what\nnow -"), code)

    assert (outcome.status, outcome.exit_code, outcome.session, outcome.error) == ("ok", 0, "cron:own", "")
    assert msgspec.json.decode(outcome.text) == [str(tmp_path), "what\nnow -", str(tmp_path), "/user", "yes"]


@pytest.mark.parametrize(
    ("code", "status", "exit_code", "error"),
    [
        ("raise SystemExit(0)", "ok", 0, ""),
        ("raise SystemExit(7)", "failed", 7, "it ended with exit code 7"),
        ("import os; os.kill(os.getpid(), 9)", "failed", -9, "it ended with signal 9"),
        ("import sys; sys.exit('error[no-agent]: None\\nhint: look')", "failed", 1, "error[no-agent]: None"),
        ("import sys; print('refused: rm: no', file=sys.stderr); sys.exit(3)", "refused", 3, "refused: rm: no"),
        ("import sys; print('no event'); sys.exit('x' * 9999)", "failed", 1, "x" * 500),
        ("raise SystemExit(130)", "interrupted", 130, "it ended with exit code 130"),
    ],
)  # fmt: skip
async def test_how_a_run_ends_is_its_status(tmp_path: Path, code: str, status: str, exit_code: int, error: str) -> None:
    job = _job(tmp_path)

    outcome = await _run(job, code)

    assert outcome == Outcome(status, exit_code, f"cron:{job.id}", "", error)  # type: ignore[arg-type]


async def test_a_turn_that_failed_says_why(tmp_path: Path) -> None:
    event = _event(TurnFailed(code="provider-refused", message="No key", session="s"))

    outcome = await _run(_job(tmp_path), f"print({event!r}); raise SystemExit(1)")

    assert (outcome.status, outcome.session, outcome.error) == ("failed", "s", "provider-refused: No key")


async def test_an_answer_that_was_refused_something_is_refused(tmp_path: Path) -> None:
    event = _event(TurnFinished(text="I could not", session="s"))

    outcome = await _run(_job(tmp_path), f"print({event!r}); raise SystemExit(3)")

    assert (outcome.status, outcome.text) == ("refused", "I could not")


async def test_output_without_end_is_no_answer(tmp_path: Path) -> None:
    outcome = await _run(_job(tmp_path), "while True: print('{' * 65536)")

    assert (outcome.status, outcome.text) == ("failed", "")


async def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    outcome = await _run(_job(tmp_path), "import threading; threading.Event().wait()", timeout_s=0.2)

    assert (outcome.status, outcome.error) == ("timeout", "ended after 0.2 seconds")


async def test_a_folder_that_is_gone_is_a_failure_of_the_run(tmp_path: Path) -> None:
    outcome = await _run(_job(tmp_path / "gone"), "pass")

    assert (outcome.status, outcome.exit_code) == ("failed", None)
    assert outcome.error == f"its folder {tmp_path / 'gone'} is gone"


async def test_what_cannot_be_started_is_a_failure_of_the_run(tmp_path: Path) -> None:
    missing = await Launcher(("/nowhere/weft",), {}, "/user").run(_job(tmp_path), NOW)
    zero = await _run(_job(tmp_path, "a\x00b", skill="x"), "pass")

    assert missing.error.startswith("it cannot be started: ")
    assert zero.error == "it cannot be started: embedded null byte"
