"""A user with a gateway whose only channel speaks with a `Remote`, through the real host and its sandbox.

The gateway is a process of its own, which may be killed. The model follows a script.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import clawft
from chaos import Process, until
from clawft.app.app import open_app
from clawft.app.plugins import load_found, open_grants
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.plugins import make_grant
from gateway_remote import Remote

__all__ = ["GatewayWorld"]

_CODE = Path(__file__).with_name("gateway_channel.py")
_ECHO = ({"text": "re: {asked}"},)


class GatewayWorld:
    """`gateway`, `channel` and `runs` are lines of the config's sections; `steps` those of the model's script."""

    def __init__(
        self,
        folder: Path,
        remote: Remote,
        *,
        steps: Sequence[dict[str, Any]] = _ECHO,
        gateway: str = "",
        channel: str = 'allow = ["*"]',
        runs: str = "",
    ) -> None:
        self.folder = folder
        self.remote = remote
        self.home, self.project = folder / "home", folder / "project"
        self.user_dir = self.home / ".clawft"
        for one in (self.user_dir, self.project):
            one.mkdir(parents=True, exist_ok=True)
        script = self.user_dir / "script.json"
        script.write_text(json.dumps({"by_turn": True, "steps": list(steps)}))
        fast = "[gateway.rate_limit]\nmax_requests = 100000\n" if "rate_limit" not in gateway + channel else ""
        (self.user_dir / "config.toml").write_text(
            '[agents.defaults]\nmodel = "s/m"\nmode = "ask"\n[memory]\nenabled = false\n'
            f'[providers.s]\nwire = "scripted"\nscript = "{script}"\n'
            f"[tools.web]\nblock_private_ips = false\n[runs]\npoll_s = 0.05\nlease_s = 2\n{runs}\n"
            f"[gateway]\nconcurrency = 8\n{gateway}\n{fast}[gateway.channels.line]\n{channel}\n"
            f'[plugins.entries."test.line".config]\nport = {remote.port}\n'
            f"deduplicates = {str(remote.deduplicates).lower()}\n"
        )
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
        coverage = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        same = {"PYTHONPATH": str(Path(clawft.__file__).parents[1])}
        self.env = {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", **same, **coverage}
        self.processes: list[Process] = []
        self.plugin = self._add_plugin()
        self.grant()

    def _add_plugin(self) -> Path:
        folder = self.user_dir / "plugins" / "line"
        folder.mkdir(parents=True, exist_ok=True)
        manifest = {
            "id": "test.line",
            "name": "line",
            "version": "1.0.0",
            "capabilities": ["channel"],
            "channels": ["line"],
            "python": "plugin:Line",
            "config_schema": {
                "type": "object",
                "properties": {"port": {"type": "integer"}, "deduplicates": {"type": "boolean"}},
            },
            "permissions": {"network": [f"127.0.0.1:{self.remote.port}"]},
        }
        (folder / "clawft.plugin.json").write_text(json.dumps(manifest))
        (folder / "plugin.py").write_text(_CODE.read_text())
        return folder

    def grant(self) -> None:
        """Grant the plugin what it asks for, as it is now."""
        app = open_app(self.env, str(self.project))
        (found,) = [one for one in load_found(app) if one.id == "test.line"]
        assert found.manifest is not None
        digest = compute_digest(found.folder)
        open_grants(app).record(make_grant(found, digest.value, found.manifest.permissions))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.processes:
            process.close()

    def start(self, *words: str) -> Process:
        """Start a gateway."""
        command = [sys.executable, "-m", "clawft", "gateway", *words]
        process = Process(command, self.project, self.env, self.folder / f"gateway-{len(self.processes)}.log")
        self.processes.append(process)
        return process

    @property
    def said(self) -> str:
        return "\n".join(f"--- {one.pid}\n{one.said}" for one in self.processes)

    def wait_for_answers(self, count: int, seconds: float = 30) -> None:
        """Until so many different messages were answered."""
        try:
            until(lambda: len(self.remote.answers()) >= count, seconds, f"{count} answers")
        except AssertionError as error:
            raise AssertionError(f"{error}: {len(self.remote.answers())}\n{self.said[-6000:]}") from None
