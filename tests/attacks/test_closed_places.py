"""Places inside the project that stay closed, two programs later: one prepares, the next would profit from it."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from arena import Arena

pytestmark = pytest.mark.anyio

KEY = "TOP-SECRET-KEY"
MAKE_FOLDERS = "import os; [os.mkdir(f'wide/{n}') for n in range(3000)]"


@pytest.fixture
def project(arena: Arena) -> Path:
    """With a place for a key, and a repository, inside of a folder."""
    (arena.project / "sub/.git/hooks").mkdir(parents=True)
    (arena.project / "sub/.git/config").write_text("[core]\n")
    (arena.project / "sub/.env").write_text(KEY)
    (arena.project / "wide").mkdir()
    return arena.project


async def test_what_is_closed_cannot_be_moved_to_where_it_is_open(arena: Arena, project: Path) -> None:
    names = ("sub", "venv", "wide/sub")
    writes = [f"cp sub.txt {one}/.git/hooks/pre-commit" for one in names]
    (project / "sub.txt").touch()
    shown = await arena.shell(
        "mv sub venv; mv sub wide/sub; rm -rf sub/.git; ln sub/.env wide/env; mv wide sub/.git/wide",
        "cat sub/.env venv/.env wide/sub/.env wide/env",
        "; ".join(writes),
    )

    assert KEY not in shown
    assert (project / "sub/.env").read_text() == KEY
    assert not list(project.rglob("pre-commit"))
    assert len(arena.audit("command", "allowed")) == 3


async def test_the_rights_and_times_of_what_is_closed_stay_as_they_are(arena: Arena, project: Path) -> None:
    """Rights that everybody has to a key, or that make a program of a hook, are changes, too."""
    (arena.world.user_dir / "kept").touch()
    closed = (arena.home / "private.txt", arena.world.user_dir / "kept")
    places = [*closed, project / ".git/HEAD", project / "sub/.git/config"]
    before = [(one.stat().st_mode, one.stat().st_mtime) for one in places]
    named = " ".join(map(str, places))
    await arena.shell(
        f"chmod 777 {named}; touch -c -d 2001-01-01 {named}",
        "touch wide/made; chmod 700 wide/made; mv wide/made wide/moved",
    )

    assert [(one.stat().st_mode, one.stat().st_mtime) for one in places] == before
    assert (project / "wide/moved").stat().st_mode & 0o777 == 0o700
    assert len(arena.audit("command", "allowed")) == 2


async def test_what_is_closed_does_not_drown_among_others(arena: Arena, project: Path) -> None:
    (project / "sub/in").mkdir()
    (project / "sub/in/.env").write_text(KEY)
    shown = await arena.shell(f'/usr/bin/python3 -c "{MAKE_FOLDERS}"', "cat sub/in/.env", "touch sub/.git/hooks/made")

    assert len(list((project / "wide").iterdir())) == 3000
    assert KEY not in shown
    assert not (project / "sub/.git/hooks/made").exists()
    assert len(arena.audit("command")) == 3


def test_a_folder_that_cannot_be_listed_is_closed_as_a_whole(tmp_path: Path) -> None:
    """A program could give itself the right to list it, and would find there what nobody has looked for."""
    (tmp_path / "sub").mkdir(mode=0o000)
    find = f"print(*FolderGuards('/home', '/home/x').find('{tmp_path}').hidden)"
    find = f"from clawft.sandbox.guard import FolderGuards; {find}"
    as_user = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    found = subprocess.run([*as_user, sys.executable, "-c", find], check=True, capture_output=True, text=True)
    (tmp_path / "sub").chmod(0o700)

    assert found.stdout.split() == [str(tmp_path / "sub")]


async def test_a_service_of_this_machine_is_not_reached_through_its_socket(arena: Arena, project: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(project / "wide/db.sock"))
        server.listen()
        server.setblocking(False)
        connect = "import socket; socket.socket(socket.AF_UNIX).connect('wide/db.sock')"
        shown = await arena.shell(f'/usr/bin/python3 -c "{connect}"')
        with pytest.raises(BlockingIOError):
            server.accept()

    assert "Error" in shown
    assert len(arena.audit("command", "allowed")) == 1
