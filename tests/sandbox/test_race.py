"""Sandboxes that start while another program exchanges folders of the project for links: nothing outside is reached."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from clawft.errors import ClawftError
from clawft.sandbox.confinement import Confinement

pytestmark = [pytest.mark.anyio, pytest.mark.unmeasured]
Box = Any
STARTS = 12  # of each case, so some two hundred; `make soak` has thousands
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
        if way == "closed":
            os.chmod(one, 0)
            os.chmod(one, 0o755)
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
            swapper.wait()


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


@pytest.mark.parametrize("name", [".", "sub"])
async def test_no_start_reads_a_secret_while_folders_lose_their_rights_for_a_moment(box: Box, name: str) -> None:
    sub = box.project / "sub"
    (sub / ".git").mkdir(parents=True)
    (sub / ".git" / "config").write_text('[remote "origin"]\n\turl = https://HIDDEN@example.com/a.git\n')
    (sub / ".env").write_text("HIDDEN")
    (sub / "deploy.pem").write_text("-----BEGIN PRIVATE KEY-----\nHIDDEN")
    look = "for one in 1 2 3; do cat sub/.env sub/*.pem sub/.git/config; echo x > sub/.git/made; done 2>/dev/null"
    with swapping(box.project, "closed", name):
        for _ in range(STARTS):
            assert "HIDDEN" not in await start(box, look)
    (box.project / name).chmod(0o755)
    assert os.listdir(sub / ".git") == ["config"]


async def test_stand_ins_change_the_rights_of_nothing_outside_while_folders_are_exchanged(box: Box) -> None:
    victim = box.folder / "private"
    victim.write_text("SECRET")
    victim.chmod(0o600)
    for name in ("out", "out-link"):
        (box.project / name).mkdir()
    (box.project / "out-link" / ".git").symlink_to(victim)
    granted = Confinement(writable=(str(box.project / "out"),), readable=(str(box.project),))
    with swapping(box.project, "exchanged", "out"):
        for _ in range(STARTS):
            await start(box, "true", granted)
    assert victim.stat().st_mode & 0o7777 == 0o600


async def test_a_project_that_nobody_changes_is_mounted_at_the_first_try(wrapped: Box) -> None:
    fill(wrapped)
    (wrapped.project / "deep" / "er").mkdir(parents=True)
    (wrapped.project / "deep" / "er" / ".env").write_text("HIDDEN")
    said = await wrapped.say("cat deep/er/.env 2>/dev/null; echo ran")
    assert said == "ran\n"


USE = "cat out/secret.txt 2>/dev/null; echo x 2>/dev/null > out/written; echo ran"


def grant(box: Box, how: str) -> tuple[Confinement, dict[str, Any]]:
    """The folder `out` of the project, as a server, a hook, a plugin or the settings are given one."""
    project, out = str(box.project), str(box.project / "out")
    kinds: dict[str, tuple[Confinement, dict[str, Any]]] = {
        "writable": (Confinement(writable=(out,), readable=(project,)), {}),
        "beside": (Confinement(writable=(project, out)), {}),
        "readable": (Confinement(writable=(project,), readable=(out,)), {}),
        "whole": (Confinement(writable=(project,), whole={"named": (out,)}), {}),
        "settings": (Confinement(writable=(project,)), {"writable": ("out",)}),
        "shown": (Confinement(writable=(project,)), {"readable": ("out",)}),
    }
    return kinds[how]


@pytest.mark.parametrize("how", ["writable", "beside", "readable", "whole", "settings", "shown"])
async def test_a_link_in_the_place_of_a_folder_that_was_granted_opens_nothing(box: Box, how: str) -> None:
    outside = fill(box)
    (box.project / "out").symlink_to(outside)
    confinement, settings = grant(box, how)
    with pytest.raises(ClawftError) as caught:
        await box.run(USE, confinement, sandbox=box.open(**settings))

    assert caught.value.code == "sandbox-link"
    assert str(box.project / "out") in caught.value.diagnostic.path
    assert sorted(os.listdir(outside)) == [".git", "keep", "secret.txt"]


async def test_a_link_that_stays_in_its_folder_leads_where_it_says(box: Box) -> None:
    (box.project / "real" / "deep").mkdir(parents=True)
    (box.project / "out").symlink_to("real")
    confinement, _ = grant(box, "writable")
    assert (await box.say("echo x > real/deep/written; cat real/deep/written", confinement)) == "x\n"


@pytest.mark.parametrize("how", ["writable", "readable", "settings"])
async def test_no_folder_that_was_granted_is_exchanged_for_a_link_while_programs_start(box: Box, how: str) -> None:
    outside = fill(box)
    (box.project / "out").mkdir()
    (box.project / "out-link").symlink_to(outside)
    confinement, settings = grant(box, how)
    sandbox = box.open(**settings)
    with swapping(box.project, "exchanged", "out"):
        for _ in range(STARTS):
            try:
                said = (await box.run(USE, confinement, sandbox=sandbox)).output.decode()
            except ClawftError as error:
                said = error.code
            assert said.rstrip() in ("ran", "sandbox-link", "sandbox-changed", "sandbox-failed")
    assert sorted(os.listdir(outside)) == [".git", "keep", "secret.txt"]


FORGER = """
import ctypes, os, random, sys, time
libc, ended = ctypes.CDLL(None), time.monotonic() + 300
chance, outside = random.Random(int(sys.argv[1])), sys.argv[2:]
def exchange(one, other):
    libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2)
