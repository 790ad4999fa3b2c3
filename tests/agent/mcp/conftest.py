"""Servers to speak with, and pools that speak with them."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.mcp import McpServerPool
from clawft.config.tools import McpSettings, ServerSettings
from clawft.workspace import Workspace
from node_packages import install_packages

HERE = Path(__file__).parent
EVERYTHING = "@modelcontextprotocol/server-everything/dist/index.js"


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
def pool_of(workspace: Workspace) -> Callable[..., McpServerPool]:
    """A pool of the servers that are given by name."""

    def make(
        servers: Mapping[str, ServerSettings], environ: Mapping[str, str] | None = None, **others: Any
    ) -> McpServerPool:
        return McpServerPool(McpSettings(servers=dict(servers)), workspace, environ or {}, **others)

    return make


@pytest.fixture(scope="session")
def everything() -> str:
    """The reference server of the protocol's authors, installed once by npm; the path of its program."""
    return str(install_packages(HERE) / EVERYTHING)
