"""Servers in the sandbox: what a project's config starts reaches no more than it was granted."""

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import anyio.lowlevel
import pytest

from clawft.agent.mcp import McpServerPool
from clawft.agent.mcp.launch import ServerConfinement, resolve_launch
from clawft.agent.mcp.remote import RemoteError
from clawft.config import load_config
from clawft.config.tools import McpSettings, SandboxSettings, ServerSettings, WebSettings
from clawft.errors import ClawftError
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.audit import AuditLog
from clawft.trust.modes import find_confined
from clawft.trust.programs import HostPrograms
from clawft.trust.records import Seal
from clawft.workspace import Workspace

HERE = Path(__file__).parent
OPEN = WebSettings(block_private_ips=False)
ENVIRON = {"PATH": os.pathsep.join([os.path.dirname(sys.executable), "/usr/bin", "/bin"]), "HOME": "/nowhere"}


@pytest.fixture
def audit(workspace: Workspace) -> AuditLog:
    return AuditLog(f"{workspace.user_dir}/audit.jsonl", Seal(f"{workspace.user_dir}/seal"))


def read(audit: AuditLog) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(audit.path).read_text().splitlines()]


@pytest.fixture(params=["bubblewrap", "landlock"])
def confined(request: pytest.FixtureRequest, workspace: Workspace, audit: AuditLog) -> Callable[..., McpServerPool]:
    """A pool of one server `a` in the sandbox."""

    def make(**others: Any) -> McpServerPool:
        script = str(HERE / "servers" / "plain.py")
        settings = ServerSettings(command="python", args=("-IS", script), readable=(str(HERE),), **others)
        sandbox = Sandbox(SandboxSettings(mode=request.param), workspace, ENVIRON, OPEN)
        confine = ServerConfinement(sandbox, frozenset({"a"}), audit)
        return McpServerPool(McpSettings(servers={"a": settings}), workspace, ENVIRON, confine=confine)

    return make


@pytest.mark.anyio
async def test_a_confined_server_reads_the_project_and_changes_nothing(
    confined: Callable[..., McpServerPool], workspace: Workspace
) -> None:
    Path(workspace.project, "a.txt").write_text("a")
    Path(workspace.home, "private").write_text("b")
    async with confined(env={"KEY": "x"}) as pool:
        assert (await pool.call("a__list", {"path": workspace.project})).text == "a.txt"
        assert (await pool.call("a__cwd", {})).text == workspace.project
        assert (await pool.call("a__write", {"path": f"{workspace.project}/b"})).text.startswith("no: ")
        assert '"KEY": "x"' in (await pool.call("a__env", {})).text
        assert (await pool.call("a__list", {"path": workspace.home})).text in ("project", "no: Permission denied")
    assert os.listdir(workspace.project) == ["a.txt"]


@pytest.mark.anyio
async def test_a_confined_server_changes_only_what_was_granted(
    confined: Callable[..., McpServerPool], workspace: Workspace
) -> None:
    Path(workspace.project, "out", "deep").mkdir(parents=True)
    async with confined(writable=("out",)) as pool:
        assert (await pool.call("a__write", {"path": f"{workspace.project}/out/deep/x"})).text == "written"
        assert (await pool.call("a__write", {"path": f"{workspace.project}/y"})).text.startswith("no: ")
    assert Path(workspace.project, "out", "deep", "x").read_text() == "written"
    assert os.listdir(workspace.project) == ["out"]


@pytest.mark.anyio
async def test_a_confined_server_sees_no_secret_of_the_project(
    confined: Callable[..., McpServerPool], workspace: Workspace
) -> None:
    Path(workspace.project, "sub/.ssh").mkdir(parents=True)
    Path(workspace.project, "sub/.ssh/id_ed25519").write_text("SECRET")
    async with confined() as pool:
        url = f"file://{workspace.project}/sub/.ssh/id_ed25519"
        assert (await pool.call("a__fetch", {"url": url})).text.startswith("no: ")


