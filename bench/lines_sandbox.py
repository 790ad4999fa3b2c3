"""The line of the sandbox: what a confined command costs beyond bubblewrap itself."""

import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import anyio
from msgspec import structs

from clawft.config.tools import SandboxSettings
from clawft.sandbox.bubblewrap import base_flags, give_files, visible_flags
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.guard import FolderGuard
from clawft.sandbox.sandbox import Sandbox
from clawft.sandbox.visible_files import VisibleFiles, VisibleFilesBuilder
from clawft.workspace import Workspace
from git_worlds import GitWorld
from report import Line

LIMIT = 1.3
COPIES_LIMIT = 1.5  # of a command that changes nothing, with private copies and without
IMPORT_LIMIT = 3.0  # of a commit, with its import, to one in the same sandbox on the real repository
ENV = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
COMMAND = "true"
_COMMIT = "echo x >> file1.py; git commit -qam more"


def measure_sandbox(folder: Path, rounds: int) -> list[Line]:
    """One command by the sandbox, and by `bwrap` with the same flags, in turn; the medians. None without bubblewrap."""
    project = folder / "project"
    for name in (".git/objects", "src", "docs"):
        (project / name).mkdir(parents=True)
    workspace = Workspace(str(folder / "home"), str(folder / "home/.clawft"), str(project), str(project))
    sandbox = Sandbox(SandboxSettings(), workspace, ENV)
    if sandbox.status().kind != "bubblewrap":
        return []
    ours, plain = anyio.run(_measure, sandbox, _plain_words(sandbox, workspace), rounds)
    what = f"a command in the sandbox, from the call to its result; the median of {rounds}"
    return [
        Line("sandbox", what, "bubblewrap with the same flags, by subprocess.run", ours, plain, "ms", LIMIT),
        *_measure_copies(folder / "copies", rounds),
    ]


def _measure_copies(folder: Path, rounds: int) -> list[Line]:
    """Commands in an ordinary repository: one that changes nothing, and one that commits."""
    world = GitWorld(folder)
    for number in range(30):
        (world.root / f"file{number}.py").write_text(f"print({number})\n" * 100)
        world.git("add", ".")
        world.git("commit", "-qm", str(number))
    same = anyio.run(_measure_both, world, "true", "true", rounds)
    commit = anyio.run(_measure_both, world, _COMMIT, f"cd {world.root}; {_COMMIT}", rounds)
    copies, peer = "with private copies of the repository and agents' files", "the same command without copies"
    return [
        Line("sandbox copies", f"a command {copies}, which it leaves alone", peer, *same, "ms", COPIES_LIMIT),
        Line("sandbox import", f"git commit {copies}, and the import of it", peer, *commit, "ms", IMPORT_LIMIT),
    ]


async def _measure_both(world: GitWorld, command: str, plain: str, rounds: int) -> tuple[float, float]:
    """The medians with copies, and on the real files: all in the project is the command's own."""
    own = Confinement(own=(str(world.root),))
    ours, bare = [], []
    for number in range(rounds + 2):
        start = time.perf_counter()
        await world.do(command)
        middle = time.perf_counter()
        done = await world.sandbox.run(plain, cwd="/", env=world.env, timeout_s=60, max_bytes=32_768, confinement=own)
        if done.code:
            raise SystemExit(f"error: the command ended with {done.code}: {done.output!r}")
        if number >= 2:
            ours.append((middle - start) * 1000)
            bare.append((time.perf_counter() - middle) * 1000)
    return statistics.median(ours), statistics.median(bare)


def _plain_words(sandbox: Sandbox, workspace: Workspace) -> list[str]:
    project = workspace.project
    visible = VisibleFilesBuilder(sandbox.settings, workspace).build(Confinement(writable=(project,)), ENV["PATH"])
    flags = [
        *base_flags(workspace.home, sandbox.limits, nested=False),
        *visible_flags(_stand_in(visible), ENV, project),
    ]
    return [*flags, "--", "/bin/sh", "-c", COMMAND]


def _stand_in(visible: VisibleFiles) -> VisibleFiles:
    """The same mounts for what is not there, which the sandbox makes for a moment: on a folder that is."""
    ((root, guard),) = visible.writable
    instead = tuple(f"{root.path}/docs" for _ in guard.missing)
    return structs.replace(visible, writable=((root, FolderGuard(guard.read_only, guard.hidden, instead)),))


async def _measure(sandbox: Sandbox, words: list[str], rounds: int) -> tuple[float, float]:
    project = sandbox.workspace.project
    confinement = Confinement(writable=(project,))
    ours, plain = [], []
    for number in range(rounds + 2):
        start = time.perf_counter()
        done = await sandbox.run(COMMAND, cwd=project, env=ENV, timeout_s=60, max_bytes=32_768, confinement=confinement)
        taken = time.perf_counter() - start
        if done.code != 0:
            raise SystemExit(f"error: the command ended with {done.code}: {done.output!r}")
        if number >= 2:  # the first ones load what is needed
            ours.append(taken * 1000)
            plain.append(_run_plain(words) * 1000)
    return statistics.median(ours), statistics.median(plain)


def _run_plain(words: list[str]) -> float:
    """The seconds that it takes; the descriptors that it reads are there before."""
    given: list[int] = []
    line = [shutil.which("bwrap") or "bwrap", *give_files(given), *words]
    start = time.perf_counter()
    subprocess.run(
        line, env={}, capture_output=True, stdin=subprocess.DEVNULL, check=True, timeout=60, pass_fds=tuple(given)
    )
    taken = time.perf_counter() - start
    for one in given:
        os.close(one)
    return taken
