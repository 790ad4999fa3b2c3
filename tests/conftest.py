"""What tests share: plugins, the Hypothesis profile, environments to change and to pass on, servers."""

import os
import sysconfig
import threading
from collections.abc import Iterator, MutableMapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import settings

from hub_world import ServedHub, serve_hub
from postgres import Postgres, find_postgres
from warm import WarmPopen
from world import World

pytest_plugins = ["usual_signals", "collecting", "skip_guard", "tally", "unmeasured"]

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("ci")
WarmPopen.is_on = True


@pytest.fixture
def environ() -> Iterator[MutableMapping[str, str]]:
    """This process's environment, to change by item and `del`; put back afterwards.

    The only way for a test to change it (tools/check_env.py).
    """
    before = dict(os.environ)
    try:
        yield os.environ
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def child_env(tmp_path: Path) -> dict[str, str]:
    """An environment for child processes: `weft` on PATH, a home of its own, no settings of the developer.

    What `weft` did not foresee is shown with its traceback. Passes on what coverage needs to measure the child, where
    it is to be measured.
    """
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    coverage = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "CLAWFT_DEBUG": "1", **coverage}


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, started for the first test that asks; `postgres.url()` is a database of the test's own.

    Where there is none the test is skipped, so it has `postgres` in its name or parameter (tests/skips.toml).
    """
    if find_postgres() is None:
        pytest.skip("PostgreSQL is not installed")
    with Postgres() as server:
        yield server


@pytest.fixture
def served_hub(tmp_path: Path) -> Iterator[ServedHub]:
    """A private hub that listens on loopback, in a thread of this process; `put` gives it skills."""
    with serve_hub(tmp_path / "served") as hub:
        yield hub


@pytest.fixture
def headless() -> Iterator[None]:
    """A system without a keyring, so that the developer's own is not touched."""
    import keyring
    import keyring.backends.fail

    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())  # type: ignore[no-untyped-call]
    yield
    keyring.set_keyring(before)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def site() -> Iterator[ThreadingHTTPServer]:
    """A server of this machine that says hello; `/go` leads to `/there`, by another of its names."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            leads = self.path == "/go"
            self.send_response(302 if leads else 200)
            if leads:
                self.send_header("Location", f"http://localhost:{server.server_port}/there")
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join(60)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A user with a project and a scripted model."""
    return World(tmp_path)
