"""What tests of the command line share: the real `weft`, in this process or apart, and a project to run it in."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path

import pytest

from clawft.cli import main
from warm import WarmPopen, run_warm

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project; `home` beside it is the user's."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Where the user keeps skills of their own: no approval is asked for those."""
    folder = tmp_path / "home" / ".clawft" / "skills"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def weft_apart(project: Path, child_env: dict[str, str]) -> Weft:
    """Run `weft ARGS…` in the project, as a process; keyword arguments change its environment."""

    def run(*args: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
        command = ["weft", *map(str, args)]
        env = {**child_env, **environ}
        return run_warm(command, cwd=project, env=env)

    return run


@pytest.fixture
def weft(
    project: Path,
    child_env: dict[str, str],
    environ: MutableMapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Iterator[Weft]:
    """The same in this process, which is ten times as fast."""

    def run(*args: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        environ.clear()
        environ.update(child_env | more)
        monkeypatch.chdir(project)
        monkeypatch.setattr(sys, "argv", ["weft", *map(str, args)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return subprocess.CompletedProcess(sys.argv, int(ended.value.code or 0), *capfd.readouterr())

    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield run


@pytest.fixture
def terminal(project: Path, child_env: dict[str, str]) -> Callable[..., tuple[int, str]]:
    """Run `weft ARGS…` in the project with a terminal as its output: the exit code, and what the terminal got."""

    def run(*args: str, **environ: str) -> tuple[int, str]:
        master, slave = pty.openpty()
        env = {**child_env, "TERM": "xterm", **environ}
        process = WarmPopen[bytes](
            ["weft", *args], cwd=project, env=env, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave
        )
        os.close(slave)
        got = b""
        try:
            while chunk := os.read(master, 65536):
                got += chunk
        except OSError:  # Linux: all writers are gone
            pass
        finally:
            os.close(master)
        return process.wait(timeout=60), got.decode()

    return run


@pytest.fixture
def unprivileged() -> list[str]:
    """What to put before a command so that rights of files count, for root too."""
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
