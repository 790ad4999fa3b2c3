"""`weft serve`: what it says, what it refuses, and how it ends."""

import json
import os
import pty
import signal
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from serve_world import ServeWorld
from warm import run_warm

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def world(tmp_path: Path) -> ServeWorld:
    return ServeWorld(tmp_path / "served")


def ask(world: ServeWorld, *words: str) -> subprocess.CompletedProcess[str]:
    """`weft serve …` of the user whose daemon runs."""
    command = ["weft", "serve", *words]
    return run_warm(command, cwd=world.project, env=world.environ)


def test_a_daemon_is_not_opened_to_a_network_by_accident(weft: Weft, tmp_path: Path) -> None:
    done = weft("serve", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 3
    assert "error[serve-plain-http]" in done.stderr
    assert "--plain-http" in done.stderr
    config = tmp_path / "home" / ".clawft" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    for text, code in (
        ('tls_cert = "/nowhere/cert.pem"', "serve-tls"),
        ('tls_cert = "/nowhere/cert.pem"\ntls_key = "/nowhere/key.pem"', "serve-tls"),
        ('public_url = "skills.example.com"', "serve-address"),
        ('token = "short"', "serve-token"),
        ('host = "nowhere.invalid"\npublic_url = "https://a.example"', "serve-address"),
    ):
        config.write_text(f"[serve]\n{text}\n")
        done = weft("serve", "--port", "0")
        assert done.returncode == 1
        assert f"error[{code}]" in done.stderr, done.stderr


def test_a_port_that_is_taken_is_said(weft: Weft) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        done = weft("serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert "error[serve-address]" in done.stderr
    assert "--port 0" in done.stderr


def test_one_that_runs_says_where_it_is_and_how(world: ServeWorld) -> None:
    assert "No daemon of yours runs" in ask(world, "status").stderr
    world.add_skill("tides")
    with world.serve() as daemon:
        assert stat.S_IMODE(os.stat(world.user_dir / "serve-token").st_mode) == 0o600
        listening = daemon.log[0]
        assert (listening["schema"], listening["event"], listening["pid"]) == (
            "clawft.serve.v1",
            "listening",
            daemon.process.pid,
        )
        assert daemon.token not in json.dumps(daemon.log)
        told = json.loads(ask(world, "status", "--format", "json").stdout)
        assert (told["running"], [one["url"] for one in told["daemons"]]) == (True, [daemon.url])
        assert told["daemons"][0]["status"]["you"] == "owner"
        assert f"process {daemon.process.pid}" in ask(world, "status").stdout
        assert ask(world, "url").stdout.strip() == f"{daemon.url}/#token={daemon.token}"
        again = ask(world, "--port", daemon.url.rpartition(":")[2])
        assert again.returncode == 1
        assert f"error[serve-running]: A daemon of yours listens there already: {daemon.url}" in again.stderr
    assert daemon.process.returncode == 0
    assert [one["event"] for one in daemon.log if "event" in one][-2:] == ["stopping", "stopped"]
    assert daemon.errors == []
    assert ask(world, "url").returncode == 1
    assert [*(world.user_dir / "serve").iterdir()] == []


def test_the_console_is_opened_by_a_page_of_the_users_own(world: ServeWorld, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\necho "$1" > {opened}.new\ncat "${{1#file://}}" >> {opened}.new\nmv {opened}.new {opened}\n'
    )
    browser.chmod(0o755)
    world.environ["BROWSER"] = f"{browser} %s"
    with world.serve("--open") as daemon:
        until = time.monotonic() + 20
        while not opened.exists():
            assert time.monotonic() < until
            time.sleep(0.01)
        said, page = opened.read_text().splitlines()
        assert daemon.token not in said  # what others could see
        assert f"{daemon.url}/#token={daemon.token}" in page
    assert [*(world.user_dir / "serve").iterdir()] == []


def test_a_token_is_made_and_removed_while_the_daemon_runs(world: ServeWorld) -> None:
    with world.serve("--quiet") as daemon, httpx2.Client(base_url=daemon.url, trust_env=False, verify=False) as client:
        made = json.loads(ask(world, "token", "new", "ci", "--scope", "read", "--format", "json").stdout)
        headers = {"Authorization": f"Bearer {made['token']}"}
        assert client.get("/api/v1/status", headers=headers).json()["you"] == "ci"
        listed = ask(world, "token", "list")
        assert "ci" in listed.stdout
        assert made["token"] not in listed.stdout
        assert ask(world, "token", "remove", "ci").returncode != 0  # nobody is there to ask
        assert ask(world, "token", "remove", "ci", "--yes").returncode == 0
        assert client.get("/api/v1/status", headers=headers).status_code == 401
        assert [one for one in daemon.log if one.get("event") == "request"] == []


def test_a_second_signal_cuts_work_short(world: ServeWorld) -> None:
    world.config += "[serve]\ndrain_s = 60\n"
    world.say([{"text": "late", "delay_ms": 60_000}])
    with (
        world.serve() as daemon,
        httpx2.Client(base_url=daemon.url, trust_env=False, verify=False, timeout=30) as client,
    ):
        headers = {"Authorization": f"Bearer {daemon.token}", "Accept": "text/event-stream"}
        with client.stream("POST", "/api/v1/chat", json={"text": "hello"}, headers=headers) as answer:
            lines = answer.iter_lines()
            next(lines)
            daemon.process.send_signal(signal.SIGINT)
            daemon.wait_for("stopping")
            daemon.process.send_signal(signal.SIGINT)
            assert daemon.process.wait(20) == 0
        assert daemon.errors == [], "\n".join(daemon.errors)


@pytest.mark.soak
def test_a_long_scan_does_not_hold_the_end_up(world: ServeWorld, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.mkdir()
    for number in range(200):
        (large / f"{number}.py").write_text("import os\n" + "x = os.environ.get('A') or 'b'\n" * 2_000)
    with (
        world.serve() as daemon,
        httpx2.Client(base_url=daemon.url, trust_env=False, verify=False, timeout=60) as client,
    ):
        headers = {"Authorization": f"Bearer {daemon.token}"}
        asking = threading.Thread(
            target=lambda: client.post("/api/v1/scan", json={"path": str(large)}, headers=headers)
        )
        asking.start()
        time.sleep(1)
        began = time.monotonic()
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(60) == 0
        assert time.monotonic() - began < 15
        asking.join()


def test_a_signal_before_it_is_ready_ends_it_at_once(world: ServeWorld) -> None:
    world.write_config()
    for number in range(200):  # which are scanned first
        (world.add_skill(f"skill-{number}") / "run.py").write_text(f"import os\n\nprint(os.getcwd(), {number})\n" * 50)
    command = ["weft", "serve", "--port", "0", "--format", "json"]
    with subprocess.Popen(command, cwd=world.project, env=world.environ, stdout=subprocess.PIPE, text=True) as process:
        places, children = world.user_dir / "serve", Path(f"/proc/{process.pid}/task")
        until = time.monotonic() + 30
        while not any(one.read_text() for one in children.glob("*/children")):  # those that scan
            assert time.monotonic() < until
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        told, _ = process.communicate(timeout=15)
        assert (process.returncode, list(places.glob("*.json"))) == (-signal.SIGTERM, [])
        assert [json.loads(line)["event"] for line in told.splitlines()] == ["stopped"]


def test_the_address_with_the_token_is_shown_to_a_person_alone(world: ServeWorld) -> None:
    world.write_config()
    controller, terminal = pty.openpty()
    command = ["weft", "serve", "--port", "0"]
    process = subprocess.Popen(command, cwd=world.project, env=world.environ, stdout=terminal, stderr=subprocess.PIPE)
    os.close(terminal)
    try:
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(controller, 1_000)
        token = (world.user_dir / "serve-token").read_text().strip()
        assert line.decode().strip().endswith(f"/#token={token}")
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
        os.close(controller)
    assert token.encode() not in said
    assert process.returncode == 0


def test_which_daemons_run_is_told_with_settings_that_cannot_be_read(world: ServeWorld) -> None:
    world.add_skill("tides")
    with (
        world.serve() as daemon,
        httpx2.Client(base_url=daemon.url, trust_env=False, verify=False, timeout=30) as client,
    ):
        with open(world.user_dir / "config.toml", "a") as file:
            file.write("wat = = 1\n")
        assert ask(world, "url").stdout.strip() == f"{daemon.url}/#token={daemon.token}"
        assert ask(world, "url", "--port", "1").returncode == 1
        headers = {"Authorization": f"Bearer {daemon.token}"}
        assert client.post("/api/v1/skills/tides/execute", json={}, headers=headers).json()["status"] == "done"
        told = ask(world, "status")
        assert (told.returncode, "The config cannot be parsed" in told.stdout) == (1, True)
        health = client.get("/healthz", headers=headers)
        assert (health.status_code, health.json()["ok"]) == (200, True)
        assert health.json()["subsystems"]["skills"]["problem"]["code"] == "config-invalid"
        (failed,) = [one for one in daemon.log if one["event"] == "reload-failed"]
        assert failed["code"] == "config-invalid"
        world.write_config()
        assert ask(world, "status").returncode == 0


@pytest.mark.soak
def test_one_that_ends_says_so(world: ServeWorld) -> None:
    world.config += '[serve]\ndrain_s = 60\npublic_url = "https://weft.example.com"\n'
    world.say([{"text": "late", "delay_ms": 60_000}])
    with world.serve() as daemon:
        listening = daemon.log[0]
        assert (listening["url"], listening["text"]) == (
            "https://weft.example.com", f"The daemon listens on {listening['local']}",
        )  # fmt: skip
        assert f"listens on  {listening['local']}" in ask(world, "status").stdout
        with httpx2.Client(base_url=listening["local"], trust_env=False, verify=False, timeout=30) as client:
            headers = {"Authorization": f"Bearer {daemon.token}", "Accept": "text/event-stream"}
            with client.stream("POST", "/api/v1/chat", json={"text": "hello"}, headers=headers) as answer:
                next(answer.iter_lines())
                daemon.process.send_signal(signal.SIGTERM)
                daemon.wait_for("stopping")
                until = time.monotonic() + 10
                while "error[serve-stopping]" not in (told := ask(world, "status")).stderr:
                    assert time.monotonic() < until, told.stderr
                daemon.process.send_signal(signal.SIGTERM)
                assert daemon.process.wait(20) == 0
