"""A user, a project, a model server that follows a script, and a runtime on top, to test and measure turns."""

import json
import os
import shutil
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar

from clawft.agent.conversation import open_conversation
from clawft.agent.loop import run_turn
from clawft.agent.records import UsageRecords
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Approve, Conversation, Runtime
from clawft.app.app import open_app
from clawft.app.plugins import open_grants
from clawft.app.runtime import open_runtime
from clawft.messages import Answer, ApprovalNeeded, Event, ToolFinished
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.plugins import load_plugin
from clawft.trust.plugins import make_grant
from wire import Asked, Reply, WireServer

E = TypeVar("E", bound=Event)
ASKING = {"CLAWFT_AGENTS__DEFAULTS__MODE": "ask"}  # an environment in which commands off the list ask


class World:
    """A user with a project. `config` is written into the user's config; `server` answers as `local/m`."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.user_dir = self.home / ".clawft"
        self.user_dir.mkdir(parents=True)
        (self.project / ".clawft").mkdir(parents=True)
        self.config = ""
        self.provider = ""
        self.environ = {"HOME": str(self.home), "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.defpath])}
        self.shared: Callable[[], UsageRecords] | None = None  # opens what several machines have in common
        self.replies: Iterable[Reply] | Callable[[Asked], Reply] = ()
        self.server: WireServer

    def add_skill(
        self, name: str, body: str = "Do it.", description: str = "", head: str = "", *, strangers: bool = False
    ) -> Path:
        """A skill of the user's own, or one that came with the project."""
        folder = (self.project / ".clawft" if strangers else self.user_dir) / "skills" / name
        folder.parent.mkdir(parents=True, exist_ok=True)
        text = f"---\nname: {name}\ndescription: {description or f'Does {name}.'}\n{head}---\n\n{body}\n"
        with tempfile.TemporaryDirectory(dir=self.home) as made:
            (Path(made) / name).mkdir()
            (Path(made) / name / "SKILL.md").write_text(text)
            (Path(made) / name).rename(folder)  # with all it holds, so that it is one change
        return folder

    def add_hook(self, name: str, events: str, body: str, *, strangers: bool = False) -> Path:
        """A hook whose handler has this body, with `event` and `context` at hand; the user's own or the project's."""
        folder = (self.project / ".clawft" if strangers else self.user_dir) / "hooks" / name
        folder.mkdir(parents=True)
        listed = ", ".join(f'"{one}"' for one in events.split())
        head = (
            f'---\nname: {name}\ndescription: Hears {name}.\nmetadata: {{"openclaw": {{"events": [{listed}]}}}}\n---\n'
        )
        (folder / "HOOK.md").write_text(head)
        handler = f"export default async function (event) {{\n  const context = event.context;\n  {body}\n}}\n"
        (folder / "handler.js").write_text(handler)
        return folder

    def add_plugin(self, plugin_id: str, code: str, **manifest: Any) -> Path:
        """A plugin of the user's own in Python, granted what it asks for."""
        folder = self.user_dir / "plugins" / plugin_id
        folder.mkdir(parents=True)
        told = {"id": plugin_id, "name": "Test", "version": "1.0.0", **manifest}
        (folder / "clawft.plugin.json").write_text(json.dumps(told))
        (folder / "plugin.py").write_text(f"from clawft.contracts import *\n\n\n{dedent(code).strip()}\n")
        self.grant(folder)
        return folder

    def add_example(self, name: str) -> Path:
        """One of the plugins in `examples/plugins`, granted what it asks for."""
        source = Path(__file__).parents[1] / "examples" / "plugins" / name
        folder = self.user_dir / "plugins" / name
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
        self.grant(folder)
        return folder

    def grant(self, folder: Path) -> None:
        """Grant the plugin of a folder what it asks for, as it is now."""
        found = load_plugin("user", str(folder))
        assert found.manifest is not None, found.problem
        grants = open_grants(open_app(self.environ, str(self.project)))
        grants.record(make_grant(found, compute_digest(str(folder)).value, found.manifest.permissions))

    @asynccontextmanager
    async def open(self, wire: str = "openai") -> AsyncIterator[Runtime]:
        with WireServer(self.replies) as self.server:
            provider = f'[providers.local]\nwire = "{wire}"\nbase_url = "{self.server.url}"\n{self.provider}\n'
            default = '[agents.defaults]\nmodel = "local/m"\n'
            (self.user_dir / "config.toml").write_text(default + self.config + "\n" + provider)
            shared = self.shared() if self.shared else None
            async with open_runtime(open_app(self.environ, str(self.project)), records=shared) as runtime:
                yield runtime

    @asynccontextmanager
    async def talk(
        self, *, agent: str = "", approve: Approve | None = None, key: str = "test", wire: str = "openai"
    ) -> AsyncIterator[Conversation]:
        async with self.open(wire) as runtime:
            chosen = open_app(self.environ, str(self.project)).choose_agent(agent)
            async with open_conversation(runtime, chosen, key=key, approve=approve) as conversation:
                yield conversation

    async def run(self, text: str = "hello", **how: Any) -> list[Event]:
        """One turn in a conversation of its own; all of its events."""
        request = TurnRequest(text, model=how.pop("model", ""), skill=how.pop("skill", ""))
        async with self.talk(**how) as conversation:
            return await collect(conversation, request)

    def audit(self, kind: str = "", decision: str = "") -> list[dict[str, Any]]:
        """The lines of the user's audit log: all, or those of a kind and a decision."""
        path = self.user_dir / "audit.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in lines if kind in ("", line["kind"]) and decision in ("", line["decision"])]

    def sent(self, index: int = -1) -> dict[str, Any]:
        """The body of a request that the server got."""
        return self.server.asked[index].body


class Person:
    """Answers what is asked, always the same, and keeps the questions."""

    def __init__(self, answer: Answer = "once") -> None:
        self.answer = answer
        self.asked: list[ApprovalNeeded] = []

    async def __call__(self, event: ApprovalNeeded) -> Answer:
        self.asked.append(event)
        return self.answer


async def collect(conversation: Conversation, request: TurnRequest | str) -> list[Event]:
    asked = TurnRequest(request) if isinstance(request, str) else request
    async with aclosing(run_turn(conversation, asked)) as events:
        return [event async for event in events]


def only(events: Iterable[Event], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def error_of(event: ToolFinished) -> str:
    """The code and message of a call that failed."""
    error = event.result.get("error", {})
    return f"{error.get('code', '')}: {error.get('message', '')}"
