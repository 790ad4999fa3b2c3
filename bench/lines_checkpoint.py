"""The line about checkpoints: what a turn pays that changes nothing, on a project that git knows."""

import subprocess
from pathlib import Path

from clawft.agent.checkpoints.snapshot import record_project
from clawft.agent.checkpoints.store import open_store
from make_skills import make_body, wait_until_settled
from measure import Timed, best_ms
from report import Line

FOLDERS = 500
SETTLE_S = 2.5  # a file that was changed later than two seconds before is read again
LIMIT = 3


def measure_checkpoint(folder: Path, files: int, rounds: int) -> Line:
    """Record a project in which nothing changed, opening the store included, and `git status` on the same."""
    project, user_dir = folder / "project", folder / "home"
    text = make_body(4_000)
    for number in range(files):
        path = project / f"package{number % 50}" / f"module{number % FOLDERS}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n{number}\n")
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "all")):
        subprocess.run(["git", *words], cwd=project, check=True, stdout=subprocess.DEVNULL)

    def record() -> None:
        with open_store(str(user_dir), str(project)) as store:
            record_project(store, str(project), str(user_dir))

    def ask_git() -> None:
        subprocess.run(["git", "status", "--porcelain"], cwd=project, check=True, stdout=subprocess.DEVNULL)

    record()
    wait_until_settled(SETTLE_S)
    ours, theirs = best_ms(rounds, Timed(record), Timed(ask_git))
    what = f"a checkpoint of a project of {files} files in which nothing changed"
    return Line("checkpoint", what, "git status", ours, theirs, "ms", LIMIT)
