"""Stages of plugins in a run whose worker is killed: what they were asked before, they are not asked again."""

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
from clawft.cli.run_display import timeline_lines
from clawft.jobs.run_state import now_text
from clawft.server.views.runs import load_timeline
from warm import WarmPopen, run_warm
from world import World

ID = "org.example.stages"
# Every time it is asked it gives another answer, and writes that down.
COUNT = """
import os

class Stage:
    def __init__(self, name):
        self.name = self.phase = name

    def init(self, host):
        self.log = os.path.join(host.data_dir(), "asked")

    def process(self, context):
        with open(self.log, "a") as file:
            file.write(self.phase + "\\n")
        if self.phase == "pre_route":
            with open(self.log) as file:
                context.request["text"] += f" {len(file.readlines())}"

class Plugin(Plugin):
    def init(self, host):
        self.all = [Stage(name) for name in ("pre_route", "pre_transport", "post_transport")]
        for one in self.all:
            one.init(host)

    def parts(self):
        return self.all
"""
LOOK = {"tool_calls": [{"name": "list_directory", "arguments": {"path": "."}}]}


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_a_stage_is_asked_once_about_each_thing_however_often_a_run_is_begun(
    tmp_path: Path, child_env: dict[str, str]
) -> None:
    world = World(tmp_path / "world")
    env = child_env | {"HOME": str(world.home)}
    script, asked = tmp_path / "script.json", world.user_dir / "plugin-data" / ID / "asked"
    stages = [
        {"name": name, "phase": name, "on_failure": "stop"} for name in ("pre_route", "pre_transport", "post_transport")
    ]
    world.add_plugin(ID, COUNT, capabilities=["pipeline_stage"], stages=stages)
    (world.user_dir / "config.toml").write_text(
        f'[agents.defaults]\nmodel = "s/x"\n[providers.s]\nwire = "scripted"\nscript = "{script}"\n'
    )
    runs = open_app_runs(open_app(env, str(world.project)))
    try:
        script.write_text(json.dumps({"by_turn": True, "steps": [LOOK, {"text": "Done.", "delay_ms": 120_000}]}))
        run = runs.start(RunRequest(kind="agent", cwd=str(world.project), text="look", session="k"))
        command = [sys.executable, "-m", "clawft", "worker"]
        worker: WarmPopen[bytes] = WarmPopen(command, env=env, cwd=world.project, stderr=subprocess.DEVNULL)
        before = ["pre_route", "pre_transport", "pre_transport"]
        try:
            wait_for(lambda: asked.exists() and asked.read_text().split() == before)
        finally:
            worker.kill()
            worker.wait(60)
        script.write_text(json.dumps({"by_turn": True, "steps": [LOOK, {"text": "Done."}]}))
        run_warm([*command, "--until-idle"], env=env, cwd=world.project, check=True)
        assert runs.store.get(run).status == "done"
        # The second request was not answered, so it is made again; the first and the text are what they were.
        assert asked.read_text().split() == [*before, "pre_transport", "post_transport"]
        now = now_text()
        lines = timeline_lines(load_timeline(runs, runs.store.get(run), now), now, 160)
        assert any(f"stage {ID}:pre_route" in line for line in lines)
    finally:
        runs.close()
    kept = SessionStore(str(world.user_dir / "sessions")).read("k").messages
    assert [one.role for one in kept] == ["user", "assistant", "tool", "assistant"]
    assert kept[0].content == "look 1"
