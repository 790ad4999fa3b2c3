"""File tools and commands of a session see the same `/tmp`, and the folder that a model chose to stay in."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.tools.command_session import CommandSession, open_command_sessions
from clawft.agent.tools.exec_shell import exec_shell_tool
from clawft.agent.tools.file_changes import write_file_tool
from clawft.agent.tools.file_search import glob_tool, list_directory_tool
from clawft.agent.tools.read_file import read_file_tool
from clawft.agent.tools.tool import ToolContext
from clawft.config.tools import CommandPolicyMode, ExecSettings
from clawft.trust.command_policy import CommandPolicy
from tool_contexts import adjust

pytestmark = pytest.mark.anyio
Call = Callable[..., Any]
_SETTINGS = ExecSettings(mode=CommandPolicyMode.DISABLED)
SHELL = exec_shell_tool(_SETTINGS, CommandPolicy(_SETTINGS))


@pytest.fixture(autouse=True)
async def commands(context: ToolContext, tmp_path: Path) -> AsyncIterator[CommandSession]:
    async with open_command_sessions(context.sandbox, lambda _: str(tmp_path / "spill")) as sessions:
        adjust(context, commands=sessions.get("one"))
        yield sessions.get("one")


async def test_tools_read_what_commands_write_in_tmp(call: Call) -> None:
    assert (await call(SHELL, command="mkdir /tmp/out; echo hello > /tmp/out/a.txt")).status == "success"
    assert "hello" in (await call(read_file_tool(), path="/tmp/out/a.txt")).text
    assert (await call(glob_tool(), pattern="*.txt", path="/tmp")).text == "/tmp/out/a.txt"
    assert "out/" in (await call(list_directory_tool(), path="/tmp")).text


async def test_commands_read_what_tools_write_in_tmp(call: Call) -> None:
    written = await call(write_file_tool(), path="/tmp/deep/er/b.txt", content="from a tool\n")
    assert written.text.startswith("Created /tmp/deep/er/b.txt")
    assert (await call(SHELL, command="cat /tmp/deep/er/b.txt")).text == "from a tool"


async def test_links_in_tmp_are_not_followed(call: Call, tmp_path: Path, commands: CommandSession) -> None:
    (tmp_path / "home/canary").write_text("outside")
    await call(SHELL, command=f"ln -s {tmp_path}/home /tmp/home; ln -s {tmp_path}/home/canary /tmp/canary")
    for path in ("/tmp/home/canary", "/tmp/canary", f"{commands.tmp}/canary", f"{commands.tmp}/home/canary"):
        assert (await call(read_file_tool(), path=path)).status == "error"
        assert (await call(write_file_tool(), path=path, content="x")).status == "error"
    assert (tmp_path / "home/canary").read_text() == "outside"
    assert (await call(read_file_tool(), path="/tmp/../etc/passwd")).status == "error"


async def test_folder_stays_where_the_model_keeps_it(call: Call, project: Path) -> None:
    (project / "sub").mkdir()
    assert (await call(SHELL, command="pwd", cwd="sub")).text == str(project / "sub")
    assert (await call(SHELL, command="pwd")).text == str(project)
    await call(SHELL, command="true", cwd="sub", keep_cwd=True)
    assert (await call(SHELL, command="pwd")).text == str(project / "sub")
    assert (await call(SHELL, command="pwd", cwd=str(project))).text == str(project)
    (project / "sub").rmdir()
    assert (await call(SHELL, command="pwd")).text == str(project)
