"""Without the package `mcp` everything else works."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
sys.modules["mcp"] = None
sys.modules["mcp_types"] = None
import anyio
import clawft.app.app, clawft.agent.builtin_stages
from clawft.config.tools import McpSettings, ServerSettings
from clawft.agent.mcp import McpServerPool, RemoteError
from clawft.workspace import Workspace

async def main():
    settings = McpSettings(servers={servers})
    async with McpServerPool(settings, Workspace("/", "/", "/", "/"), {{}}) as pool:
        for _ in range(2):
            listing = await pool.tools()
            print(listing.tools, [(d.code, d.severity, d.message, d.hint) for d in listing.diagnostics])
        try:
            await pool.call("a__x", {{}})
        except RemoteError as error:
            print(error.code)

anyio.run(main)
"""


def run(servers: str, child_env: dict[str, str]) -> list[str]:
    script = SCRIPT.format(servers=servers)
    done = subprocess.run(
        [sys.executable, "-c", script], env=child_env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_configured_servers_give_one_diagnostic(child_env: dict[str, str]) -> None:
    said = run("""{"a": ServerSettings(command="a"), "b": ServerSettings(command="b")}""", child_env)
    assert said[0] == said[1]
    assert said[0].startswith("() [('mcp-missing', 'warning', ")
    assert "a, b" in said[0]
    assert "clawft[mcp]" in said[0]
    assert said[2] == "mcp-unknown"


@pytest.mark.parametrize("servers", ["{}", """{"a": ServerSettings(command="a", enabled=False)}"""])
def test_without_servers_nothing_is_said(child_env: dict[str, str], servers: str) -> None:
    assert run(servers, child_env) == ["() []", "() []", "mcp-unknown"]
