"""Commands in the background: a server that later commands reach, its output, and its end."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from clawft.agent.tools.command_session import CommandSession, open_command_sessions
from clawft.agent.tools.exec_shell import exec_shell_tool
from clawft.agent.tools.processes import process_tools
from clawft.agent.tools.tool import ToolContext
from clawft.config.tools import CommandPolicyMode, ExecSettings, SandboxSettings
from clawft.sandbox.background import MAX_PROCESSES, ProcessLog
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.command_policy import CommandPolicy
from tool_contexts import adjust

pytestmark = pytest.mark.anyio
Call = Callable[..., Any]
_SETTINGS = ExecSettings(mode=CommandPolicyMode.DISABLED)
SHELL = exec_shell_tool(_SETTINGS, CommandPolicy(_SETTINGS))
OUTPUT, END = process_tools()
_FETCH = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://localhost:3000/\", timeout=5).status)'"


@pytest.fixture(autouse=True)
async def commands(context: ToolContext, tmp_path: Path) -> AsyncIterator[CommandSession]:
    async with open_command_sessions(context.sandbox, lambda _: str(tmp_path / "spill")) as sessions:
        adjust(context, commands=sessions.get("one"))
        yield sessions.get("one")


async def test_server_is_reached_read_and_ended(call: Call, context: ToolContext) -> None:
    if context.sandbox.status().kind != "bubblewrap":
        pytest.skip("commands share no network here")
    begun = await call(SHELL, command="python3 -u -m http.server 3000", background=True)
    assert begun.data["running"]
    assert "[process 1: running]" in begun.text
    with anyio.fail_after(60):
        while "200" not in (await call(SHELL, command=_FETCH)).text:
            await anyio.sleep(0.05)
    told = await call(OUTPUT, process=1)
    assert '"GET / HTTP/1.1" 200' in told.text
    assert "GET" not in (await call(OUTPUT, process=1)).text  # only what is new
    ended = await call(END, process=1)
    assert ended.data == {"process": 1, "state": "ended on request", "running": False}
    assert "200" not in (await call(SHELL, command=_FETCH)).text


async def test_what_ends_at_once_is_told_at_once(call: Call) -> None:
    done = await call(SHELL, command="echo oops; exit 3", background=True)
    assert "oops" in done.text
    assert "[process 1: ended with exit code 3]" in done.text
    assert (done.data["running"], done.data["exit_code"]) == (False, 3)


async def test_process_is_waited_for(call: Call) -> None:
    await call(SHELL, command="sleep 1.5; echo ready", background=True)
    told = await call(OUTPUT, process=1, wait_s=60)
    assert told.text == "ready\n[process 1: ended with exit code 0]"


async def test_unknown_process_names_those_there_are(call: Call) -> None:
    assert "exec_shell with `background`" in (await call(OUTPUT, process=4)).text
    await call(SHELL, command="sleep 600", background=True)
    assert "There are: 1" in (await call(END, process=4)).text


async def test_everything_ends_with_the_session(call: Call, commands: CommandSession, project: Path) -> None:
    count = "while :; do echo x >> alive; sleep 0.05; done"
    (project / "run.sh").write_text(f"(setsid sh -c '{count}' &)\n{count}\n")
    await call(SHELL, command="sh run.sh", background=True)
    with anyio.fail_after(60):
        while not (project / "alive").exists():
            await anyio.sleep(0.05)
    await commands.close()
    size = (project / "alive").stat().st_size
    await anyio.sleep(0.5)
    assert (project / "alive").stat().st_size == size


async def test_too_many_are_refused(call: Call) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(MAX_PROCESSES):
            tasks.start_soon(lambda: call(SHELL, command="sleep 600", background=True))
    refused = await call(SHELL, command="sleep 600", background=True)
    assert refused.error["message"].startswith(f"{MAX_PROCESSES} processes run in the background")


async def test_without_a_sandbox_nothing_is_left_running(call: Call, context: ToolContext) -> None:
    adjust(context, sandbox=Sandbox(SandboxSettings(mode="landlock"), context.workspace, context.environ))
    if context.sandbox.status().kind == "landlock":
        begun = await call(SHELL, command="sleep 600", background=True)
        assert "only the Landlock sandbox" in begun.text
    assert (await call(SHELL, command="true", background=True, outside_sandbox=True)).status == "error"


async def test_log_keeps_the_newest_output_and_masks_secrets(tmp_path: Path) -> None:
    log = ProcessLog(str(tmp_path / "log"), lambda text: text.replace("s3cret", "***"))
    log.add(b"a s3c")
    log.add(b"ret here\npart")
    assert log.read_new(1000) == ("a *** here\npart", 0)
    log.add(b"ial\n")
    for number in range(200_000):
        log.add(b"line %d of a long output\n" % number)
    text, skipped = log.read_new(1000)
    assert text.endswith("line 199999 of a long output\n")
    assert len(text) == 1000
    assert skipped > 5_000_000
    assert (tmp_path / "log").stat().st_size <= 4 << 20
    assert b"s3cret" not in (tmp_path / "log").read_bytes()
    log.close()
