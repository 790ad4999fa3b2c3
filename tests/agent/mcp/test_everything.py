"""The reference server of the protocol's authors, over both ways."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
import pytest

from clawft.agent.mcp import McpServerPool, RemoteError
from clawft.config.tools import ServerSettings

pytestmark = pytest.mark.anyio
PoolOf = Callable[..., McpServerPool]
NODE = shutil.which("node") or "node"


async def use_all(pool: McpServerPool) -> None:
    tools, diagnostics = await pool.tools()
    assert diagnostics == ()
    assert {"every__echo", "every__get-sum", "every__get-tiny-image"} <= {tool.name for tool in tools}
    assert (await pool.call("every__echo", {"message": "hi"})).text == "Echo: hi"
    assert "7" in (await pool.call("every__get-sum", {"a": 3, "b": 4})).text
    (image,) = (await pool.call("every__get-tiny-image", {})).images
    assert image.media_type == "image/png"
    weather = await pool.call("every__get-structured-content", {"location": "New York"})
    assert set(weather.structured) == {"temperature", "conditions", "humidity"}
    linked = await pool.call("every__get-resource-reference", {"resourceType": "Text", "resourceId": 1})
    assert "[resource demo://resource/dynamic/text/1]" in linked.text
    wrong = await pool.call("every__get-sum", {"a": "three"})
    assert wrong.is_error


async def test_it_is_used_on_stdio(pool_of: PoolOf, everything: str) -> None:
    settings = ServerSettings(command=NODE, args=(everything, "stdio"), timeout_s=20)
    async with pool_of({"every": settings}) as pool:
        await use_all(pool)
        with anyio.move_on_after(0.3) as scope:
            await pool.call("every__trigger-long-running-operation", {"duration": 60, "steps": 60})
        assert scope.cancelled_caught
        assert (await pool.call("every__echo", {"message": "still here"})).text == "Echo: still here"


@contextmanager
def listening(everything: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    environ = {"PATH": os.environ.get("PATH", ""), "PORT": "0"}
    command = [NODE, "-e", _ON_A_FREE_PORT, everything]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"free port (\d+)", line):
                    yield f"http://127.0.0.1:{found[1]}/mcp", process
                    break
            else:
                pytest.fail("it did not start")
        finally:
            process.kill()


# It logs the port it was told to take, not the one it got.
_ON_A_FREE_PORT = """
const { Server } = require("node:net");
const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  this.once("listening", () => console.log("free port " + this.address().port));
  return listen.apply(this, args);
};
const program = process.argv[1];
process.argv.splice(1, 1, program, "streamableHttp");
import("file://" + program);
"""


async def test_it_is_used_over_http_and_its_end_is_noticed(pool_of: PoolOf, everything: str) -> None:
    with listening(everything) as (url, process):
        async with pool_of({"every": ServerSettings(url=url, timeout_s=20)}) as pool:
            await use_all(pool)
            process.kill()
            process.wait(60)
            with pytest.raises(RemoteError) as caught:
                await pool.call("every__echo", {"message": "hi"})
            assert caught.value.code == "mcp-lost"
