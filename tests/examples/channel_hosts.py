"""Both hosts of a channel, for tests that run it in their own process: what a plugin gets, and where it hands in."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from clawft.contracts import ChannelAdapter, ChannelError, InboundMessage, Level, MessagePayload, Plugin

_WAIT_S = 60.0


class DirectHost:
    """A PluginHost without a sandbox."""

    def __init__(self, folder: Path, config: Mapping[str, Any], secrets: Mapping[str, str]) -> None:
        self._folder = folder
        self._config = config
        self._secrets = secrets
        self.logged: list[str] = []

    def config_value(self, key: str) -> Any:
        found: Any = self._config
        for part in key.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return found

    def resolve_secret(self, env_var: str) -> str | None:
        return self._secrets.get(env_var)

    def data_dir(self) -> str:
        return str(self._folder)

    def log(self, level: Level, message: str) -> None:
        self.logged.append(f"{level}: {message}")

    def connect(self, host: str, port: int, timeout_s: float = 30.0) -> socket.socket:
        return socket.create_connection((host, port), timeout_s)


class Gate:
    """A ChannelHost that keeps what it is handed. `answers` are what it says first, in turn; an error is raised."""

    def __init__(self, *answers: bool | ChannelError) -> None:
        self.taken: list[InboundMessage] = []
        self.tried: list[InboundMessage] = []
        self.answers = list(answers)

    async def deliver_inbound(self, message: InboundMessage) -> bool:
        self.tried.append(message)
        answer = self.answers.pop(0) if self.answers else True
        if isinstance(answer, ChannelError):
            raise answer
        if answer and message.id not in {one.id for one in self.taken}:
            self.taken.append(message)
        return answer

    async def deliver_payload(self, sender: str, conversation: str, payload: MessagePayload) -> bool:
        return False

    @property
    def config(self) -> Mapping[str, Any]:
        return {}


@asynccontextmanager
async def running(plugin: Plugin, gate: Gate, *, connected: bool = True) -> AsyncIterator[ChannelAdapter]:
    """The plugin's channel, at work; it ends when told to, and so does the plugin."""
    (channel,) = plugin.parts()
    assert isinstance(channel, ChannelAdapter)
    cancel = asyncio.Event()
    task = asyncio.create_task(channel.start(gate, cancel))
    try:
        if connected:
            await until(lambda: channel.is_running() or task.done())
        yield channel
    finally:
        cancel.set()
        try:
            await asyncio.wait_for(task, _WAIT_S)
        finally:
            plugin.shutdown()


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that must come soon."""
    async with asyncio.timeout(_WAIT_S):
        while not condition():
            await asyncio.sleep(0.01)
