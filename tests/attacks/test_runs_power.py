"""A run that is begun again, as it is after each answer and each crash, can do no more than it could before."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import anyio
import sqlalchemy as sa
from msgspec import structs

from clawft.agent.run_request import RunRequest, TurnRequest
from clawft.app.app import open_app
from clawft.app.jobs import RunRuntimes
from clawft.cli.options import TurnOptions
from clawft.cli.turn import make_request
from clawft.jobs.run_state import PendingQuestion, Run, now_text
from clawft.jobs.runs import start_worker
from clawft.messages import ApprovalNeeded
from runs_world import RunsWorld

TOUCH = {"tool_calls": [{"name": "exec_shell", "arguments": {"command": "touch made.txt"}}]}
QUIET = {"tool_calls": [{"name": "Skill", "arguments": {"name": "quiet"}}]}
REMOVED = {"tool_calls": [{"name": "Skill", "arguments": {"name": "gone"}}]}
WRITE = {"tool_calls": [{"name": "write_file", "arguments": {"path": "said.txt", "content": "x"}}]}
MISSING = {"tool_calls": [{"name": "not_there", "arguments": {}}]}
BREAK = {"error": {"code": "provider-failed", "message": "It broke"}}


class Weak(RunsWorld):
    """A user without any sandbox, whose rules allow a command."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, [], runs="poll_s = 0.05\nlease_s = 1\n")
        config = self.user_dir / "config.toml"
        rules = '[sandbox]\nmode = "bubblewrap"\n[permissions]\nallow = ["Bash(touch:*)"]\ndeny = ["Write"]\n'
        config.write_text(rules + config.read_text())
        self.environ["PATH"] = str(self.home)

    def write_script(self, **steps: list[dict[str, Any]]) -> None:
        """What is answered to each message."""
        said = [{"expect": text, **step} for text, some in steps.items() for step in some]
        (self.user_dir / "script.json").write_text(json.dumps({"by_turn": True, "steps": said}))

    def work(self) -> None:
        worker = self.worker(4, "--until-idle")
        try:
            worker.wait(60)
        finally:
            worker.kill()
            worker.wait()

    def get(self, run: str) -> Run:
        with self.runs() as runs:
            return runs.store.get(run)


def test_what_was_allowed_and_what_limits_a_run_is_the_same_when_it_is_begun_again(tmp_path: Path) -> None:
    world = Weak(tmp_path)
    for name in ("quiet", "gone"):
        skill = world.user_dir / "skills" / name
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Looks.\nallowed-tools: Read\n---\n\nLook.\n")
    world.write_script(acts=[TOUCH], stays=[QUIET, BREAK], goes=[REMOVED, BREAK], denied=[WRITE, MISSING, BREAK])
    # Before a rule allowed the command, a person was asked, and said yes to that.
    first = ApprovalNeeded(call="call_1_1", tool="exec_shell", question="Run: touch made.txt", reason="mode ask")
    with world.runs() as runs:
        acts, stays, goes, denied = (runs.start(world.request(text)) for text in ("acts", "stays", "goes", "denied"))
        runs.store.ask(PendingQuestion(acts, "1.0?1", "approval", first, now_text()))
        runs.store.answer(acts, "1.0?1", "session", "me")
        odd = runs.start(world.request("acts"))
        with runs.database.begin() as connection:  # what the engine knows of it is damaged
            connection.execute(
                sa.text("UPDATE workflow_input SET inputs = '{' WHERE workflow_uuid = :id"), {"id": f"{odd}.1"}
            )
    world.work()
    assert (world.get(odd).status, getattr(world.get(odd).error, "code", "")) == ("failed", "run-unreadable")

    # The next question of the same call is another one.
    with world.runs() as runs:
        (asked,) = runs.store.questions(acts)
    without = "Run WITHOUT a sandbox: touch made.txt"
    assert (asked.key, asked.event.dangerous, asked.event.question) == ("1.0?2", True, without)
    assert world.get(acts).status == "waiting"

    # A skill that limits what a model may do limits it after a break too, and is not got rid of by removing it.
    assert [world.get(one).status for one in (stays, goes, denied)] == ["failed", "failed", "failed"]
    end = {"text": "end"}
    world.write_script(stays=[QUIET, TOUCH, end], goes=[REMOVED, TOUCH, end], denied=[WRITE, MISSING, end])
    config = world.user_dir / "config.toml"
    config.write_text(config.read_text().replace('deny = ["Write"]\n', ""))
    shutil.rmtree(world.user_dir / "skills" / "gone")
    with world.runs() as runs:
        runs.retry(stays)
        runs.retry(goes)
        runs.retry(denied)
    world.work()
    with world.runs() as runs:
        (refused,) = [one.value for one in runs.recorded(runs.store.get(stays)) if one.name == "2.0"]
    assert "the skill 'quiet' does not allow" in refused["result"]["error"]["message"]
    assert world.get(stays).status == "done"
    error = world.get(goes).error
    assert error is not None
    assert (error.code, "There is no skill 'gone'" in error.message) == ("run-skill-gone", True)
    assert not (world.project / "made.txt").exists()

    # What was refused, and what the model went on from, stays refused, though it would be allowed now.
    assert world.get(denied).status == "done"
    assert not (world.project / "said.txt").exists()


