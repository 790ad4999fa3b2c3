"""Hooks in a run whose worker is killed: what they heard before, they do not hear again."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from clawft.agent.run_request import RunRequest
from clawft.agent.sessions import SessionStore
from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from clawft.jobs.run_state import now_text
from clawft.server.views.runs import load_timeline
from warm import WarmPopen, run_warm
from world import World

BEFORE = [
    "session:start",
    "message:received",
    "agent:bootstrap",
    "message:preprocessed",
    "tool:before",
    "tool:after",
]
LOOK = {"tool_calls": [{"name": "list_directory", "arguments": {"path": "."}}]}


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_hooks_hear_of_each_thing_once_however_often_a_run_is_begun(tmp_path: Path, child_env: dict[str, str]) -> None:
    world = World(tmp_path / "world")
    env = child_env | {"HOME": str(world.home)}
    script, heard = tmp_path / "script.json", world.project / "heard"
    heard.touch()
    (world.user_dir / "config.toml").write_text(
        f'[agents.defaults]\nmodel = "s/x"\n[providers.s]\nwire = "scripted"\nscript = "{script}"\n'
        '[hooks.entries.count.permissions]\nwrite = ["heard"]\n'
    )
    told = "`${event.type}:${event.action}\\n`"
    body = f"Deno.writeTextFileSync(`${{context.workspaceDir}}/heard`, {told}, {{ append: true }});"
    world.add_hook("count", "agent message session tool", f"{body} event.messages.push(event.action);")
    runs = open_app_runs(open_app(env, str(world.project)))
    try:
        script.write_text(json.dumps({"by_turn": True, "steps": [LOOK, {"text": "Done.", "delay_ms": 120_000}]}))
        run = runs.start(RunRequest(kind="agent", cwd=str(world.project), text="look", session="k"))
        command = [sys.executable, "-m", "clawft", "worker"]
        worker: WarmPopen[bytes] = WarmPopen(command, env=env, cwd=world.project, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: len(runs.recorded(runs.store.get(run))) == len(BEFORE) + 2)  # an answer, and a tool
        finally:
            worker.kill()
            worker.wait(60)
        assert heard.read_text().split() == BEFORE
        script.write_text(json.dumps({"by_turn": True, "steps": [LOOK, {"text": "Done."}]}))
        run_warm([*command, "--until-idle"], env=env, cwd=world.project, check=True)
        assert runs.store.get(run).status == "done"
        assert heard.read_text().split() == [*BEFORE, "agent:stop", "message:sent"]
        shown = [
            entry for entry in load_timeline(runs, runs.store.get(run), now_text()).entries if entry.kind == "hook"
        ]
        assert [entry.name for entry in shown] == [*BEFORE, "agent:stop", "message:sent"]
        assert all(entry.ms for entry in shown)
    finally:
        runs.close()
    assert [one.role for one in SessionStore(str(world.user_dir / "sessions")).read("k").messages] == [
        "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
