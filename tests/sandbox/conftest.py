"""What tests of the sandbox share: a project beside a home, and a program run in a sandbox of one kind."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from clawft.config.tools import SandboxSettings
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.process import Finished, Streams
from clawft.sandbox.sandbox import Review, Sandbox
from clawft.workspace import Workspace


class Box:
    """A sandbox of one kind, with a project, a home and this program's own folder on a machine of its own."""

    def __init__(self, kind: Any, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        self.home, self.project, self.user_dir = folder / "home", folder / "project", folder / "home" / ".clawft"
        for one in (self.user_dir, self.project):
            one.mkdir(parents=True)
        self.workspace = Workspace(str(self.home), str(self.user_dir), str(self.project), str(self.project))
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8"}
        self.sandbox = self.open()

    def open(self, **settings: Any) -> Sandbox:
        return Sandbox(SandboxSettings(mode=self.kind, **settings), self.workspace, self.env)

    async def run(
        self,
        command: str,
        confinement: Confinement | None = None,
        *,
        sandbox: Sandbox | None = None,
        timeout_s: float = 60,
        review: Review | None = None,
        **streams: Any,
    ) -> Finished:
        """Run a line in the project, which it may change unless another confinement is given."""
        return await (sandbox or self.sandbox).run(
            command,
            cwd=str(self.project),
            env=self.env,
            timeout_s=timeout_s,
            max_bytes=20_000,
            streams=Streams(**streams),
            confinement=confinement or Confinement(writable=(str(self.project),)),
            review=review,
        )

    def find_running(self, mark: str) -> list[int]:
        """Processes of this machine with a mark on their command line."""
        return [pid for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if _has_mark(pid, mark)]

    async def say(self, command: str, confinement: Confinement | None = None) -> str:
        """What a line prints, errors among it."""
        return (await self.run(command, confinement)).output.decode()


def make_box(kind: Any, folder: Path) -> Box:
    """A box; the test is skipped where this machine has no such sandbox."""
    box = Box(kind, folder)
    status = box.sandbox.status()
    if status.kind != kind:
        pytest.skip(f"there is no {kind} here: {status.reason}")
    return box


@pytest.fixture(params=["bubblewrap", "landlock"])
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Box:
    return make_box(request.param, tmp_path)


@pytest.fixture
def wrapped(tmp_path: Path) -> Box:
    return make_box("bubblewrap", tmp_path)


@pytest.fixture
def landlocked(tmp_path: Path) -> Box:
    return make_box("landlock", tmp_path)


@pytest.fixture(params=["bubblewrap", "landlock"])
def apart(request: pytest.FixtureRequest) -> Iterator[Box]:
    """A box that does not lie in /tmp, which Landlock cannot show as another folder then."""
    with TemporaryDirectory(dir="/var/tmp", prefix="clawft-tests-") as folder:
        yield make_box(request.param, Path(folder))


def _has_mark(pid: int, mark: str) -> bool:
    """Also tells no of what has ended, and just waits to be reaped."""
    try:
        ended = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        return not ended and pid != os.getpid() and mark.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
