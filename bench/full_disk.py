"""Runs on a disk that fills up, in a process of its own: it mounts a small one, which is gone with its mount namespace.

Usage: unshare --mount python full_disk.py FOLDER
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

from chaos import Chaos, ten_steps, until

LABELS = ("r1", "r2", "r3")


def main(folder: Path) -> None:
    with Chaos(folder, script=lambda label, place: ten_steps(label, place, 0.2)) as chaos:
        disk, sessions = chaos.user_dir / "runs", chaos.user_dir / "sessions"
        for folder in (disk, sessions):
            folder.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=True)
        _fill(sessions / "filler")
        worker = chaos.work_now()
        chaos.start(*LABELS)
        until(lambda: len(chaos.calls) >= 6, 20, "runs are under way")
        _fill(disk / "filler")
        said = worker.wait_to_say("runs-disk-full")
        assert "The database of runs cannot be used: database or disk is full" in said, said
        assert "hint: Make room on the disk; runs go on by themselves" in said, said
        (disk / "filler").unlink()
        said = worker.wait_to_say("The session could not be written: No space left on device")
        assert said.count("hint: Make room on the disk; runs go on by themselves") == 2, said
        (sessions / "filler").unlink()
        for label in LABELS:
            chaos.wait_for(label)
        assert chaos.count() == Counter((label, name) for label in LABELS for name in "ab"), chaos.count()
        assert len(chaos.calls) == 15, chaos.calls  # what was answered meanwhile was kept
        assert not chaos.questions(open_only=False)
        assert "Traceback" not in worker.said, worker.said


def _fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(4096))
            except OSError:
                return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
