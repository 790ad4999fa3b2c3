"""How long a connection of a confined program is kept on which nothing moves."""

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from clawft.config.tools import SandboxSettings, WebSettings
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace

pytestmark = pytest.mark.anyio

# Ask for a tunnel, then wait for the server to say something.
PROGRAM = """
import socket, sys
proxy = socket.create_connection(("127.0.0.1", 3128), 60)
proxy.sendall(f"CONNECT 127.0.0.1:{sys.argv[1]} HTTP/1.1\\r\\nHost: 127.0.0.1:{sys.argv[1]}\\r\\n\\r\\n".encode())
said = b""
while not said.endswith(b"\\r\\n\\r\\n"): said += proxy.recv(1)
proxy.sendall(b"hello")
proxy.settimeout(60)
print(proxy.recv(100))
"""


@contextmanager
def serve_late(delay_s: float) -> Iterator[int]:
    """A server that answers after a while, or when it is left."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                ended.wait(delay_s)
                with suppress(OSError):  # it was left
                    connection.sendall(b"late")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            ended.set()
            thread.join(60)


@pytest.mark.parametrize(("quiet_s", "delay_s", "matches_event"), [(0.1, 60.0, "b''"), (60.0, 0.3, "b'late'")])
async def test_a_quiet_connection_is_kept_as_long_as_was_said(
    tmp_path: Path, quiet_s: float, delay_s: float, matches_event: str
) -> None:
    home = str(tmp_path)
    workspace = Workspace(home, f"{home}/.clawft", home, home)
    sandbox = Sandbox(SandboxSettings(), workspace, {}, WebSettings(block_private_ips=False))
    with serve_late(delay_s) as port:
        finished = await sandbox.run(
            [sys.executable, "-I", "-S", "-c", PROGRAM, str(port)],
            cwd="/",
            env={},
            timeout_s=60,
            max_bytes=2000,
            confinement=Confinement(
                readable=(sys.prefix, sys.base_prefix), hosts=(f"127.0.0.1:{port}",), quiet_s=quiet_s
            ),
        )
    assert finished.output.decode().strip() == matches_event
