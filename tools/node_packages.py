"""Packages of node for tests: installed once into .cache/, from a lock file with hashes, and nothing of them is run."""

import shutil
import subprocess
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def install_packages(source: Path) -> Path:
    """The folder with the packages that `source` names in package.json and package-lock.json; skips without node."""
    if not (shutil.which("node") and shutil.which("npm")):
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
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110, check=False)
            assert done.returncode == 0, done.stderr
            shutil.copy(lock, installed)
    return folder / "node_modules"
