"""The hash of a folder as git has it."""

import os
import subprocess
from pathlib import Path

from clawft.install.lockfile.foreign import hash_tree


def test_it_is_what_git_says(tmp_path: Path) -> None:
    for name, content in {
        "SKILL.md": "x",
        "a/b.txt": "y",
        "a.txt": "z",
        "a-b": "",
        "scripts/run.sh": "#!/bin/sh",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "scripts" / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("SKILL.md")
    (tmp_path / "empty").mkdir()

    def git(*words: str) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *words], cwd=tmp_path, env=env, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout.strip()

    git("init", "-q")
    git("add", "-A")
    tree = git("write-tree")
    assert hash_tree(str(tmp_path)) == tree
    (tmp_path / "scripts" / "run.sh").chmod(0o644)
    assert hash_tree(str(tmp_path)) != tree
    assert hash_tree(str(tmp_path), scripts=True) == tree
