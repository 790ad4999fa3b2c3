"""A stage for hooks: a user's project and home, a sandbox of one kind, and handlers that real Deno calls either way."""

import os
from pathlib import Path
from typing import Any

from clawft.agent.hooks.deno import DenoRunner
from clawft.agent.hooks.events import HookEvent, HookReply
from clawft.agent.hooks.handlers import HookGrants, HookLaunch
from clawft.agent.hooks.processes import HookProcesses
from clawft.config.tools import SandboxSettings, WebSettings
from clawft.errors import ClawftError
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace

SECRET = "s3cret-of-the-user"


class Stage:
    """One user. Handlers are called in a process of their own, or in one that is `kept`."""

    def __init__(self, folder: Path, kind: Any = "bubblewrap", *, kept: bool = False, path: str = "") -> None:
        self._environ = {"PATH": path or os.environ.get("PATH", os.defpath)}
        self.kept = kept
        self.home, self.project = folder / "home", folder / "project"
        self.hook = self.home / ".clawft/hooks/it"
        for one in (self.hook, self.project / "src"):
            one.mkdir(parents=True)
        (self.home / "private.txt").write_text(SECRET)
        (self.project / ".env").write_text(f"KEY={SECRET}")
        (self.project / "notes.txt").write_text("to be read")
        (self.project / "link").symlink_to("/etc/passwd")
        (self.project / "private").symlink_to(self.home / "private.txt")
        project = str(self.project)
        self.workspace = Workspace(str(self.home), str(self.home / ".clawft"), project, project)
        self.kind = kind
        self._open(WebSettings())

    def _open(self, web: WebSettings) -> None:
        self.sandbox = Sandbox(SandboxSettings(mode=self.kind), self.workspace, self._environ, web)
        self.deno = DenoRunner(self.sandbox)

    def allow_private(self) -> None:
        """From now on what is granted may be an address of this machine."""
        self._open(WebSettings(block_private_ips=False))

    def job(self, code: str, file: str = "handler.ts", **more: Any) -> HookLaunch:
        """A hook with this code in one of its files. `read`, `write`, `net` and `env` are what it is granted."""
        path = self.hook / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
        grants = HookGrants(**{name: more.pop(name) for name in ("read", "write", "net", "env") if name in more})
        given = {"timeout_s": 20, "memory_mb": 128, "persistent": self.kept, **more}
        return HookLaunch("it", str(self.hook), file, grants=grants, **given)

    def event(self, key: str = "tool:before", **context: Any) -> HookEvent:
        kind, _, action = key.partition(":")
        shared = {"workspaceDir": str(self.project), "toolName": "read_file", "params": {"path": "x"}}
        return HookEvent(kind, action, "cli:1", {**shared, **context}, "2026-01-02T03:04:05.678Z")

    async def run(self, code: str, file: str = "handler.ts", **more: Any) -> HookReply:
        """What a handler answers, called in the way of this stage. Raises: ClawftError."""
        job = self.job(code, file, **more)
        async with HookProcesses(self.deno) as hosts:
            return await hosts.call(job, self.event())

    async def say(self, code: str, file: str = "handler.ts", **more: Any) -> str:
        """The messages of the answer, or the code and the text of the failure."""
        try:
            return "\n".join((await self.run(code, file, **more)).messages)
        except ClawftError as error:
            return f"{error.code}: {error}"