@pytest.mark.anyio
@pytest.mark.parametrize("given", [{"writable": ("data",)}, {"cwd": "data"}])
async def test_a_place_of_the_project_that_leads_out_of_it_by_now_keeps_the_server_from_starting(
    confined: Callable[..., McpServerPool], workspace: Workspace, given: dict[str, Any]
) -> None:
    outside = Path(workspace.home, "outside")
    outside.mkdir()
    (outside / "secret").write_text("SECRET")
    os.symlink(outside, os.path.join(workspace.project, "data"))
    async with confined(**given) as pool:
        with suppress(RemoteError):
            await pool.call("a__write", {"path": f"{outside}/x"})
        with suppress(RemoteError):
            assert "SECRET" not in (await pool.call("a__fetch", {"url": f"file://{outside}/secret"})).text
        said = (await pool.tools()).diagnostics
    assert os.listdir(outside) == ["secret"]
    assert ["leads out of its folder by a link" in one.message for one in said] == [True]


@pytest.mark.anyio
async def test_a_confined_server_without_hosts_has_no_network(
    confined: Callable[..., McpServerPool], site: ThreadingHTTPServer
) -> None:
    async with confined() as pool:
        text = (await pool.call("a__fetch", {"url": f"http://127.0.0.1:{site.server_port}/"})).text
    assert text.startswith("no: ")


@pytest.mark.anyio
async def test_a_confined_server_reaches_the_hosts_it_was_granted_and_no_other(
    confined: Callable[..., McpServerPool], site: ThreadingHTTPServer, audit: AuditLog
) -> None:
    port = site.server_port
    async with confined(hosts=(f"127.0.0.1:{port}",)) as pool:
        granted = (await pool.call("a__fetch", {"url": f"http://127.0.0.1:{port}/"})).text
        other = (await pool.call("a__fetch", {"url": "http://evil.test/"})).text
    assert granted == "hello"
    assert other == "no: HTTP Error 403: Forbidden"
    assert [(line["kind"], line["subject"], line["decision"], line["rule"]) for line in read(audit)[1:]] == [
        ("url", f"127.0.0.1:{port}", "allowed", f"127.0.0.1:{port}"),
        ("url", "evil.test:80", "denied", "not-granted"),
    ]
    assert {line["detail"]["server"] for line in read(audit)} == {"a"}


@pytest.mark.anyio
async def test_the_start_of_every_server_is_written_down_without_its_secrets(
    workspace: Workspace, plain: Callable[..., ServerSettings], audit: AuditLog
) -> None:
    servers = {
        "own": plain("k3y-in-words", env={"KEY": "k3y-in-words"}),
        "far": ServerSettings(url="http://127.0.0.1:9/mcp?k=k3y-in-words", headers={"X-Key": "k3y-in-words"}),
    }
    confine = ServerConfinement(Sandbox(SandboxSettings(), workspace, ENVIRON), frozenset(), audit)
    async with McpServerPool(McpSettings(servers=servers), workspace, ENVIRON, confine=confine) as pool:
        await pool.tools()
    started = {line["detail"]["server"]: line for line in read(audit)}
    assert started["own"]["subject"].endswith("servers/plain.py <secret>")
    assert (started["own"]["kind"], started["own"]["detail"]["sandbox"]) == ("command", "none")
    assert (started["far"]["kind"], started["far"]["subject"]) == ("url", "http://127.0.0.1:9/mcp?k=<secret>")
    assert started["far"]["rule"] == "[mcp.servers.far]"


@pytest.mark.anyio
async def test_all_that_a_confined_server_started_ends_with_it(confined: Callable[..., McpServerPool]) -> None:
    mark = f"MARK_{uuid4().hex}"
    async with confined(env={mark: "1"}) as pool:
        await pool.call("a__child", {})
        with anyio.fail_after(60):
            while len(_find_processes(mark)) < 2:  # a program that starts has no environment for a moment
                await anyio.lowlevel.checkpoint()
    assert _find_processes(mark) == []


