"""What tests of tools share: a project of its own beside a home, and a context to run tools in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.tools.execution import Envelope, run_tool
from clawft.agent.tools.tool import Tool, ToolContext
from clawft.workspace import Workspace
from tool_contexts import make_context


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def questions() -> list[tuple[str, str]]:
    """What was asked; the answer is no, unless a test gives another `ask`."""
    return []


@pytest.fixture
def context(tmp_path: Path, project: Path, questions: list[tuple[str, str]]) -> ToolContext:
    async def ask(question: str, reason: str, *, dangerous: bool = False) -> bool:
        questions.append((question, reason))
        return False

    (tmp_path / "home").mkdir()
    home = str(tmp_path / "home")
    workspace = Workspace(home, f"{home}/.clawft", str(project), str(project))
    environ = {"PATH": "/usr/bin:/bin", "HOME": home, "MARKED_SECRET": "s3cret-marker"}
    return make_context(workspace, environ, str(tmp_path / "spill"), ask)


@pytest.fixture
def call(context: ToolContext) -> Callable[..., Any]:
    """Run a tool as the loop does: `await call(tool, path="a")` is an envelope."""

    async def run(tool: Tool, **arguments: object) -> Envelope:
        return await run_tool(tool, arguments, context, timeout_s=60)

    return run
