"""A user with skills and a model that follows a script, and a daemon on top: in this process, or as `weft serve`."""

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any

from clawft.app.app import open_app
from clawft.config.serve import ServeSettings
from clawft.messages import Event
from clawft.server.callers import ALL_SCOPES, DaemonCall, DaemonCaller
from clawft.server.daemon import Daemon, open_daemon
from clawft.server.protocol.base import DaemonAnswer, DaemonRequest, TokenScope
from clawft.server.protocol.executions import TurnEvent
from warm import WarmPopen
from world import World

START_S = 120  # with thousands of skills, on a machine that has more to do
ADMIN = DaemonCaller("ann", ALL_SCOPES)


class ServeWorld(World):
    """`say` tells the model what to answer, step by step; every message begins at the first one that fits."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._scripts = folder / "scripts"
        self._scripts.mkdir()
        self.say([{"text": "Done: {asked}"}])

    def say(self, steps: Sequence[dict[str, Any]]) -> None:
        """Have the model answer so from now on: `{"text": …}`, `{"tool_calls": [{"name", "arguments"}]}` …"""
        number = len(list(self._scripts.iterdir()))
        self.script = self._scripts / f"{number}.json"
        self.script.write_text(json.dumps({"steps": list(steps), "by_turn": True}))
        if number and (self.user_dir / "config.toml").exists():  # a runtime that is open has read the one before
            self.write_config()

    def write_config(self) -> None:
        provider = f'[providers.script]\nwire = "scripted"\nscript = "{self.script}"\n'
        default = '[agents.defaults]\nmodel = "script/m"\n'
        fresh = self.user_dir / "config.toml.new"  # whoever reads it meanwhile sees one or the other
        fresh.write_text(default + self.config + "\n" + provider)
        fresh.replace(self.user_dir / "config.toml")

    @asynccontextmanager
    async def open_daemon(self, settings: ServeSettings | None = None) -> AsyncIterator[Daemon]:
        """A daemon in this process, without any way in but its own."""
        self.write_config()
        app = open_app(self.environ, str(self.project))
        async with open_daemon(app, settings or ServeSettings(drain_s=1.0)) as daemon:
            yield daemon

    @contextmanager
    def serve(self, *options: str) -> Iterator["ServedDaemon"]:
        """`weft serve` as a process of its own, on a free port of loopback."""
        self.write_config()
        command = [sys.executable, "-m", "clawft", "serve", "--port", "0", "--format", "json", *options]
        process: WarmPopen[str] = WarmPopen(
            command, cwd=self.project, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        served = ServedDaemon(process, self.user_dir)
        try:
            served.wait_ready()
            yield served
        finally:
            served.stop()


class ServedDaemon:
    """A daemon that listens: where, the token of its user, and what it logged so far."""

    def __init__(self, process: "subprocess.Popen[str]", user_dir: Path) -> None:
        self.process = process
        self.url = ""
        self.log: list[dict[str, Any]] = []
        self.errors: list[str] = []
        self._user_dir = user_dir
        self._ready: queue.Queue[dict[str, Any]] = queue.Queue()
        for stream, take in ((process.stdout, self._take), (process.stderr, self.errors.append)):
            assert stream is not None
            threading.Thread(target=_read, args=(stream, take), daemon=True).start()

    @property
    def token(self) -> str:
        return (self._user_dir / "serve-token").read_text().strip()

    @property
    def socket_url(self) -> str:
        return f"{self.url.replace('http', 'ws', 1)}/ws"

    @property
    def rss_kb(self) -> int:
        """How much memory it has now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    def wait_ready(self) -> None:
        try:
            self.url = str(self._ready.get(timeout=START_S)["url"]).partition("#")[0].rstrip("/")
        except queue.Empty:
            raise AssertionError(f"It does not listen: {self.errors}") from None

    def wait_for(self, event: str, wait_s: float = 30) -> None:
        """Until it says that something happened."""
        until = time.monotonic() + wait_s
        while not any(one.get("event") == event for one in self.log):
            assert time.monotonic() < until, f"no {event}: {self.log[-3:]} {self.errors}"
            time.sleep(0.01)

    def stop(self, wait_s: float = 30) -> int:
        """End it as a service would; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def _take(self, line: str) -> None:
        told = json.loads(line)
        if told.get("url") and not self.url:
            self._ready.put(told)
        self.log.append(told)


def _read(stream: IO[str], take: Any) -> None:
    with stream:
        for line in stream:
            take(line.rstrip("\n"))


class Client:
    """One who asks a daemon of this process, and keeps what is told meanwhile."""

    def __init__(self, daemon: Daemon, *scopes: TokenScope, name: str = "ann", can_answer: bool = True) -> None:
        self.daemon = daemon
        self.caller = DaemonCaller(name, frozenset(scopes) or ALL_SCOPES)
        self.told: list[DaemonAnswer] = []
        self.call = DaemonCall(self.caller, self.told.append, None, can_answer)

    async def ask(self, request: DaemonRequest) -> Any:
        """Raises: ClawftError."""
        return await self.daemon.answer(self.call, request)

    @property
    def events(self) -> list[Event]:
        """What happened in the turns that were asked for."""
        return [one.event for one in self.told if isinstance(one, TurnEvent)]
