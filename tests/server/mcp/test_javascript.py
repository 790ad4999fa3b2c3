"""The JavaScript SDKs, and the inspector's command line, against both ways in."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcp_clients import stdio_of
from node_packages import install_packages
from serve_thread import ServedDaemon
from serve_world import ServeWorld

HERE = Path(__file__).parent / "mcp-clients"
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


@pytest.fixture(scope="session")
def packages() -> Path:
    """All of them, installed once by npm."""
    modules = install_packages(HERE)
    shutil.copy(HERE / "client.mjs", modules.parent)  # which finds them beside it
    return modules


def node(home: Path, *command: str | Path) -> str:
    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home)}
    done = subprocess.run(
        ["node", *map(str, command)], env=environ, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def use_all(packages: Path, home: Path, version: str, target: dict[str, Any]) -> None:
    got = json.loads(node(home, packages.parent / "client.mjs", version, json.dumps(target)))
    assert got["tools"] == ["skill-execute", "skill-list", "skill-search", "skill-scan"]
    assert "greet" in got["prompts"]
    assert "theirs" not in got["prompts"]
    assert got["prompt"][0]["content"]["text"] == "Say hello to Bo."
    assert "skill://user/greet/SKILL.md" in got["resources"]
    assert got["read"][0]["text"].startswith("---\nname: greet\n")
    assert "greet" in {one["name"] for one in got["list"]["skills"]}
    assert got["result"]["structuredContent"]["status"] == "done"
    assert "Say hello to Bo." in got["result"]["content"][0]["text"]
    assert got["progress"] or version == "1"  # the first SDK drops what comes together with the answer


@pytest.mark.parametrize("version", ["1", pytest.param("2", marks=pytest.mark.soak)])
def test_a_javascript_client_lists_gets_and_executes_on_stdio(packages: Path, piped: ServeWorld, version: str) -> None:
    server = stdio_of(piped)
    target = {"command": server.command, "args": server.args, "env": server.env, "cwd": str(server.cwd)}
    use_all(packages, piped.home, version, target)


@pytest.mark.parametrize("version", [pytest.param("1", marks=pytest.mark.soak), "2"])
def test_a_javascript_client_lists_gets_and_executes_over_http(
    packages: Path, served: ServedDaemon, version: str
) -> None:
    use_all(packages, served.world.home, version, {"url": f"{served.url}/mcp", "token": served.token})


def check(asked: str, answer: str) -> None:
    """What the inspector says of each method."""
    if asked.startswith("skills/list"):
        reports = [json.loads(line) for line in answer.splitlines()]
        assert {one["outcome"] for one in reports} == {"verified"}
        assert "route" in {one["name"] for one in reports}
        return
    got = json.loads(answer)
    if asked.startswith("tools/call"):
        assert "greet" in {one["name"] for one in got["structuredContent"]["skills"]}
    elif asked.startswith("resources/directory"):
        assert [one["name"] for one in got["resources"]] == ["SKILL.md", "logo.png", "maps"]
    else:
        kind = asked.partition("/")[0]
        assert {"tools": "skill-list", "prompts": "greet", "resources": "greet"}[kind] in {
            one["name"] for one in got[kind]
        }


ASKED = [
    "tools/list --strict",
    "tools/call --tool-name skill-list",
    "prompts/list",
    "resources/list",
    "skills/list --verify --require-digests --protocol-era modern",
    "resources/directory/read --uri skill://user/route --protocol-era modern",
]


def some(*wanted: str) -> pytest.MarkDecorator:
    """Those that are tried each time; the others, each of which takes a process or two, are left to `make soak`."""
    return pytest.mark.parametrize(
        "asked", [one if one.startswith(wanted) else pytest.param(one, marks=pytest.mark.soak) for one in ASKED]
    )


@some("tools/list", "skills/")
def test_the_inspector_is_content_over_http(packages: Path, served: ServedDaemon, asked: str) -> None:
    token = f"Authorization: Bearer {served.token}"
    target = ["--transport", "http", "--server-url", f"{served.url}/mcp", "--header", token]
    words = ["--cli", *target, "-q", "--method", *asked.split()]
    check(asked, node(served.world.home, packages / INSPECTOR, *words))


@some("tools/call")
def test_the_inspector_is_content_on_stdio(packages: Path, piped: ServeWorld, asked: str) -> None:
    server = stdio_of(piped)
    given = [word for name, value in (server.env or {}).items() for word in ("-e", f"{name}={value}")]
    target = [server.command, *server.args, *given, "--cwd", str(server.cwd)]
    check(asked, node(piped.home, packages / INSPECTOR, "--cli", *target, "-q", "--method", *asked.split()))
