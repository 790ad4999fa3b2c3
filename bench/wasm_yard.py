"""A yard for components: as the one for plugins in Python, with the web open to this machine where it is granted."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft.config.extensions import PluginsSettings
from clawft.config.tools import SandboxSettings, WebSettings
from clawft.contracts import Permissions
from clawft.plugins.host import Plugins
from clawft.plugins.runtime import PluginEnvironment, PluginFailed
from clawft.sandbox.sandbox import Sandbox
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.plugins import load_plugin
from clawft.trust.plugins import judge_plugins, make_grant
from wasm_guests import make_guest
from yard import Yard

GUEST = "org.example.guest"


class WasmYard(Yard):
    """Components of one test. The machine itself may be reached, where it is granted."""

    web = WebSettings(block_private_ips=False)

    def add_guest(
        self,
        guest: str | bytes,
        plugin_id: str = GUEST,
        *,
        grant: Permissions | None = None,
        files: Mapping[str, str] = {},
        **manifest: Any,
    ) -> Path:
        """A plugin that is this component, granted what its manifest asks for, or less."""
        folder = self.user_dir / "plugins" / plugin_id
        folder.mkdir(parents=True)
        module = "guest.wat" if isinstance(guest, str) else "guest.wasm"
        told = {
            "id": plugin_id,
            "name": "Guest",
            "version": "1.0.0",
            "capabilities": ["tool"],
            "tools": [{"name": "try_it", "description": "Tries something"}],
            "wasm_module": module,
        }
        (folder / "clawft.plugin.json").write_text(json.dumps(told | manifest))
        (folder / module).write_bytes(guest.encode() if isinstance(guest, str) else guest)
        for name, text in files.items():
            (folder / name).write_text(text)
        self.add_folder(folder, grant)
        return folder

    def add_folder(self, folder: Path, grant: Permissions | None = None) -> None:
        """A plugin that is there."""
        found = load_plugin("user", str(folder))
        assert found.manifest is not None, found.problem
        permissions = found.manifest.permissions if grant is None else grant
        made = make_grant(found, compute_digest(str(folder)).value, permissions)
        self.statuses += judge_plugins([found], self.settings({}), lambda: [made])

    def add_code(self, code: str, plugin_id: str = GUEST, **more: Any) -> Path:
        """A plugin whose `execute-tool` is this code."""
        made = {name: more.pop(name) for name in ("init", "shutdown", "more", "pages", "texts") if name in more}
        return self.add_guest(make_guest(code, id=plugin_id, **made), plugin_id, **more)

    def settings(self, given: Mapping[str, Any]) -> PluginsSettings:
        return msgspec.convert({"max_failures": 100, **given}, PluginsSettings, dec_hook=lambda _, value: value)

    def open(self, settings: Mapping[str, Any] | None = None) -> Plugins:
        sandbox = Sandbox(SandboxSettings(mode="off"), self.workspace, self.environ, self.web)
        around = PluginEnvironment(self.workspace, self.environ, sandbox, self.secrets, self.audit)
        return Plugins(self.statuses, self.settings(settings or {}), around)

    async def ask(self, plugins: Plugins, text: str = "", plugin_id: str = GUEST) -> tuple[str, bool]:
        """What the one tool of a guest makes of a text, and whether it calls that an error."""
        output = await plugins.call(plugin_id, "execute_tool", name="try_it", arguments={"s": text})
        return output.content, output.is_error

    async def fail(self, plugins: Plugins, text: str = "", plugin_id: str = GUEST) -> PluginFailed:
        """How the one tool of a guest fails."""
        with pytest.raises(PluginFailed) as failed:
            await self.ask(plugins, text, plugin_id)
        return failed.value

    def denials(self) -> list[str]:
        """What the audit log says was refused."""
        return [line["subject"] for line in self.audited() if line["decision"] == "denied"]
