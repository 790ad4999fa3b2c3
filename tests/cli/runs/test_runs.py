"""`weft runs` on what a real worker did: to see, to answer, to end, to try again, to forget."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from clawft.app.app import open_app
from clawft.cli.doctor.services import check_runs
from clawft.jobs.database import RUN
from clawft.jobs.run_state import PendingQuestion, now_text
from clawft.messages import ApprovalNeeded

Call = Callable[..., tuple[int, str, str]]
MARKS = {"ok": "✓", "note": "!", "problem": "✗"}
KEYS = ("id", "status", "kind", "session", "started", "finished", "steps", "usage", "error")


def only(out: str) -> dict[str, Any]:
    document = json.loads(out)
    assert document["schema"] == "clawft.runs.v1"
    (one,) = document["runs"]
    assert isinstance(one, dict)
    return one


def test_all_about_runs_as_a_person_and_as_a_program_sees_them(world: Any, run: Call) -> None:
    works, asks, breaks = world.do("it works", "it asks", "it breaks")
    world.pretend_worker()

    code, out, err = run("list")
    lines = out.splitlines()
    assert (code, lines[0].split()) == (0, ["RUN", "STATUS", "KIND", "STEPS", "WHEN", "WHAT"])
    assert [line.split()[:2] for line in lines[1:] if not line.startswith(" ")] == [
        [breaks, "failed"],
        [asks, "waiting"],
        [works, "done"],
    ]
    assert "   └ It broke" in lines
    assert "   └ asks: Run: touch made.txt" in lines
    assert "3 runs: 1 waiting, 1 done, 1 failed\n" in err
    assert f"? Run: touch made.txt\n  weft runs answer {asks} once|session|always|no\n" in err

    listed = json.loads(run("list", "--format", "json")[1])["runs"]
    assert [one["status"] for one in listed] == ["failed", "waiting", "done"]
    assert set(KEYS) <= set(listed[0])
    assert listed[0]["error"] == {"code": "provider-failed", "message": "It broke", "hint": listed[0]["error"]["hint"]}
    assert listed[1]["questions"][0]["choices"] == ["once", "session", "always", "no"]
    assert listed[2]["usage"]["input_tokens"] > 0
    assert (listed[2]["error"], listed[2]["finished"] >= listed[2]["started"]) == (None, True)

    assert only(run("list", "--status", "waiting", "--format", "json")[1])["id"] == asks
    assert only(run("list", "--limit", "1", "--format", "json")[1])["id"] == breaks
    assert "1 run: 1 failed; 2 more with --limit 3" in run("list", "-n", "1")[2]
    assert run("list", "--kind", "scan")[2] == "No runs\n"

    shown = run("show", works)[1].splitlines()
    assert shown[:3] == [f"Run: {works}", "What: it works", "Status: done"]
    assert f"Project: {world.project}" in shown
    assert "All done." in shown
    at = next(number for number, line in enumerate(shown) if line.split()[:2] == ["AFTER", "TOOK"])
    assert [line.split()[-1] if "→" not in line else "model" for line in shown[at + 1 : at + 5]] == [
        "worker",
        "model",
        ".",
        "model",
    ]
    assert shown[at + 5].startswith("3 steps in ")

    one = only(run("show", asks, "--format", "json")[1])
    assert [entry["kind"] for entry in one["timeline"]] == ["queued", "model", "wait"]
    assert one["timeline"][-1]["status"] == "waiting"
    assert (one["totals"]["steps"], one["result"]) == (1, None)
    waiting = run("show", asks)[1]
    assert "? no answer yet: Run: touch made.txt" in waiting
    assert waiting.rstrip().endswith(f"weft runs answer {asks} once|session|always|no")
    failed = run("show", breaks)[1]
    assert "error[provider-failed]: It broke\nhint: This is what the script says\n" in failed
    assert failed.rstrip().endswith(f"weft runs retry {breaks}")

    code, out, err = run("watch", works)
    assert (code, out) == (0, "Looking. \nAll done.\n")
    assert err.startswith("· list_directory .\n")
    assert err.endswith(f"session: run:{works}\n")
    code, out, err = run("watch", breaks)
    assert (code, out) == (1, "")
    assert "error[provider-failed]: It broke\nhint: This is what the script says\n" in err
    events = [json.loads(line) for line in run("watch", works, "--format", "json")[1].splitlines()]
    assert [one["event"] for one in events if one["event"] != "CatalogShown"] == [
        "TurnStarted",
        "TextDelta",
        "UsageReported",
        "ToolStarted",
        "ToolFinished",
        "TextDelta",
        "UsageReported",
        "TurnFinished",
    ]

    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "clawft", "runs", "watch", works, "--format", "json"]
    gone = subprocess.run(
        words, cwd=world.project, env=world.environ, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writer)
    assert (gone.returncode, gone.stderr) == (0, b"")  # the reader has seen enough

    assert run("prune")[2] == "No run was over 30 days ago\n"
    code, _, err = run("prune", "--days", "0")
    assert (code, "error[needs-yes]: Removing 2 runs needs a yes" in err) == (3, True)
    assert run("prune", "--days", "0", "--status", "cancelled")[2] == "No run was over 0 days ago\n"
    removed = json.loads(run("prune", "--days", "0", "--status", "done", "--yes", "--format", "json")[1])["runs"]
    assert [one["id"] for one in removed] == [works]
    assert run("show", works)[0] == 1
    assert [one["id"] for one in json.loads(run("list", "--format", "json")[1])["runs"]] == [breaks, asks]
    with world.runs() as runs:
        assert runs.engine.recorded(works, 1) == []


def test_nothing_is_made_for_a_list_of_nothing(world: Any, run: Call) -> None:
    assert run("list") == (0, "", "No runs yet. Start one: weft agent --background -m TEXT\n")
    assert json.loads(run("list", "--format", "json")[1]) == {"schema": "clawft.runs.v1", "runs": []}
    assert not (world.user_dir / "runs").exists()


@pytest.mark.parametrize("verb", ["show", "watch", "answer", "cancel", "resume", "retry"])
def test_a_run_that_is_not_there_is_said(world: Any, run: Call, verb: str) -> None:
    code, _, err = run(verb, "nope", *(["no"] if verb == "answer" else []))
    assert code == 1
    assert err.startswith("error[run-not-found]: There is no run 'nope'\nhint: Run: weft runs list")


def test_a_run_is_answered_ended_gone_on_with_and_tried_again(world: Any, run: Call) -> None:
    asks, ended, breaks, works = world.do("it asks", "it asks too", "it breaks", "it works")
    world.pretend_worker()
    assert run("answer", asks, "maybe")[2].startswith("error[run-answer]: 'maybe' is no answer here\nhint: Say once, ")
    assert "error[run-question-not-found]" in run("answer", asks, "9.9?1", "once")[2]
    assert run("answer", asks, "a", "b", "c")[0] == 2
    one = only(run("answer", asks, "1.0?1", "once", "--format", "json")[1])
    assert (one["status"], one["questions"]) == ("queued", [])
    assert "is queued and asks nothing" in run("answer", asks, "once")[2]

    assert only(run("cancel", ended, "--format", "json")[1])["status"] == "cancelled"
    assert run("cancel", ended)[2] == f"{ended} was cancelled already\n"
    assert "is cancelled and asks nothing" in run("answer", ended, "once")[2]
    code, _, err = run("watch", ended)
    assert (code, err.rstrip().endswith(f"weft runs resume {ended}")) == (1, True)
    code, _, err = run("retry", ended)
    refused = f"error[run-status]: The run {ended} is cancelled, so it cannot be retried"
    assert (code, err.splitlines()) == (3, [refused, f"hint: Run: weft runs resume {ended}"])
    assert only(run("resume", ended, "--format", "json")[1])["status"] == "queued"
    assert run("resume", ended)[0] == 3

    assert run("retry")[0] == run("retry", breaks, "--failed")[0] == run("retry", breaks, "--fleet", "x")[0] == 2
    code, _, err = run("retry", works, breaks)
    assert code == 3
    assert f"error[run-status]: The run {works} is done" in err
    assert f"{breaks} is tried again, from its start. Follow it: weft runs watch {breaks}" in err
    assert run("retry", "--failed")[2] == "None failed\n"
    assert run("retry", works, "--fresh")[0] == 0

    world.do()
    world.pretend_worker()
    assert [world.get(one).status for one in (asks, ended, breaks, works)] == ["done", "waiting", "failed", "done"]
    assert (world.project / "made.txt").exists()
    code, out, err = run("watch", asks)
    assert (code, out) == (0, "I need a file.\nThere it is.\n")
    assert "? Run: touch made.txt\n" in err
    assert "\n  once, said " in err
    assert run("watch", works)[1] == "Looking. \nAll done.\n"
    again = only(run("show", works, "--format", "json")[1])
    assert (again["totals"]["steps"], {one["attempt"] for one in again["timeline"]}) == (3, {0, 2})
    assert only(run("retry", "--failed", "--format", "json")[1])["id"] == breaks


def test_a_grave_question_needs_a_person_to_allow_and_nobody_to_refuse(world: Any, run: Call) -> None:
    (asks,) = world.ask_for("it asks")
    world.pretend_worker()
    event = ApprovalNeeded(call="c", tool="exec_shell", question="Run it outside the sandbox?", dangerous=True)
    with world.runs() as runs:
        assert runs.store.begin(asks, 1, "here")
        for key in ("1.0?1", "1.1?1"):
            runs.store.ask(PendingQuestion(asks, key, "approval", event, now_text()))
        flight = ApprovalNeeded(call="c", tool="exec_shell", question="It was in flight", dangerous=True)
        runs.store.ask(PendingQuestion(asks, "1.2~w", "in-flight", flight, now_text()))
    code, _, err = run("answer", asks, "once")
    assert code == 3
    assert "? Run it outside the sandbox?\n" in err
    assert "error[needs-yes]" in err
    assert "hint: Only a person at a terminal can allow it" in err
    assert run("answer", asks, "session")[2].startswith("error[run-answer]")
    assert run("answer", asks, "1.2~w", "again")[0] == 3
    assert run("answer", asks, "no")[0] == 0
    assert run("answer", asks, "1.2~w", "skip")[0] == 0
    with world.runs() as runs:
        said = {one.key: one.answer for one in runs.store.questions(asks, open_only=False)}
    assert said == {"1.0?1": "no", "1.1?1": None, "1.2~w": "skip"}


def test_cancel_all_ends_what_is_queued_and_waits(world: Any, run: Call) -> None:
    ids = world.ask_for("it works", "it asks")
    world.pretend_worker()
    assert run("cancel")[0] == run("cancel", ids[0], "--all")[0] == 2
    assert run("cancel", "--all")[2] == "".join(f"{one} is cancelled\n" for one in reversed(ids))
    assert run("cancel", "--all")[2] == "Nothing runs\n"


def test_a_run_that_vanishes_while_it_is_watched_is_said(world: Any, run: Call) -> None:
    (first,) = world.ask_for("it works")
    world.pretend_worker()

    def remove() -> None:
        with world.runs() as runs, runs.database.begin() as connection:
            connection.execute(sa.delete(RUN))

    later = threading.Timer(0.3, remove)
    later.start()
    try:
        code, _, err = run("watch", first)
    finally:
        later.join()
    assert code == 1
    assert err.splitlines()[:2] == ["It waits for a worker", f"error[run-not-found]: There is no run '{first}'"]


def test_a_worker_that_cannot_be_started_is_said_beside_the_runs(world: Any, run: Call) -> None:
    (first,) = world.ask_for("it works")
    (world.user_dir / "logs").write_text("in the way")
    code, out, err = run("list")
    assert (code, out.splitlines()[1].split()[:2]) == (0, [first, "queued"])
    assert err.startswith("error[worker-start]: No worker could be started: ")
    assert "hint: Start one yourself: weft worker\n1 run: 1 queued\n" in err
    assert run("list", "--status", "done")[2].startswith("error[worker-start]"), "what is not listed is seen to as well"


def test_a_shell_is_offered_runs_without_what_does_them(world: Any) -> None:
    (first,) = world.ask_for("it works")
    script = (
        "import sys\nfrom clawft.cli import main\ntry:\n    main()\nfinally:\n"
        "    print(*sys.modules, file=sys.stderr)\n"
    )
    environ = {**world.environ, "_WEFT_COMPLETE": "bash_complete", "COMP_WORDS": "weft runs show ", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=world.project,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines() == [f"plain,{first}"]
    assert not {"dbos", "sqlalchemy"} & set(done.stderr.split())


def test_the_doctor_tells_who_does_runs_and_what_waits(world: Any) -> None:
    def lines() -> list[str]:
        found = check_runs(open_app(world.environ, str(world.project)))
        return [f"{MARKS[one.status]} {one.name}: {one.message}" for one in found]

    assert lines() == ["✓ runs: none yet; weft agent --background starts one"]
    _, asks = world.ask_for("it works", "it asks")
    assert lines() == ["✓ runs: 2 in a file, 2 under way, 0 workers", "! runs: 2 under way, and no worker"]
    world.pretend_worker()
    with world.runs() as runs:
        assert runs.store.begin(asks, 1, "here")
        event = ApprovalNeeded(call="c", tool="exec_shell", question="Run it?")
        runs.store.ask(PendingQuestion(asks, "1.0?1", "approval", event, now_text()))
    assert lines() == ["✓ runs: 2 in a file, 2 under way, 1 worker", "! runs: 1 question of runs waits for an answer"]
    file = world.user_dir / "runs" / "runs.sqlite"
    for one in file.parent.iterdir():
        one.unlink()
    file.write_bytes(b"no database at all" * 100)
    broken = lines()
    file.unlink()
    assert broken[0].startswith("✗ runs: The database of runs cannot be used: file is not a database")
