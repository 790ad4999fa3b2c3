"""The line of `weft skills verify`: a thousand installed skills against their lock, as a command."""

import hashlib
import os
import random
import subprocess
import sysconfig
from pathlib import Path

from clawft.install.lockfile.file import compute_locked, write_lock
from clawft.install.lockfile.model import LockedFile, LockedSkill, SkillOrigin
from measure import Timed, best_ms
from report import Line

TIMEOUT_S = 60
# Most skills of the archive have a few texts; together they are some twenty kilobytes.
_PARTS = ("SKILL.md", "references/guide.md", "scripts/run.py", "README.md", "references/api.md")
_BYTES = (1_500, 9_000)


def measure_verify(folder: Path, skills: int, rounds: int) -> Line:
    """Both read every byte; ours also finds what is missing or was added. `folder` is made."""
    home = folder / "home"
    paths = write_installed(home / ".clawft", skills)
    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
    weft = os.path.join(sysconfig.get_path("scripts"), "weft")

    def start(*words: str) -> None:
        subprocess.run(words, env=environ, cwd=folder, check=True, timeout=TIMEOUT_S, capture_output=True)

    start(weft, "skills", "verify")
    ours, sums = best_ms(
        rounds, Timed(lambda: start(weft, "skills", "verify")), Timed(lambda: start("sha256sum", *paths))
    )
    what = f"`weft skills verify` of {skills} skills with {len(paths)} files, as a process"
    return Line("verify", what, "`sha256sum` of the same files, as one process", ours, sums, "ms", 1.5)


def write_installed(user_dir: Path, skills: int) -> list[str]:
    """Skills with a lock that names them; the paths of all their files."""
    draw = random.Random(0)
    locked: list[LockedSkill] = []
    paths: list[str] = []
    for number in range(skills):
        name = f"skill-{number:04}"
        files: dict[str, LockedFile] = {}
        for part in _PARTS[: 3 + number % 3]:
            path = user_dir / "skills" / name / part
            path.parent.mkdir(parents=True, exist_ok=True)
            content = draw.randbytes(draw.randint(*_BYTES))
            path.write_bytes(content)
            files[part] = LockedFile(hashlib.sha256(content).hexdigest(), len(content))
            paths.append(str(path))
        origin = SkillOrigin("clawhub", "https://clawhub.ai", "somebody", name)
        locked.append(LockedSkill(name, origin, compute_locked(files), files, version="1.0.0", verdict="clean"))
    write_lock(str(user_dir / "skills.lock"), locked)
    return paths
