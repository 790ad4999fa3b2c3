"""Servers in the sandbox: what a project's config starts reaches no more than it was granted."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.config import load_config
from clawft.config.mcp import McpSettings, ServerSettings, find_confined
from clawft.config.sandbox import SandboxSettings
from clawft.errors import ClawftError
from clawft.mcp import McpHub
from clawft.mcp.launch import resolve_launch
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace

HERE = Path(__file__).parent
ENVIRON = {"PATH": os.pathsep.join([os.path.dirname(sys.executable), "/usr/bin", "/bin"]), "HOME": "/nowhere"}


@pytest.fixture
def confined(workspace: Workspace) -> Callable[..., McpHub]:
    """A hub of one server `a` in the sandbox."""

    def make(sandbox: SandboxSettings = SandboxSettings(), **others: Any) -> McpHub:  # noqa: B008
        script = str(HERE / "servers" / "plain.py")
        settings = ServerSettings(command="python", args=("-IS", script), readable=(str(HERE),), **others)
        confine = (Sandbox(sandbox, workspace, ENVIRON), frozenset({"a"}))
        return McpHub(McpSettings(servers={"a": settings}), workspace, ENVIRON, confine=confine)

    return make


@pytest.mark.anyio
async def test_a_confined_server_reads_the_project_and_changes_nothing(
    confined: Callable[..., McpHub], workspace: Workspace
) -> None:
    Path(workspace.project, "a.txt").write_text("a")
    async with confined(env={"KEY": "x"}) as hub:
        assert (await hub.call("a__list", {"path": workspace.project})).text == "a.txt"
        assert (await hub.call("a__cwd", {})).text == workspace.project
        assert (await hub.call("a__write", {"path": f"{workspace.project}/b"})).text == "no: Read-only file system"
        assert '"KEY": "x"' in (await hub.call("a__env", {})).text
        home = await hub.call("a__list", {"path": workspace.home})
    assert home.is_error or home.text == "project"
    assert os.listdir(workspace.project) == ["a.txt"]