def test_a_run_is_done_with_the_settings_of_who_asked_for_it_whoever_started_the_worker(tmp_path: Path) -> None:
    world = Weak(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    careful = {"CLAWFT_AGENTS__DEFAULTS__MODE": "plan", "CLAWFT_PERMISSIONS__DENY": '["Write"]'}
    careless = {"CLAWFT_AGENTS__DEFAULTS__MODE": "full", "CLAWFT_PROJECT": str(elsewhere)}
    secret = {"CLAWFT_TOOLS__WEB__SEARCH__API_KEY": "s3cret", "CLAWFT_SKILLS__ENTRIES__X__ENV": '{"A": "s3cret"}'}

    def ask(environ: dict[str, str]) -> RunRequest:
        return make_request(open_app(environ, str(world.project)), TurnOptions(), TurnRequest("hello"))

    plain, asked = ask(world.environ), ask(world.environ | careful | secret)
    assert (plain.settings, asked.settings) == ({}, careful)

    # The environment of a worker that is started on demand has nothing of the run that it is started for.
    with world.runs() as runs:
        assert start_worker(runs.store, "default", str(world.user_dir), world.environ | careless | secret)
    pid = int((world.user_dir / "runs" / "default.starting").read_text())
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    finally:
        os.kill(pid, signal.SIGKILL)
    environ = dict(one.split("=", 1) for one in entries if one)
    assert environ == {**world.environ, **secret, "CLAWFT_PROJECT": str(elsewhere), "CLAWFT_HOME": str(world.user_dir)}

    async def find_modes() -> list[tuple[str, int, str]]:
        found = []
        runtimes = RunRuntimes(environ, lambda: None)
        for one in (asked, plain, structs.replace(plain, project="")):
            async with runtimes.open(one) as runtime:
                found.append((runtime.default_mode.value, len(runtime.rules.deny), runtime.workspace.project))
        await runtimes.close()
        return found

    here = str(world.project)
    assert anyio.run(find_modes) == [("plan", 2, here), ("auto-edit", 1, here), ("auto-edit", 1, here)]


def test_a_secret_that_somebody_says_is_not_written_down(tmp_path: Path) -> None:
    world = Weak(tmp_path)
    config = world.user_dir / "config.toml"
    config.write_text(f'{config.read_text()}[providers.o]\nwire = "openai"\napi_key = {{ env = "KEY" }}\n')
    app = open_app(world.environ | {"KEY": "sk-0123456789abcdef"}, str(world.project))
    turn = TurnRequest("my key is sk-0123456789abcdef", skill="x", words=("half \udcff", "sk-0123456789abcdef"))
    asked = make_request(app, TurnOptions(), turn)
    assert "sk-0123456789abcdef" not in f"{asked}"
    assert (asked.text[:10], asked.words[0]) == ("my key is ", "half ?")
