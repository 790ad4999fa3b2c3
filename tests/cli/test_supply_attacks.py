"""What somebody tries who wrote a project, or publishes a skill: by its lock, its links, its name."""

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.locks.file import render_lock
from clawft.locks.model import LockedFile, LockedSkill, Origin

Weft = Callable[..., subprocess.CompletedProcess[str]]

TEXT = "---\nname: {}\ndescription: Tells the tides of a harbour. Use it when somebody asks.\n---\n{}\n"


def make(folder: Path, name: str = "", text: str = "Tell the tides.") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(TEXT.format(name or folder.name, text))
    return folder


def forge(project: Path, skill: Path, to: str, origin: Origin) -> Path:
    """A lock that comes with a project, and names a skill as it is in some folder."""
    data = (skill / "SKILL.md").read_bytes()
    content = hashlib.sha256(data).hexdigest()
    digest = hashlib.sha256(f"SKILL.md\0-\0{len(data)}\0{content}\n".encode()).hexdigest()
    files = {"SKILL.md": LockedFile(content, len(data))}
    lock = project / ".clawft" / "skills.lock"
    lock.parent.mkdir(exist_ok=True)
    lock.write_text(render_lock([LockedSkill(skill.name, origin, f"sha256:{digest}", files, to=(to,))]))
    return lock


def dig(folder: Path, depth: int = 1100) -> None:
    """Folders in folders, deeper than any function calls itself."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


@pytest.mark.parametrize(
    "text", [f"version = {'1' * 5000}\n", 'version = 1\n[skill.x]\nto = [["clawft"]]\nfiles = []\n']
)
def test_a_lock_of_wrong_types_is_told_of_and_not_followed(weft: Weft, project: Path, text: str) -> None:
    (project / ".clawft").mkdir()
    (project / ".clawft" / "skills.lock").write_text(text)

    done = weft("skills", "verify")

    assert (done.returncode, "lock-invalid" in done.stderr) == (1, True), done.stderr


def test_folders_without_end_are_a_difference_and_no_crash(weft: Weft, project: Path) -> None:
    tides = make(project / ".clawft" / "skills" / "tides")
    forge(project, tides, "clawft", Origin("folder", "/nowhere"))
    agents = make(project / ".agents" / "skills" / "tides")
    (project / "skills-lock.json").write_text('{"version": 1, "skills": {"tides": {"computedHash": "00"}}}')
    dig(tides)
    dig(agents)

    done = weft("skills", "verify")

    assert done.returncode == 1
    assert ("too deep" in done.stdout, "too large" in done.stdout) == (True, True), done.stdout