def link(one, other):
    os.symlink(chance.choice(outside), f"{one}.link")
    exchange(one, f"{one}.link")
def back(one, other):
    exchange(one, f"{one}.link")
    os.unlink(f"{one}.link")
def replace(one, other):
    os.rename(one, f"{one}.away")
    os.symlink(chance.choice(outside), one)
def restore(one, other):
    os.unlink(one)
    os.rename(f"{one}.away", one)
def hard(one, other):
    os.link(one, f"{other}/hard")
print("ready", flush=True)
while time.monotonic() < ended and not os.path.exists("enough"):
    found = [os.path.join(top, name) for top, folders, names in os.walk(".") for name in folders + names][:200]
    for _ in range(200):
        action = chance.choice([exchange, exchange, link, link, back, replace, restore, os.rename, hard])
        try:
            action(chance.choice(found), chance.choice(found))
        except OSError:
            pass
"""
LOOK = "grep -rs -e SECRET -e HIDDEN . 2>/dev/null; find . -exec cat {} + 2>/dev/null"
CHANGE = "find . -type d -exec sh -c 'for one; do echo x > $one/written; echo x > $one/../AGENTS.md; done' sh {} +"


def grow(chance: random.Random, root: Path, outside: Path) -> list[Path]:
    """A random tree with repositories, secrets and links out of it; the files that must stay as they are."""
    guarded, folders = [], [root]
    for number in range(chance.randint(6, 20)):
        folder = chance.choice(folders) / chance.choice(["src", "lib", f"f{number}", ".config", "a b"])
        folder.mkdir(exist_ok=True)
        folders.append(folder)
        (folder / "notes.txt").write_text("x")
        if chance.random() < 0.3:
            (folder / ".env").write_text("HIDDEN")
        if chance.random() < 0.3 and not (folder / ".git").exists():
            (folder / ".git").mkdir()
            (folder / ".git" / "config").write_text("[core]")
            guarded.append(folder / ".git" / "config")
        if chance.random() < 0.3:
            (folder / f"out{number}").symlink_to(chance.choice([str(outside), f"{outside}/secret.txt", "..", "/etc"]))
    (root / "AGENTS.md").write_text("mine")
    return [*guarded, root / "AGENTS.md"]


async def race(box: Box, seed: int, starts: int) -> int:
    """Start programs while another confined program forges the project; how many ran."""
    chance, ran = random.Random(seed), 0
    outside = box.folder / "outside"
    (outside / ".git").mkdir(parents=True)
    for path in (outside / "secret.txt", outside / ".git" / "secret.txt", box.home / "secret.txt"):
        path.write_text("SECRET")
    guarded = grow(chance, box.project, outside)
    before = {path: path.read_bytes() for path in guarded}
    (box.project / "forger.py").write_text(FORGER)
    places = " ".join(map(str, (outside, outside / "secret.txt", box.home, box.user_dir)))

    async def forge() -> None:
        done = await box.run(f"/usr/bin/python3 forger.py {seed} {places}", timeout_s=400)
        assert b"ready" in done.output, done

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(forge)
        for _ in range(starts):
            said = await start(box, f"{LOOK}; {CHANGE} 2>/dev/null; echo; echo ran")
            assert "SECRET" not in said, seed
            assert "HIDDEN" not in said, seed
            ran += said.endswith("ran\n")
        (box.project / "enough").touch()
    assert sorted(path.name for path in outside.rglob("*")) == [".git", "secret.txt", "secret.txt"], seed
    assert sorted(os.listdir(box.home)) == [".clawft", "secret.txt"], seed
    assert {path: path.read_bytes() for path in guarded if path.exists()} == before, seed
    return ran


@pytest.mark.parametrize("seed", range(4))
async def test_random_projects_keep_what_is_outside_and_hidden_from_programs_that_start(box: Box, seed: int) -> None:
    assert await race(box, seed, 12) > 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
async def test_many_random_projects_keep_what_is_outside_and_hidden(box: Box, seed: int) -> None:
    assert await race(box, seed, 100) > 0
