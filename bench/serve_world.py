"""A user with skills and a model that follows a script, and a daemon on top: in this process, or as `weft serve`."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from clawft.app import open_app
from clawft.config.serve import ServeSettings
from clawft.messages import Event
from clawft.protocol.base import Answer, Request, Scope
from clawft.protocol.running import TurnEvent
from clawft.serve.caller import ALL_SCOPES, Call, Caller
from clawft.serve.daemon import Daemon, open_daemon
from world import World

ADMIN = Caller("ann", ALL_SCOPES)


class ServeWorld(World):
    """`say` tells the model what to answer, step by step; every message begins at the first one that fits."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.script = folder / "script.json"
        self.say([{"text": "Done: {asked}"}])

    def say(self, steps: Sequence[dict[str, Any]]) -> None:
        """Have the model answer so from now on: `{"text": …}`, `{"tool_calls": [{"name", "arguments"}]}` …"""
        self.script.write_text(json.dumps({"steps": list(steps), "by_turn": True}))

    def write_config(self) -> None:
        provider = f'[providers.script]\nwire = "scripted"\nscript = "{self.script}"\n'
        default = '[agents.defaults]\nmodel = "script/m"\n'
        (self.user_dir / "config.toml").write_text(default + self.config + "\n" + provider)

    @asynccontextmanager
    async def open_daemon(self, settings: ServeSettings | None = None) -> AsyncIterator[Daemon]:
        """A daemon in this process, without any way in but its own."""
        self.write_config()
        app = open_app(self.environ, str(self.project))
        async with open_daemon(app, settings or ServeSettings(drain_s=1.0)) as daemon:
            yield daemon


class Client:
    """One who asks a daemon of this process, and keeps what is told meanwhile."""

    def __init__(self, daemon: Daemon, *scopes: Scope, name: str = "ann", can_answer: bool = True) -> None:
        self.daemon = daemon
        self.caller = Caller(name, frozenset(scopes) or ALL_SCOPES)
        self.told: list[Answer] = []
        self.call = Call(self.caller, self.told.append, None, can_answer)

    async def ask(self, request: Request) -> Any:
        """Raises: ClawftError."""
        return await self.daemon.answer(self.call, request)

    @property
    def events(self) -> list[Event]:
        """What happened in the turns that were asked for."""
        return [one.event for one in self.told if isinstance(one, TurnEvent)]
