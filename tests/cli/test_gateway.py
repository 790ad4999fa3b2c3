"""`weft gateway` before anything runs: what it says of channels, and of how things stand."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.agent.run_request import RunRequest
from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from clawft.app.plugins import load_found, open_grants
from clawft.cli.worker import make_worker_log
from clawft.jobs.channels.inbox import Inbox, render_channel_answer
from clawft.jobs.channels.store import ChannelOutbox, ChannelStatuses
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.plugins import make_grant
from gateway_desk import message

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def config(tmp_path: Path) -> Callable[[str], None]:
    folder = tmp_path / "home" / ".clawft"
    folder.mkdir(parents=True, exist_ok=True)

    def write(text: str) -> None:
        (folder / "config.toml").write_text(text)

    return write


def add_plugin(tmp_path: Path, *, granted: bool, channel: str = "line", env_vars: tuple[str, ...] = ()) -> None:
    folder = tmp_path / "home" / ".clawft" / "plugins" / channel
    folder.mkdir(parents=True)
    manifest = {
        "id": f"test.{channel}",
        "name": channel,
        "version": "1.0.0",
        "capabilities": ["channel"],
        "channels": [channel],
        "permissions": {"env_vars": env_vars},
    }
    (folder / "plugin.py").write_text("")
    (folder / "clawft.plugin.json").write_text(json.dumps(manifest))
    app = open_app({"HOME": str(tmp_path / "home")}, str(tmp_path))
    found = next(one for one in load_found(app) if one.id == f"test.{channel}")
    assert found.manifest is not None
    if granted:
        digest = compute_digest(found.folder).value
        open_grants(app).record(make_grant(found, digest, found.manifest.permissions))


def test_without_a_channel_it_says_how_to_get_one(weft: Weft) -> None:
    done = weft("gateway")
    assert done.returncode == 1
    assert done.stderr == (
        "error[gateway-no-channel]: No channel is configured, so there is nothing to run\n"
        "hint: Add one: see weft help gateway\n"
    )


def test_a_projects_config_has_no_say(weft: Weft, project: Path) -> None:
    (project / ".clawft").mkdir()
    (project / ".clawft" / "config.toml").write_text('[gateway.channels.line]\nallow = ["*"]\n')
    assert "gateway-no-channel" in weft("gateway", "--check").stderr


def test_check_says_what_would_run_and_who_may_write(weft: Weft, config: Callable[[str], None], tmp_path: Path) -> None:
    add_plugin(tmp_path, granted=True)
    add_plugin(tmp_path, granted=False, channel="other")
    config(
        '[gateway.channels.line]\nallow = ["ann"]\n[gateway.channels.other]\n'
        "[gateway.channels.lin]\n[gateway.channels.cron]\n[gateway.channels.off]\nenabled = false\n"
    )
    done = weft("gateway", "--check", "--format", "json")
    channels = {one["name"]: one for one in json.loads(done.stdout)["channels"]}
    assert done.returncode == 0
    assert [name for name, one in channels.items() if one["runs"]] == ["line"]
    assert (channels["line"]["allow"], channels["line"]["mode"]) == (["ann"], "ask")
    said = {name: one["problem"]["message"] for name, one in channels.items() if one["problem"]}
    assert said["lin"] == "No plugin brings a channel 'lin'"
    assert said["cron"] == "No channel may be called 'cron': sessions of another kind are named so"
    assert said["other"].startswith("The plugin 'test.other' is untrusted")
    shown = weft("gateway", "--check")
    assert "line  runs, by the plugin test.line" in shown.stdout
    assert "30 messages of one sender in 60 s (fixed_window)" in shown.stdout
    assert "did you mean 'line'?" in shown.stderr


def test_check_names_the_variables_that_a_channel_was_granted_and_that_have_no_value(
    weft: Weft, config: Callable[[str], None], tmp_path: Path
) -> None:
    add_plugin(tmp_path, granted=True, env_vars=("LINE_TOKEN",))
    config('[gateway.channels.line]\nallow = ["ann"]\n')
    done = weft("gateway", "--check")

    assert done.returncode == 0  # it may do without
    assert "It asks for LINE_TOKEN, which has no value" in done.stderr
    assert "weft plugins env test.line LINE_TOKEN" in done.stderr
    (described,) = json.loads(weft("gateway", "--check", "--format", "json").stdout)["channels"]
    assert [one["code"] for one in described["notes"]] == ["plugin-env-missing"]
    assert "LINE_TOKEN" not in weft("gateway", "--check", LINE_TOKEN="x").stderr


def test_a_channel_whose_agent_is_not_there_is_not_run(
    weft: Weft, config: Callable[[str], None], tmp_path: Path
) -> None:
    add_plugin(tmp_path, granted=True)
    config('[gateway.channels.line]\nagent = "nobody"\n')
    done = weft("gateway")
    assert done.returncode == 1
    assert "No agent 'nobody'" in done.stderr
    assert "None of the channels that are configured can run" in done.stderr


def test_status_without_anything(weft: Weft) -> None:
    done = weft("gateway", "status", "--format", "json")
    assert json.loads(done.stdout) == {
        "schema": "clawft.jobs.channels-status.v1",
        "running": False,
        "pid": 0,
        "channels": [],
        "failures": [],
    }
    assert weft("gateway", "status").stderr == "No gateway runs. Start it: weft gateway\n"


def test_status_tells_what_waits_and_what_went_wrong(weft: Weft, config: Callable[[str], None], tmp_path: Path) -> None:
    config("[gateway.channels.line]\n")
    runs = open_app_runs(open_app({"HOME": str(tmp_path / "home")}, str(tmp_path)))
    try:
        _ = runs.engine
        inbox, outbox, board = Inbox(runs.store, ["line"]), ChannelOutbox(runs.database), ChannelStatuses(runs.database)
        board.claim("line", "test.line", "w")
        board.note("line", "w", "failed", refused=3, error="The other side\x1b[2J hung up")
        for number in range(3):
            inbox.accept("line", message(number, f"c{number}"), 9)
        inbox.start(lambda _: RunRequest(kind="gateway", cwd="/"), "q")
        for run in runs.store.list()[:2]:
            runs.cancel(run.id)
        inbox.settle([render_channel_answer(one) for one in inbox.ended()])
        outbox.give_up(outbox.claim("line", (), 1, 0)[0].seq, "nobody is there")
    finally:
        runs.close()
    done = weft("gateway", "status", "--format", "json")
    (channel,) = json.loads(done.stdout)["channels"]
    wanted = {"state": "stopped", "waiting": 1, "failed": 2, "to_send": 1, "given_up": 1, "refused": 3}
    assert {name: channel[name] for name in wanted} == wanted
    shown = weft("gateway", "status")
    assert "hung up" in shown.stderr
    assert "\x1b" not in shown.stderr + shown.stdout
    assert "by line: nobody is there" in shown.stderr


def test_doctor_tells_of_channels_that_are_not_run_and_of_those_nobody_may_use(
    weft: Weft, config: Callable[[str], None], tmp_path: Path
) -> None:
    add_plugin(tmp_path, granted=True)
    add_plugin(tmp_path, granted=True, channel="other")
    config('[gateway.channels.line]\nallow = ["ann"]\n[gateway.channels.other]\n[gateway.channels.third]\n')
    checks = json.loads(weft("doctor", "--format", "json").stdout)["checks"]
    said = [(one["status"], one["message"]) for one in checks if one["name"] == "gateway"]
    assert said == [
        ("note", "Nobody may write by 'other'"),
        ("note", "No plugin brings a channel 'third'"),
        ("ok", "line; the gateway does not run"),
    ]


def test_what_is_told_to_nobody_any_more_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as left:
        monkeypatch.setattr(sys, "stdout", left)
        tell = make_worker_log("clawft.gateway.v1")
        tell("line  starting", {"channel": "line", "event": "starting"})
        tell("stopped")
        monkeypatch.undo()
