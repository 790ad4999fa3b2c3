"""A skill whose text runs commands, in a run that is killed: what it was told before is what it is told again."""

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
from warm import WarmPopen, run_warm

BODY = "The state is !`cat ${CLAUDE_PROJECT_DIR}/state`, see @notes.txt"
LOOK = {"tool_calls": [{"name": "list_directory", "arguments": {"path": "."}}]}


def write_script(path: Path, delay_ms: int) -> None:
    """A tool call, then an answer that takes its time."""
    steps = [LOOK, {"text": "All done.", "delay_ms": delay_ms}]
    path.write_text(json.dumps({"by_turn": True, "steps": steps}))


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_a_run_that_goes_on_elsewhere_reads_what_its_skill_said_before(
    tmp_path: Path, child_env: dict[str, str]
) -> None:
    user_dir, project = Path(child_env["HOME"], ".clawft"), tmp_path / "project"
    skill = user_dir / "skills" / "one"
    for folder in (skill, project):
        folder.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: one\ndescription: Does one.\n---\n\n{BODY}\n")
    write_script(tmp_path / "script.json", delay_ms=120_000)
    (user_dir / "config.toml").write_text(
        f'[agents.defaults]\nmodel = "s/x"\n[providers.s]\nwire = "scripted"\nscript = "{tmp_path}/script.json"\n'
        '[skills.security]\nallowed_command_prefixes = ["cat"]\nscan_on_load = false\n'
    )
    (project / "state").write_text("early")
    (project / "notes.txt").write_text("early notes")
    command = [sys.executable, "-m", "clawft", "worker"]
    runs = open_app_runs(open_app(child_env, str(project)))
    try:
        run = runs.start(RunRequest(kind="skill", cwd=str(project), skill="one", session="k"))
        worker: WarmPopen[bytes] = WarmPopen(command, env=child_env, cwd=project, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: len(runs.recorded(runs.store.get(run))) == 3)  # commands, answer, tool
        finally:
            worker.kill()
            worker.wait(60)
        store = SessionStore(str(user_dir / "sessions"))
        assert store.keys() == ()  # nothing of it is in a session before it is over
        write_script(tmp_path / "script.json", delay_ms=0)
        (project / "state").write_text("late")
        (project / "notes.txt").unlink()
        run_warm([*command, "--until-idle"], env=child_env, cwd=project, check=True)
        assert runs.store.get(run).status == "done"
    finally:
        runs.close()
    transcript = store.read("k")
    asked, *_, answered = transcript.messages
    assert "The state is early, see @notes.txt" in (asked.content or "")
    assert "early notes" in (asked.content or "")
    assert answered.content == "All done."
    assert [(turn.turn, turn.status, turn.run) for turn in transcript.turns] == [(1, "finished", run)]
    lines = map(json.loads, (user_dir / "audit.jsonl").read_text().splitlines())
    ran = [line["subject"] for line in lines if (line["kind"], line["decision"]) == ("command", "allowed")]
    assert len([subject for subject in ran if subject.startswith("cat ")]) == 1
