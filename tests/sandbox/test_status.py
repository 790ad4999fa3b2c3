"""Which sandbox there is, and what happens where there is none: a person is asked, or nothing runs."""

from pathlib import Path
from typing import Any

import pytest

from clawft.config import load_config
from clawft.config.tools import SandboxSettings
from clawft.errors import Refused
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace

pytestmark = pytest.mark.anyio


def open_sandbox(folder: Path, path: str = "/nowhere", **settings: Any) -> Sandbox:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    workspace = Workspace(str(folder), f"{folder}/.clawft", str(project), str(project))
    return Sandbox(SandboxSettings(**settings), workspace, {"PATH": path})


async def run(sandbox: Sandbox, folder: Path, **more: Any) -> int:
    done = await sandbox.run(
        "touch made", cwd=str(folder), env={"PATH": "/usr/bin:/bin"}, timeout_s=30, max_bytes=1000, **more
    )
    return done.code


async def test_without_a_sandbox_nothing_runs_unasked(tmp_path: Path) -> None:
    sandbox = open_sandbox(tmp_path, mode="bubblewrap")
    assert (sandbox.status().kind, sandbox.status().reason) == ("none", "bubblewrap is not installed")
    with pytest.raises(Refused) as refused:
        await run(sandbox, tmp_path)
    assert refused.value.code == "sandbox-unavailable"
    assert "bubblewrap is not installed" in str(refused.value)
    assert not (tmp_path / "made").exists()


async def test_a_person_is_told_why_and_may_say_yes(tmp_path: Path) -> None:
    asked: list[str] = []

    async def ask(reason: str) -> bool:
        asked.append(reason)
        return len(asked) == 2

    sandbox = open_sandbox(tmp_path, mode="bubblewrap")
    with pytest.raises(Refused):
        await run(sandbox, tmp_path, ask=ask)
    assert not (tmp_path / "made").exists()
    assert await run(sandbox, tmp_path, ask=ask) == 0
    assert asked == ["bubblewrap is not installed"] * 2


async def test_a_user_who_wants_it_so_is_not_even_asked(tmp_path: Path) -> None:
    async def ask(reason: str) -> bool:
        raise AssertionError(reason)

    with pytest.raises(Refused):
        await run(open_sandbox(tmp_path, mode="bubblewrap", if_unavailable="refuse"), tmp_path, ask=ask)


async def test_a_bubblewrap_that_does_not_work_is_no_sandbox(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    status = open_sandbox(tmp_path, str(program.parent), mode="bubblewrap").status()
    assert status.kind == "none"
    assert "setting up uid map: Permission denied" in status.reason


async def test_a_bubblewrap_that_only_runs_the_program_is_no_sandbox(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    program.chmod(0o755)
    assert open_sandbox(tmp_path, str(program.parent), mode="bubblewrap").status().kind == "none"


@pytest.mark.parametrize("path", ["{project}", "{project}/bin", "bin:.", ""])
async def test_a_bubblewrap_of_the_project_is_never_started(tmp_path: Path, path: str, monkeypatch: Any) -> None:
    sandbox = open_sandbox(tmp_path, path.format(project=tmp_path / "project"), mode="bubblewrap")
    for folder in (tmp_path / "project", tmp_path / "project/bin"):
        folder.mkdir(exist_ok=True)
        (folder / "bwrap").write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\n")
        (folder / "bwrap").chmod(0o755)
    monkeypatch.chdir(tmp_path / "project")
    reason = f"commands of the sandbox can write {path}/bwrap" if "{" in path else "bubblewrap is not installed"
    assert sandbox.status().reason.endswith(reason.format(project=tmp_path / "project"))
    assert not (tmp_path / "owned").exists()


def test_auto_takes_landlock_where_there_is_no_bubblewrap(tmp_path: Path) -> None:
    status = open_sandbox(tmp_path).status()
    if status.kind == "none":
        pytest.skip(f"there is no landlock here: {status.reason}")
    assert (status.kind, status.reason) == ("landlock", "bubblewrap is not installed")


async def test_off_is_said_and_runs_with_all_rights(tmp_path: Path) -> None:
    sandbox = open_sandbox(tmp_path, mode="off")
    assert sandbox.status().kind == "off"
    assert await run(sandbox, tmp_path) == 0
    assert (tmp_path / "made").exists()


def test_a_project_says_nothing_of_the_sandbox(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path), f"{tmp_path}/user", str(tmp_path), str(tmp_path))
    for folder, text in (("user", 'readable = ["~/a"]'), (".clawft", 'mode = "off"\nwritable = ["/"]')):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.toml").write_text(f"[sandbox]\n{text}\n")
    config = load_config(workspace, {"CLAWFT_SANDBOX__MAX_PROCESSES": "64"})
    assert config.own(workspace.user_dir).sandbox == SandboxSettings(readable=("~/a",), max_processes=64)
