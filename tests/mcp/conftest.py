"""Servers to speak with, and hubs that speak with them."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import pytest

from clawft.config.mcp import McpSettings, ServerSettings
from clawft.mcp import McpHub
from clawft.workspace import Workspace

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    project = tmp_path / "project"
    project.mkdir()
    return Workspace(str(tmp_path), str(tmp_path / ".clawft"), str(project), str(project))


@pytest.fixture
def plain() -> Callable[..., ServerSettings]:
    """Settings of the server without the SDK; the first argument is how it misbehaves."""

    def settings(behaviour: str = "", **others: Any) -> ServerSettings:
        script = str(HERE / "servers" / "plain.py")
        return ServerSettings(command=sys.executable, args=("-IS", script, behaviour), **others)

    return settings


@pytest.fixture
def friendly() -> ServerSettings:
    """Settings of the server made with the SDK."""
    return ServerSettings(command=sys.executable, args=(str(HERE / "servers" / "friendly.py"),))


@pytest.fixture
def hub_of(workspace: Workspace) -> Callable[..., McpHub]:
    """A hub of the servers that are given by name."""

    def make(servers: Mapping[str, ServerSettings], environ: Mapping[str, str] | None = None, **others: Any) -> McpHub:
        return McpHub(McpSettings(servers=dict(servers)), workspace, environ or {}, **others)

    return make


@pytest.fixture(scope="session")
def everything() -> str:
    """The reference server of the protocol's authors, installed once by npm; the path of its program."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed")
    lock = HERE / "package-lock.json"
    folder = ROOT / ".cache" / "node" / "mcp"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as held:
        flock(held, LOCK_EX)  # another worker may be installing it
        installed = folder / "installed"
        if not (installed.exists() and installed.read_bytes() == lock.read_bytes()):
            shutil.copy(HERE / "package.json", folder)
            shutil.copy(lock, folder)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110, check=False)
            assert done.returncode == 0, done.stderr
            shutil.copy(lock, installed)
    return str(folder / EVERYTHING)
