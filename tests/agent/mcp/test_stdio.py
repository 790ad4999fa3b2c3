"""A server as a child process: what it is given, and what it may print."""

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.agent.mcp import McpServerPool, RemoteError
from clawft.config.tools import ServerSettings
from clawft.workspace import Workspace

pytestmark = pytest.mark.anyio
PoolOf = Callable[..., McpServerPool]
Plain = Callable[..., ServerSettings]


async def test_a_server_sees_only_the_allowed_variables_and_its_own(pool_of: PoolOf, plain: Plain) -> None:
    ours = {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh", "API_KEY": "sk-1", "TOKEN": "t-1"}
    async with pool_of({"a": plain("", env={"KEY": "x ${TOKEN}"})}, ours) as pool:
        seen = json.loads((await pool.call("a__env", {})).text)
    assert seen == {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C.UTF-8", "KEY": "x t-1"}


async def test_a_server_runs_in_the_home_folder_unless_it_is_given_another(
    pool_of: PoolOf, plain: Plain, workspace: Workspace
) -> None:
    (Path(workspace.project) / "sub").mkdir()
    async with pool_of({"a": plain(), "b": plain("", cwd="sub")}) as pool:
        assert (await pool.call("a__cwd", {})).text == workspace.home
        assert (await pool.call("b__cwd", {})).text == f"{workspace.project}/sub"


async def test_garbage_on_stdout_is_passed_over(
    pool_of: PoolOf, plain: Plain, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with pool_of({"a": plain("garbage")}) as pool:
        assert (await pool.call("a__echo", {"text": "hi"})).text == "hi"
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


async def test_a_message_without_end_ends_the_connection(pool_of: PoolOf, plain: Plain) -> None:
    async with pool_of({"a": plain()}) as pool:
        with pytest.raises(RemoteError) as caught:
            await pool.call("a__huge", {})
        assert caught.value.code == "mcp-lost"
        assert (await pool.call("a__echo", {"text": "hi"})).text == "hi"


async def test_a_large_message_is_read(pool_of: PoolOf, plain: Plain) -> None:
    async with pool_of({"a": plain()}) as pool:
        assert (await pool.call("a__echo", {"text": "x" * 1_500_000})).text == "x" * 1_500_000
