"""`exec_shell` and the sandbox: what it keeps, when a person is asked, and what is said."""

import os
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from clawft.agent.tools.exec_shell import exec_shell_tool
from clawft.agent.tools.tool import Tool, ToolContext
from clawft.config.tools import CommandPolicyMode, ExecSettings, SandboxSettings
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.command_policy import CommandPolicy
from tool_contexts import adjust

TOUCH = os.path.realpath(which("touch", path=os.defpath) or "")
pytestmark = pytest.mark.anyio
Call = Callable[..., Any]


@pytest.fixture
def tool() -> Tool:
    """The tool, with a policy that lets everything run unasked."""
    settings = ExecSettings(mode=CommandPolicyMode.DISABLED)
    return exec_shell_tool(settings, CommandPolicy(settings))


@pytest.fixture
def asked(context: ToolContext) -> list[tuple[str, str, bool]]:
    """What was asked, and whether it was grave; the answer is yes."""
    questions: list[tuple[str, str, bool]] = []

    async def ask(question: str, reason: str, *, dangerous: bool = False) -> bool:
        questions.append((question, reason, dangerous))
        return True

    adjust(context, ask=ask)
    return questions


@pytest.fixture(params=["bubblewrap", "landlock"])
def confined(request: pytest.FixtureRequest, context: ToolContext) -> str:
    adjust(context, sandbox=Sandbox(SandboxSettings(mode=request.param), context.workspace, context.environ))
    status = context.sandbox.status()
    if status.kind != request.param:
        pytest.skip(f"there is no {request.param} here: {status.reason}")
    return str(request.param)


async def test_what_the_sandbox_refuses_is_explained(call: Call, tool: Tool, project: Path, confined: str) -> None:
    (project / ".git").mkdir()
    envelope = await call(tool, command="echo x > .git/config")
    assert envelope.status == "partial"
    assert "it ran in a sandbox" in envelope.text
    assert "which may be why" in envelope.data["hindered"]
    assert "`outside_sandbox` asks the person" in envelope.text
    assert not (project / ".git/config").exists()
    assert "sandbox" not in (await call(tool, command="cat missing")).text


async def test_outside_the_sandbox_is_asked_for_each_time(
    call: Call, tool: Tool, project: Path, asked: list[tuple[str, str, bool]]
) -> None:
    (project / ".git").mkdir()
    for number in range(2):
        envelope = await call(tool, command=f"echo {number} > .git/config", outside_sandbox=True)
        assert envelope.status == "success"
        assert (project / ".git/config").read_text() == f"{number}\n"
    assert [(question, grave) for question, _, grave in asked] == [
        (f"Run OUTSIDE the sandbox: echo {number} > .git/config", True) for number in range(2)
    ]


async def test_outside_the_sandbox_does_not_happen_without_a_yes(
    call: Call, tool: Tool, project: Path, questions: list[tuple[str, str]]
) -> None:
    envelope = await call(tool, command="touch made", outside_sandbox=True)
    assert envelope.error["code"] == "PERMISSION_DENIED"
    assert questions[0][0] == f"Run OUTSIDE the sandbox: touch made  ({TOUCH})"
    assert questions[0][1] == "it gets all your rights: your files, your keys and the network"
    assert not (project / "made").exists()


async def test_where_there_is_no_sandbox_a_person_is_asked_and_told_why(
    call: Call, tool: Tool, project: Path, context: ToolContext, asked: list[tuple[str, str, bool]]
) -> None:
    adjust(context, sandbox=Sandbox(SandboxSettings(mode="bubblewrap"), context.workspace, {"PATH": "/nowhere"}))
    assert (await call(tool, command="touch made")).status == "success"
    question = f"Run WITHOUT a sandbox: touch made  ({TOUCH})"
    assert asked == [(question, "there is none here: bubblewrap is not installed", True)]


async def test_where_there_is_no_sandbox_and_nobody_nothing_runs(
    call: Call, tool: Tool, project: Path, context: ToolContext
) -> None:
    adjust(context, sandbox=Sandbox(SandboxSettings(mode="bubblewrap"), context.workspace, {"PATH": "/nowhere"}))
    envelope = await call(tool, command="touch made")
    assert envelope.error["code"] == "PERMISSION_DENIED"
    assert "There is no sandbox to run commands in: bubblewrap is not installed" in envelope.text
    assert not (project / "made").exists()


async def test_each_command_is_written_down_with_where_it_ran(
    call: Call, tool: Tool, context: ToolContext, asked: list[Any], confined: str
) -> None:
    lines: list[tuple[str, str, str, Any]] = []

    def record(kind: str, subject: str, decision: str, rule: str = "", *, detail: Any = None) -> None:
        lines.append((kind, subject, decision, detail["sandbox"]))

    adjust(context, record=record)
    await call(tool, command="echo in")
    await call(tool, command="echo out", outside_sandbox=True)
    assert lines == [("command", "echo in", "allow", confined), ("command", "echo out", "allow", "outside")]


async def test_limits_of_the_sandbox_are_named(call: Call, tool: Tool, project: Path, context: ToolContext) -> None:
    settings = SandboxSettings(memory_mb=100)
    adjust(context, sandbox=Sandbox(settings, context.workspace, context.environ))
    if context.sandbox.status().kind == "none":
        pytest.skip("there is no bubblewrap or landlock here")
    script = "import mmap\nblock = mmap.mmap(-1, 1 << 30)\nfor _ in range(64): block.write(bytes(16 << 20))"
    (project / "take.py").write_text(script)
    assert "it took more memory than sandbox.memory_mb allows" in (await call(tool, command="python3 take.py")).text