@pytest.mark.anyio
async def test_a_server_that_cannot_be_confined_is_not_started(
    workspace: Workspace, plain: Callable[..., ServerSettings], audit: AuditLog
) -> None:
    nowhere = {"PATH": workspace.project}  # there is no bubblewrap
    sandbox = Sandbox(SandboxSettings(mode="bubblewrap"), workspace, nowhere)
    confine = ServerConfinement(sandbox, frozenset({"a"}), audit)
    async with McpServerPool(McpSettings(servers={"a": plain()}), workspace, nowhere, confine=confine) as pool:
        listing = await pool.tools()
    assert listing.tools == ()
    (said,) = listing.diagnostics
    assert said.code == "mcp-start"
    assert "There is no sandbox" in said.message


@pytest.mark.anyio
async def test_a_program_that_is_not_there_is_said_plainly(workspace: Workspace, audit: AuditLog) -> None:
    confine = ServerConfinement(Sandbox(SandboxSettings(), workspace, ENVIRON), frozenset({"a"}), audit)
    servers = McpSettings(servers={"a": ServerSettings(command="no-such-server")})
    async with McpServerPool(servers, workspace, ENVIRON, confine=confine) as pool:
        (said,) = (await pool.tools()).diagnostics
    assert said.message == "The MCP server 'a' did not start: There is no such program: no-such-server"


@pytest.mark.anyio
async def test_a_server_that_may_not_leave_the_sandbox_is_told_of(confined: Callable[..., McpServerPool]) -> None:
    async with confined(sandbox="none") as pool:
        listing = await pool.tools()
        assert (await pool.call("a__write", {"path": "/usr/x"})).text.startswith("no: ")
    assert [one.code for one in listing.diagnostics] == ["mcp-sandbox"]


def write_config(folder: str, text: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    Path(folder, "config.toml").write_text(text)


@pytest.mark.parametrize(
    ("user", "project", "expected"),
    [
        ('[mcp.servers.a]\ncommand = "x"', "", set()),
        ('[mcp.servers.a]\ncommand = "x"\nsandbox = "confined"', "", {"a"}),
        ("", '[mcp.servers.a]\ncommand = "x"', {"a"}),
        ("", '[mcp.servers.a]\ncommand = "x"\nsandbox = "none"', {"a"}),
        ('[mcp.servers.a]\nsandbox = "none"', '[mcp.servers.a]\ncommand = "x"', set()),
        # What the user said of their own command is not said of the project's.
        ('[mcp.servers.a]\ncommand = "x"\nsandbox = "none"', '[mcp.servers.a]\ncommand = "evil"', {"a"}),
        ('[mcp.servers.a]\ncommand = "x"', '[mcp.servers.a]\nargs = ["--evil"]', {"a"}),
        ('[mcp.servers.a]\ncommand = "x"', '[mcp.servers.b]\ncommand = "x"', {"b"}),
    ],
)
def test_what_a_project_speaks_of_is_confined_unless_the_user_says_otherwise(
    workspace: Workspace, user: str, project: str, expected: set[str]
) -> None:
    write_config(workspace.user_dir, user)
    write_config(f"{workspace.project}/.clawft", project)

    config = load_config(workspace, {})

    assert find_confined(config, workspace.user_dir) == expected


def test_a_variable_is_the_word_of_the_user(workspace: Workspace) -> None:
    write_config(f"{workspace.project}/.clawft", '[mcp.servers.a]\ncommand = "x"')

    config = load_config(workspace, {"CLAWFT_MCP__SERVERS__A__SANDBOX": "none"})

    assert find_confined(config, workspace.user_dir) == frozenset()


def test_a_host_that_makes_no_sense_keeps_the_server_from_starting(workspace: Workspace) -> None:
    settings = ServerSettings(command="x", hosts=("https://a.test/",))
    with pytest.raises(ClawftError) as caught:
        resolve_launch("a", settings, workspace, HostPrograms({}), confined=True)
    assert caught.value.code == "mcp-settings"


def _find_processes(mark: str) -> list[str]:
    """The processes of this machine that have a text in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path("/proc", pid, "environ").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found
