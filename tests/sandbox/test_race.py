"""Sandboxes that start while another program exchanges folders of the project for links: nothing outside is reached."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clawft.errors import ClawftError
from clawft.sandbox.confinement import Confinement

pytestmark = [pytest.mark.anyio, pytest.mark.unmeasured]
Box = Any
STARTS = 40
# What a program in a sandbox of its own can do: exchange two names in the project, as fast as it can.
SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
way, names = sys.argv[1], sys.argv[2:]
print("ready", flush=True)
while os.getppid() != 1:
    for one in names:
        if way == "exchanged":
            libc.renameat2(-100, one.encode(), -100, f"{one}-link".encode(), 2)
            continue
        os.rename(one, f"{one}-away")  # for a moment there is nothing
        os.rename(f"{one}-link", one)
        os.rename(one, f"{one}-link")
        os.rename(f"{one}-away", one)
"""


@contextmanager
def swapping(folder: Path, way: str, *names: str) -> Iterator[None]:
    """Have another process exchange folders with links beside them meanwhile."""
    words = [sys.executable, "-c", SWAPPER, way, *names]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            swapper.kill()


def fill(box: Box) -> Path:
    """A project whose folders hold what makes them be mounted one by one, with links beside them; secrets outside."""
    outside: Path = box.folder / "outside"
    for name in (".git", "keep"):
        (outside / name).mkdir(parents=True)
    (outside / "secret.txt").write_text("SECRET")
    (outside / ".git" / "secret.txt").write_text("SECRET")
    for name in ("a", "b"):
        (box.project / name / ".git").mkdir(parents=True)
        os.symlink(outside, box.project / f"{name}-link")
    (box.project / "real" / ".git").mkdir(parents=True)
    (box.project / "real" / ".env").write_text("HIDDEN")
    return outside


async def start(box: Box, command: str, confinement: Confinement | None = None) -> str:
    try:
        done = await box.run(command, confinement)
    except ClawftError as error:
        return error.code
    return str(done.output.decode())


READ = "cat a/secret.txt a/.git/secret.txt b/secret.txt a-link/secret.txt real/.env 2>/dev/null"
WRITE = "for one in a b a-link b-link real; do echo x > $one/written; echo x > $one/.git/written; done 2>/dev/null"


@pytest.mark.parametrize("way", ["exchanged", "moved"])
async def test_no_start_reads_or_writes_outside_while_folders_become_links(box: Box, way: str) -> None:
    outside = fill(box)
    before = sorted(str(path) for path in outside.rglob("*"))
    with swapping(box.project, way, "a", "b"):
        for _ in range(STARTS):
            said = await start(box, f"{READ}; {WRITE}; echo ran")
            assert "SECRET" not in said
            assert "HIDDEN" not in said
            assert said.rstrip() in ("ran", "sandbox-changed", "sandbox-failed")
    assert sorted(str(path) for path in outside.rglob("*")) == before
    assert os.listdir(box.project / "real" / ".git") == []


async def test_a_project_that_nobody_changes_is_mounted_at_the_first_try(wrapped: Box) -> None:
    fill(wrapped)
    (wrapped.project / "deep" / "er").mkdir(parents=True)
    (wrapped.project / "deep" / "er" / ".env").write_text("HIDDEN")
    said = await wrapped.say("cat deep/er/.env 2>/dev/null; echo ran")
    assert said == "ran\n"
