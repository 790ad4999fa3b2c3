"""Both channels as a user has them: installed and enabled, in their sandbox, run by the real `weft gateway`."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bot_api import TOKEN, BotApi
from mail_servers import BOT, PASSWORD, TLS, Dovecot, Mailbox, Postbox, has_dovecot

import clawft
from chaos import Process, until
from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from warm import run_warm

pytestmark = pytest.mark.skipif(not has_dovecot(), reason="Dovecot is not installed")
PLUGINS = Path(__file__).parents[2] / "examples" / "plugins"
GENUINE = "Authentication-Results: mx.example.com; dmarc=pass header.from=example.org\r\n"
CONFIG = """
[agents.defaults]
model = "s/m"
[memory]
enabled = false
[providers.s]
wire = "scripted"
script = "{script}"
[tools.web]
block_private_ips = false
[runs]
poll_s = 0.05
[gateway.channels.email]
allow = ["alice@example.org"]
[gateway.channels.telegram]
allow = ["7"]
[plugins.entries."org.clawft.email".config]
address = "{address}"
username = "{mailbox}"
imap = {{ host = "127.0.0.1", port = {imap} }}
smtp = {{ host = "127.0.0.1", port = {smtp} }}
authserv_id = "mx.example.com"
ca_file = "ca.pem"
[plugins.entries."org.clawft.telegram".config]
base_url = "{api}"
"""


class World:
    """A user with both plugins, and the servers that they speak to."""

    def __init__(self, folder: Path, mailbox: Mailbox, postbox: Postbox, api: BotApi) -> None:
        self.mailbox, self.postbox, self.api = mailbox, postbox, api
        self.folder, self.project, user_dir = folder, folder / "project", folder / "home" / ".clawft"
        self.project.mkdir()
        (user_dir / "plugin-data" / "org.clawft.email").mkdir(parents=True)
        shutil.copy(TLS / "cert.pem", user_dir / "plugin-data" / "org.clawft.email" / "ca.pem")
        (user_dir / "script.json").write_text(json.dumps({"by_turn": True, "steps": [{"text": "re: {asked}"}]}))
        ports = {"imap": mailbox.server.tls_port, "smtp": postbox.port}
        names = {"script": user_dir / "script.json", "address": BOT, "mailbox": mailbox.name, "api": api.url}
        (user_dir / "config.toml").write_text(CONFIG.format(**ports, **names))
        _install(user_dir, "email", [f"127.0.0.1:{port}" for port in ports.values()])
        _install(user_dir, "telegram", [f"127.0.0.1:{api.port}"])
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
        coverage = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        secrets = {"EMAIL_PASSWORD": PASSWORD, "TELEGRAM_BOT_TOKEN": TOKEN}
        same = {"PYTHONPATH": str(Path(clawft.__file__).parents[1])}
        self.env = {"HOME": str(folder / "home"), "PATH": path, "LANG": "C.UTF-8", **secrets, **same, **coverage}

    def weft(self, *words: str) -> str:
        command = [sys.executable, "-m", "clawft", *words]
        done = run_warm(command, cwd=self.project, env=self.env)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def start(self) -> Process:
        command = [sys.executable, "-m", "clawft", "gateway"]
        return Process(command, self.project, self.env, self.folder / "gateway.log")

    def sessions(self) -> dict[str, list[str]]:
        """What was answered in each session."""
        runs = open_app_runs(open_app(self.env, str(self.project)))
        found: dict[str, list[str]] = {}
        try:
            for run in runs.store.list():
                found.setdefault(run.request.session, []).append(run.status)
        finally:
            runs.close()
        return found


def _install(user_dir: Path, name: str, hosts: list[str]) -> None:
    """As a user does whose servers are elsewhere: a copy, whose manifest names their hosts."""
    folder = user_dir / "plugins" / name
    shutil.copytree(PLUGINS / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    manifest: dict[str, Any] = json.loads((folder / "clawft.plugin.json").read_text())
    manifest["permissions"]["network"] = hosts
    (folder / "clawft.plugin.json").write_text(json.dumps(manifest))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Dovecot() as dovecot, Postbox() as postbox, BotApi() as api:
        yield World(tmp_path, dovecot.add(), postbox, api)


def wait(process: Process, look: Callable[[], object], seconds: float = 30) -> None:
    """Until something is so; else what the gateway said is shown."""
    try:
        until(look, seconds)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{process.said}") from None


def write(text: str, number: int, sender: str = "alice@example.org", answers: str = "") -> bytes:
    head = GENUINE + f"From: {sender}\r\nTo: {BOT}\r\nSubject: Plans\r\nMessage-ID: <m{number}@example.org>\r\n"
    return (head + (f"In-Reply-To: {answers}\r\n" if answers else "") + f"\r\n{text}\r\n").encode()


def test_mails_and_messages_are_answered_each_thread_and_chat_in_its_session(world: World) -> None:
    said = world.weft("plugins", "enable", "email", "telegram", "--yes")
    assert said.count("Verdict: clean") == 2
    process = world.start()
    try:
        world.api.say("Hello, bot")
        world.api.say("Let me in", sender=666)
        wait(process, lambda: world.api.sent)
        wait(process, lambda: "email" in process.said and _is_open(world))
        world.mailbox.deliver(write("Hello, agent", 1), write("Let me in", 2, "eve@example.org"))
        wait(process, lambda: world.postbox.mails)
        answered = world.postbox.mails[0][1]
        world.mailbox.deliver(write("And then?", 3, answers=answered["Message-ID"]))
        wait(process, lambda: len(world.postbox.mails) == 2)
        wait(process, lambda: world.mailbox.flags() == ["$ClawftDone \\Seen", "$ClawftDone", "$ClawftDone \\Seen"])
        process.send(signal.SIGTERM)
        assert process.wait(60) == 0, process.said
    finally:
        process.close()
    assert [recipient for recipient, _ in world.postbox.mails] == ["alice@example.org"] * 2
    assert answered["In-Reply-To"] == "<m1@example.org>"
    assert answered.get_payload(decode=True) == b"re: Plans\r\n\r\nHello, agent\r\n"
    assert world.postbox.mails[1][1].get_payload(decode=True) == b"re: And then?\r\n"
    assert [one["text"] for one in world.api.sent] == ["re: Hello, bot"]
    assert sorted(len(runs) for runs in world.sessions().values()) == [1, 2]
    assert "left behind" not in process.said
    log = "".join(one.read_text() for one in (world.folder / "home").rglob("*.log"))
    assert not any(secret in log + process.said for secret in (PASSWORD, TOKEN))


@pytest.mark.soak
def test_no_mail_is_lost_and_none_answered_twice_without_saying_so_when_the_gateway_is_killed(world: World) -> None:
    world.weft("plugins", "enable", "email", "telegram", "--yes")
    process = world.start()
    written = 0
    try:
        wait(process, lambda: _is_open(world))
        for round_ in range(5):
            world.mailbox.deliver(*(write(f"{number}", number) for number in range(written, written + 10)))
            written += 10
            wait(process, lambda: len(world.postbox.mails) > 10 * round_ + 3)  # noqa: B023
            process.send(signal.SIGKILL)
            process.close()
            process = world.start()
        wait(process, lambda: len({mail["In-Reply-To"] for _, mail in world.postbox.mails}) == written, 60)
        wait(process, lambda: world.mailbox.flags() == ["$ClawftDone \\Seen"] * written)
    finally:
        process.close()
    seen: set[str] = set()
    for _, mail in world.postbox.mails:
        text = mail.get_payload(decode=True)
        assert isinstance(text, bytes)
        assert mail["Message-ID"] not in seen or text.startswith(b"(possibly a repeat)")
        seen.add(mail["Message-ID"])
    assert len(seen) == written


def _is_open(world: World) -> bool:
    """Whether the mailbox was opened for the first time: what comes from then on is answered."""
    import sqlite3
    from contextlib import closing

    path = world.folder / "home" / ".clawft" / "plugin-data" / "org.clawft.email" / "email.db"
    if not path.exists():
        return False
    with closing(sqlite3.connect(path)) as database:
        tables = database.execute("select count(*) from sqlite_master where name = 'progress'").fetchone()[0]
        return bool(tables and database.execute("select count(*) from progress").fetchone()[0])
