"""Packages of node for tests: installed once into .cache/, from a lock file with hashes, and nothing of them is run.

`make test` installs them beside the lint (`python tools/node_packages.py`), so that no test waits for npm.
"""

import shutil
import subprocess
import sys
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TIMEOUT_S = 280


def install_packages(source: Path) -> Path:
    """The folder with the packages that `source` names in package.json and package-lock.json; skips without node."""
    if not has_node():
        pytest.skip("node and npm are not installed")
    lock = source / "package-lock.json"
    folder = ROOT / ".cache" / "node" / source.name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as held:
        flock(held, LOCK_EX)  # another worker may be installing them
        installed = folder / "installed"
        if not (installed.exists() and installed.read_bytes() == lock.read_bytes()):
            shutil.copy(source / "package.json", folder)
            shutil.copy(lock, folder)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
            assert done.returncode == 0, done.stderr
            shutil.copy(lock, installed)
    return folder / "node_modules"


def has_node() -> bool:
    return bool(shutil.which("node") and shutil.which("npm"))


def main() -> int:
    """Install the packages of every folder in tests/ that has a lock file of npm."""
    if not has_node():
        print("node and npm are not installed: tests that need them are skipped")
        return 0
    for lock in sorted((ROOT / "tests").rglob("package-lock.json")):
        install_packages(lock.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
