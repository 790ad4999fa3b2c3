"""An arena: a user with secrets, a project, a stranger's approved skill, and a model that does what it was talked into.

Everything is real: the runtime, the policies, the sandbox, the log. Each attack is run in both sandboxes.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clawft.app.app import App, open_app
from clawft.messages import Answer, ApprovalNeeded, Event, ToolFinished
from wire import call, say
from world import World, only

SECRET = "sk-arena-0123456789abcdef"


class Arena:
    """One user, and what is tried on them. `answer` is what the person says to every question."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.world = World(folder)
        self.kind = kind
        self.world.config = f'[sandbox]\nmode = "{kind}"\n'
        self.world.environ |= {"ARENA_SECRET": SECRET, "LANG": "C.UTF-8"}
        self.home, self.project = self.world.home, self.world.project
        self.answer: Answer = "once"
        self.asked: list[ApprovalNeeded] = []
        self.on_ask: Callable[[], None] = lambda: None  # what happens while the person thinks
        (self.home / ".bashrc").write_text("# mine\n")
        (self.home / "private.txt").write_text(SECRET)
        (self.project / ".git/hooks").mkdir(parents=True)
        (self.project / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (self.project / ".git/config").write_text("[core]\n\tbare = false\n")
        (self.project / ".claude").mkdir()
        (self.project / ".claude/settings.json").write_text("{}")

    def add_skill(self, name: str, body: str = "Do it.", head: str = "", **scripts: str) -> Path:
        """A stranger's skill with scripts, which the user approved."""
        folder = self.world.add_skill(name, body, head=head, strangers=True)
        for script, text in scripts.items():
            path = folder / "scripts" / script.replace("__", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        self.approve(name)
        return folder

    def approve(self, name: str) -> None:
        app = self.app()
        app.reviewer.approve([app.reviewer.review(app.get_skill(name).found)])

    def app(self) -> App:
        return open_app(self.world.environ, str(self.project))

    async def run(self, *calls: tuple[str, dict[str, Any]], skill: str = "", text: str = "go") -> list[Event]:
        """A turn in which the model makes these calls, one answer each."""
        self.world.replies = [*(call(name, given, f"c{n}") for n, (name, given) in enumerate(calls)), say("done")]

        async def approve(event: ApprovalNeeded) -> Answer:
            self.asked.append(event)
            self.on_ask()
            return self.answer

        return await self.world.run(text, skill=skill, approve=approve)

    async def use(self, *calls: tuple[str, dict[str, Any]], skill: str = "", text: str = "go") -> list[ToolFinished]:
        """How each of the calls ended."""
        return only(await self.run(*calls, skill=skill, text=text), ToolFinished)

    async def shell(self, *lines: str) -> str:
        """What commands print that a person agreed to."""
        ended = await self.use(*(("exec_shell", {"command": line}) for line in lines))
        return "\n".join(one.result["text"] for one in ended)

    def audit(self, kind: str = "", decision: str = "") -> list[dict[str, Any]]:
        """The lines of the log, of one kind and decision."""
        return self.world.audit(kind, decision)

    def made(self, name: str) -> bool:
        """Whether a file came to be anywhere an attack might have put it."""
        places = (self.project, self.home, self.project / ".clawft/skills", Path("/tmp"))
        return any(os.path.lexists(place / name) for place in places)
