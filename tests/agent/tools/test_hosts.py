"""Hosts that a command reaches for: asked about once, by name and command; refused at once where nobody agrees."""

from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from clawft.agent.tools.command_session import open_command_sessions
from clawft.agent.tools.exec_shell import exec_shell_tool
from clawft.agent.tools.hosts import HostQuestions
from clawft.agent.tools.tool import HostGrants, ToolContext
from clawft.config.tools import CommandPolicyMode, ExecSettings, SandboxSettings, WebSettings
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.command_policy import CommandPolicy
from clawft.trust.network import read_url
from clawft.trust.permissions import ToolDecision
from tool_contexts import adjust

pytestmark = pytest.mark.anyio
Call = Callable[..., Any]
_SETTINGS = ExecSettings(mode=CommandPolicyMode.DISABLED)
SHELL = exec_shell_tool(_SETTINGS, CommandPolicy(_SETTINGS))
# Asks the proxy for an address by hand: the loopback is direct for programs.
_GET = """
import os, socket, sys, urllib.parse
proxy, target = urllib.parse.urlsplit(os.environ["HTTP_PROXY"]), urllib.parse.urlsplit(sys.argv[1])
with socket.create_connection((proxy.hostname, proxy.port), 30) as client:
    client.sendall(f"GET {sys.argv[1]} HTTP/1.1\\r\\nHost: {target.netloc}\\r\\n\\r\\n".encode())
    answer = b""
    while piece := client.recv(4096):
        answer += piece
print(answer.decode())
"""


class Answers:
    """What a person is asked about hosts, and what they say."""

    def __init__(self) -> None:
        self.is_yes = True
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, question: str, reason: str, *, dangerous: bool = False) -> bool:
        self.asked.append((question, reason))
        return self.is_yes


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def origin() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"from the origin")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
async def shell(context: ToolContext, project: Path, tmp_path: Path, answers: Answers) -> AsyncIterator[None]:
    web = WebSettings(block_private_ips=False)
    sandbox = Sandbox(SandboxSettings(), context.workspace, context.environ, web)
    if sandbox.status().kind not in ("bubblewrap", "landlock"):
        pytest.skip("there is no sandbox here")
    (project / "get.py").write_text(_GET)
    async with open_command_sessions(sandbox, lambda _: str(tmp_path / "spill")) as sessions:
        adjust(context, sandbox=sandbox, commands=sessions.get("one"), ask_host=answers)
        yield


async def test_new_host_is_asked_about_once_with_its_command(call: Call, answers: Answers, origin: str) -> None:
    command = f"python3 get.py http://{origin}/a; python3 get.py http://{origin}/b"
    done = await call(SHELL, command=command)
    assert done.text.count("from the origin") == 2
    assert answers.asked == [(f"Let commands reach {origin}", f"wanted by: {command}")]


async def test_skills_in_use_are_named(call: Call, context: ToolContext, answers: Answers, origin: str) -> None:
    adjust(context, hosts=HostGrants(skills=("deploy", "notes")))
    await call(SHELL, command=f"python3 get.py http://{origin}/")
    assert answers.asked[0][1].endswith("(skills in use: deploy, notes)")


async def test_refused_host_fails_at_once_and_the_result_says_how_to_allow_it(
    call: Call, answers: Answers, origin: str
) -> None:
    answers.is_yes = False
    done = await call(SHELL, command=f"python3 get.py http://{origin}/; python3 get.py http://{origin}/")
    assert "403 Forbidden" in done.text
    assert f"weft permissions allow 'WebFetch(domain:{origin})'" in done.text
    assert len(answers.asked) == 1


async def test_what_a_rule_denies_is_not_asked(call: Call, context: ToolContext, answers: Answers, origin: str) -> None:
    adjust(context, decide=lambda *_: ToolDecision("deny", "a rule"))
    assert "403 Forbidden" in (await call(SHELL, command=f"python3 get.py http://{origin}/")).text
    assert answers.asked == []


async def test_process_in_the_background_asks_nobody(call: Call, answers: Answers, origin: str) -> None:
    done = await call(SHELL, command=f"python3 get.py http://{origin}/", background=True)
    if done.data["running"]:
        done = await call(SHELL, command="true")
    assert answers.asked == []


async def test_metadata_of_a_cloud_is_never_reached(call: Call, answers: Answers) -> None:
    for host in ("169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "0xa9fea9fe"):
        done = await call(SHELL, command=f"python3 get.py http://{host}/latest/meta-data")
        assert "403 Forbidden" in done.text, host
    assert answers.asked == []


async def test_loopback_is_direct_though_there_is_a_proxy(call: Call, project: Path) -> None:
    (project / "own.py").write_text("""
import http.server, threading, urllib.request
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://localhost:{server.server_port}/").status)
""")
    assert "200" in (await call(SHELL, command="python3 own.py")).text


async def test_name_that_is_looked_up_without_the_proxy_fails_soon_and_says_why(call: Call) -> None:
    done = await call(SHELL, command="python3 -c 'import socket; socket.getaddrinfo(\"example.invalid\", 80)'")
    assert done.data["seconds"] < 20
    assert "only what obeys HTTPS_PROXY reaches hosts" in done.text


@pytest.mark.parametrize(
    ("url", "question", "hosts"),
    [
        ("https://registry.npmjs.{}/", "fetch npm packages from registry.npmjs.{}", 2),
        ("https://files.pythonhosted.{}/", "fetch Python packages from pypi.{}", 2),
        ("https://proxy.golang.org/", "fetch Go modules from proxy.golang.org", 2),
        ("http://pypi.{}/", "reach pypi.{}", 1),
        ("https://api.example.com/", "reach api.example.com", 1),
        ("https://api.example.com:8443/", "reach api.example.com:8443", 1),
    ],
)
async def test_hosts_of_packages_are_one_question(
    context: ToolContext, answers: Answers, url: str, question: str, hosts: int
) -> None:
    # Written in parts: no file of the repository names an index.
    found = await HostQuestions(context, "npm install")(read_url(url.format("org")))
    assert len(found) == hosts
    assert answers.asked == [(f"Let commands {question.format('org')}", "wanted by: npm install")]
