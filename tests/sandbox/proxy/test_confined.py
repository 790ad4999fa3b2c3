"""Real clients in the real sandbox: through the proxy to granted hosts, and nowhere else."""

from pathlib import Path
from typing import Any

import pytest

from clawft.config.tools import SandboxSettings, WebSettings
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.process import Finished
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace

pytestmark = pytest.mark.anyio
ENVIRON = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
CURL = "curl -sS -m 10 -w ' %{http_code}'"
# Straight to an address, past every proxy.
STRAIGHT = """/usr/bin/python3 -c "
import socket
try:
    socket.create_connection(('127.0.0.1', {port}), 3)
    print('reached')
except OSError as error:
    print('no')
" """


class Machine:
    """A sandbox of one kind, and what its programs reached."""

    def __init__(self, kind: Any, folder: Path) -> None:
        workspace = Workspace(str(folder / "home"), str(folder / "home/.clawft"), str(folder), str(folder))
        settings = SandboxSettings(mode=kind)
        self.open = Sandbox(settings, workspace, ENVIRON, WebSettings(block_private_ips=False))
        self.strict = Sandbox(settings, workspace, ENVIRON)
        self.folder = str(folder)
        self.records: list[tuple[str, ...]] = []

    async def run(self, command: str, *hosts: str, strict: bool = False) -> Finished:
        return await (self.strict if strict else self.open).run(
            command,
            cwd=self.folder,
            env=ENVIRON,
            timeout_s=30,
            max_bytes=20_000,
            confinement=Confinement(readable=(self.folder,), hosts=hosts),
            record=lambda *one: self.records.append(one),
        )


@pytest.fixture(params=["bubblewrap", "landlock"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    (tmp_path / "home").mkdir()
    return Machine(request.param, tmp_path)


async def test_a_client_reaches_the_granted_host_through_the_proxy(machine: Machine, origin: Any) -> None:
    port = origin.server_port

    finished = await machine.run(f"{CURL} http://127.0.0.1:{port}/x", f"127.0.0.1:{port}")

    assert finished.output == b"hello 200"
    assert machine.records == [("url", f"127.0.0.1:{port}", "allow", f"127.0.0.1:{port}")]


async def test_a_tunnel_reaches_the_granted_host(machine: Machine, origin: Any) -> None:
    port = origin.server_port

    finished = await machine.run(f"{CURL} --proxytunnel http://127.0.0.1:{port}/x", f"127.0.0.1:{port}")

    assert finished.output == b"hello 200"


async def test_a_host_that_was_not_granted_is_refused_in_words(machine: Machine, origin: Any) -> None:
    port = origin.server_port

    finished = await machine.run(f"{CURL} http://127.0.0.1:{port}/x", "a.test")

    assert finished.output.endswith(b" 403")
    assert f"127.0.0.1:{port}".encode() in finished.output
    assert origin.requests == []
    assert machine.records == [("url", f"127.0.0.1:{port}", "deny", "not-granted")]


async def test_nothing_is_reached_past_the_proxy(machine: Machine, origin: Any) -> None:
    port = origin.server_port
    straight = STRAIGHT.format(port=port)

    for hosts in ((), (f"127.0.0.1:{port}",)):
        assert (await machine.run(straight, *hosts)).output == b"no\n"
        lookup = await machine.run("getent hosts example.com; echo $?", *hosts)
        assert lookup.output.strip() == b"2"
    assert origin.requests == []


async def test_without_a_grant_there_is_no_proxy(machine: Machine, origin: Any) -> None:
    finished = await machine.run(f"env | grep -ci proxy; {CURL} http://127.0.0.1:{origin.server_port}/x")

    assert finished.output.startswith(b"0\n")
    assert finished.code != 0
    assert (origin.requests, machine.records) == ([], [])


async def test_addresses_of_this_machine_stay_closed_though_granted(machine: Machine, origin: Any) -> None:
    port = origin.server_port

    finished = await machine.run(f"{CURL} http://127.0.0.1:{port}/x", "*", f"127.0.0.1:{port}", strict=True)

    assert finished.output.endswith(b" 403")
    assert b"tools.web.block_private_ips" in finished.output
    assert origin.requests == []
    assert machine.records == [("url", f"127.0.0.1:{port}", "deny", "url-private-address")]
