"""A yard for tests of plugins: a home and a project, and plugins in it that were granted what they ask for."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal

import msgspec

from clawft.config.extensions import PluginsSettings
from clawft.config.redaction import Secrets
from clawft.config.tools import SandboxSettings, WebSettings
from clawft.contracts import Permissions
from clawft.plugins.host import Plugins
from clawft.plugins.runtime import PluginEnvironment
from clawft.sandbox.sandbox import Sandbox
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.plugins import load_plugin
from clawft.trust.audit import AuditLog
from clawft.trust.plugins import PluginStatus, judge_plugins, make_grant
from clawft.trust.records import Seal
from clawft.workspace import Workspace

ID = "org.example.test"
TOOL = {"name": "try_it", "description": "Tries something"}
HEAD = "import asyncio, os, socket, subprocess, sys, threading, time\nfrom clawft.contracts import *\n"


class Yard:
    """Plugins of one test."""

    def __init__(self, base: Path, mode: Literal["auto", "bubblewrap", "landlock", "off"] = "auto") -> None:
        self.home, self.project = base / "home", base / "project"
        self.user_dir = self.home / ".clawft"
        for folder in (self.user_dir, self.project):
            folder.mkdir(parents=True, exist_ok=True)
        self.workspace = Workspace(str(self.home), str(self.user_dir), str(self.project), str(self.project))
        self.environ: dict[str, str] = {"PATH": os.defpath, "HOME": str(self.home)}
        self.secrets = Secrets()
        self.audit = AuditLog(
            str(self.user_dir / "audit.jsonl"), Seal(str(self.user_dir / "seal.key")), self.secrets.mask_value
        )
        self.mode = mode
        self.opened: tuple[str, ...] = ()  # what the settings of the sandbox open for every program
        self.web = WebSettings(block_private_ips=False)
        self.statuses: list[PluginStatus] = []

    def add(self, code: str, plugin_id: str = ID, *, grant: Permissions | None = None, **manifest: Any) -> Path:
        """A plugin whose module has this code, granted what its manifest asks for, or less."""
        folder = self.user_dir / "plugins" / plugin_id
        folder.mkdir(parents=True)
        told = {"id": plugin_id, "name": "Test", "version": "1.0.0", "capabilities": ["tool"], "tools": [TOOL]}
        (folder / "clawft.plugin.json").write_text(json.dumps(told | manifest))
        (folder / "plugin.py").write_text(HEAD + dedent(code))
        self.grant(folder, grant)
        return folder

    def grant(
        self, folder: Path, permissions: Permissions | None = None, *, scope: str = "user", entry: str = ""
    ) -> None:
        """Grant a plugin as it is now what its manifest asks for, or less."""
        found = load_plugin(scope, str(folder), entry)
        assert found.manifest is not None, found.problem
        given = found.manifest.permissions if permissions is None else permissions
        made = make_grant(found, compute_digest(str(folder)).value, given)
        self.statuses = [one for one in self.statuses if one.found.folder != found.folder]
        self.statuses += judge_plugins([found], PluginsSettings(), lambda: [made])

    def add_tool(self, body: str, **manifest: Any) -> Path:
        """A plugin with one tool, which does this with its `arguments`."""
        lines = "\n".join(f"        {line}" for line in dedent(body).strip().splitlines())
        init = "    def init(self, host):\n        self.host = host\n"
        return self.add(
            f"class Plugin(Plugin):\n{init}    def execute_tool(self, name, arguments):\n{lines}\n", **manifest
        )

    def open(self, settings: Mapping[str, Any] | None = None) -> Plugins:
        """The host of all plugins that were added."""
        read = msgspec.convert({"max_failures": 100, **(settings or {})}, PluginsSettings, dec_hook=_read_env)
        sandbox = Sandbox(
            SandboxSettings(mode=self.mode, readable=self.opened, writable=self.opened),
            self.workspace,
            self.environ,
            self.web,
        )
        return Plugins(
            self.statuses, read, PluginEnvironment(self.workspace, self.environ, sandbox, self.secrets, self.audit)
        )

    def log(self, plugin_id: str = ID) -> str:
        """What a plugin wrote to its log."""
        path = self.user_dir / "logs" / "plugins" / f"{plugin_id}.log"
        return path.read_text() if path.exists() else ""

    def audited(self) -> list[dict[str, Any]]:
        """The lines of the audit log."""
        return [json.loads(line) for line in Path(self.audit.path).read_text().splitlines()]


async def run_tool(plugins: Plugins, plugin_id: str = ID, **arguments: Any) -> str:
    """What the one tool of a plugin says."""
    output = await plugins.call(plugin_id, "execute_tool", name="try_it", arguments=arguments)
    return str(output.content)


def _read_env(kind: type, value: Any) -> Any:
    from clawft.config.secret import EnvValue

    return EnvValue.parse(value, {}) if kind is EnvValue else value
