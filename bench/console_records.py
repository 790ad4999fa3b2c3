"""What a user of the console has on disk after a month: conversations, costs, runs that a worker did, decisions."""

import os
import subprocess
import sys
from contextlib import closing
from datetime import date, datetime, timedelta
from typing import Any

from clawft.agent.ledger import Ledger, Price
from clawft.agent.records import SkillStats, UsageDatabase
from clawft.agent.run_request import RunRequest
from clawft.agent.sessions import SessionStore
from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from clawft.config.agents import BudgetSettings
from clawft.messages import Message, ToolCall, Usage
from serve_world import ServeWorld

STEPS: list[dict[str, Any]] = [
    {
        "expect": "tidy",
        "text": "I sort the notes first.",
        "tool_calls": [{"name": "list_directory", "arguments": {"path": "."}}],
    },
    {"expect": "tidy", "text": "All notes are in their folders: 12 of May, 3 of June."},
    {
        "expect": "clean",
        "text": "This file is not needed.",
        "tool_calls": [{"name": "exec_shell", "arguments": {"command": "rm -r build/old"}}],
    },
    {"expect": "clean", "text": "It is gone."},
    {"expect": "publish", "error": {"code": "provider-failed", "message": "The provider did not answer"}},
    {"text": "Done: {asked}"},
]
_WORKER = (sys.executable, "-m", "clawft", "worker", "--until-idle")
_MODELS = (("claude/sonnet", Price(3.0, 15.0)), ("openai/mini", Price(0.4, 1.6)), ("local/m", None))


def fill_sessions(world: ServeWorld) -> None:
    """A conversation with skills, tools, and a summary; and some that are short."""
    store = SessionStore(str(world.user_dir / "sessions"))
    for number, asked in enumerate(("Which points are open?", "Write the minutes of Monday", "Translate the letter")):
        with store.open(f"cli:{number}", cwd=str(world.project)) as session:
            session.append(Message("user", asked), 1)
            session.append(Message("assistant", "Here it is."), 1)
            session.finish_turn(1, usage=Usage(800 + number, 90), model="local/m")
    call = ToolCall("c1", "grep", {"pattern": "OPEN", "path": "plan.txt"})
    wrong = ToolCall("c2", "exec_shell", {"command": "make deploy"})
    with store.open("release/planning", cwd=str(world.project)) as session:
        session.append(Message("user", "What is open for the release? Look into plan.txt."), 1)
        session.activate("plan", "Read plan.txt.", 1, scope="user", digest="sha256:1")
        session.append(Message("assistant", "Let me look.", tool_calls=(call,)), 1)
        session.append(Message("tool", "OPEN ship it (Ada)\nOPEN write the docs", tool_call_id="c1", name="grep"), 1)
        session.append(Message("assistant", "Two points are open:\n\n1. ship it: Ada has it.\n2. write the docs."), 1)
        session.finish_turn(1, usage=Usage(2_140, 180), model="claude/sonnet")
        session.append(Message("user", "Then ship it."), 2)
        session.append(Message("assistant", "", tool_calls=(wrong,)), 2)
        session.append(
            Message("tool", "denied: nobody allowed it", tool_call_id="c2", name="exec_shell", is_error=True), 2
        )
        session.append(Message("assistant", "I may not do that: nobody allowed it."), 2)
        session.finish_turn(2, usage=Usage(2_460, 60), model="claude/sonnet")


def fill_usage(world: ServeWorld) -> None:
    """A month of calls, fewer at weekends."""
    today = date.today()
    with closing(UsageDatabase(str(world.user_dir / "usage.sqlite"))) as records:
        for back in range(29, -1, -1):
            day = datetime.combine(today - timedelta(days=back), datetime.min.time())
            ledger = Ledger(records, BudgetSettings(), lambda day=day: day)  # type: ignore[misc]
            calls = (back * 7919) % 9 + 2 if day.weekday() < 5 else (back % 3)
            for number in range(calls):
                model, price = _MODELS[(number * number + back) % 3]
                used = Usage(9_000 + (back * 613 + number * 2_311) % 40_000, 300 + (number * 977 + back * 31) % 4_000)
                session = "release/planning" if number % 2 else f"cli:{number % 3}"
                ledger.settle(ledger.reserve(session, model, used, price), used, price)
        stats = SkillStats(records, datetime.now)
        for turn in range(24):
            loaded = [("plan", "release-notes", "weekly-report", "review-code")[turn * turn % 4]] if turn % 3 else []
            stats.record(("plan", "release-notes", "weekly-report", "review-code", "meeting-minutes"), loaded, 0.9)


def fill_runs(world: ServeWorld) -> None:
    """Runs as a worker did them: done, waiting for an answer, failed; one that was ended, one that is queued."""
    world.say(STEPS)
    world.write_config()
    cwd = str(world.project)
    with closing(open_app_runs(open_app(world.environ, cwd))) as runs:
        for text in ("tidy up my notes", "clean the build folder", "publish the report"):
            runs.start(RunRequest(kind="agent", cwd=cwd, project=cwd, text=text))
        subprocess.run(_WORKER, cwd=cwd, env=world.environ, capture_output=True, timeout=60, check=True)
        ended = runs.start(RunRequest(kind="agent", cwd=cwd, project=cwd, text="summarise the week"), queue="other")
        runs.cancel(ended)
        runs.start(RunRequest(kind="agent", cwd=cwd, project=cwd, text="translate the manual"), queue="other")


def fill_audit(world: ServeWorld) -> None:
    """Decisions of a day."""
    app = open_app(world.environ, str(world.project))
    told: dict[str, Any] = {"skill": "plan", "session": "release/planning"}
    app.audit.write("command", "grep OPEN plan.txt", decision="allowed", rule="read only", **told)
    app.audit.write("command", "make deploy", decision="denied", rule="nobody was there to ask", **told)
    app.audit.write("url", "https://rates.example.net/v1/today", decision="asked", skill="invoice-reader")
    app.audit.write("secret", "RATES_KEY", decision="used", skill="invoice-reader")
    app.audit.write("approval", f"skill {os.path.join(str(world.project), 'x')}", decision="revoked", rule="by hand")
