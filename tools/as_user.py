"""Run Python with arguments as a normal user, where the caller is root: `tools/as_user.py -m pytest tests/sandbox`.

Confinement is tested as root and as a user who is not. The user is `nobody`, with an empty home. Its Python is that of
a virtual environment made for it, with the packages of .venv, since the Python of .venv may lie where only root gets.
"""

import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"


def find_python(prefix: Sequence[str]) -> str:
    """Return a Python of this version that the user can start, or ''."""
    for python in (os.path.realpath(sys.executable), f"/usr/bin/{_VERSION}", f"/usr/local/bin/{_VERSION}"):
        if (
            subprocess.run([*prefix, "/bin/sh", "-c", f"{python} -c ''"], capture_output=True, check=False).returncode
            == 0
        ):
            return python
    return ""


def make_environment(python: str, folder: Path) -> Path:
    """Make a virtual environment with the packages and programs of this one; return its Python."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    packages = folder / "lib" / _VERSION / "site-packages" / "shared.pth"
    packages.write_text(f"{sysconfig.get_path('purelib')}\n{ROOT / 'src'}\n")
    theirs, ours = folder / "bin", Path(sysconfig.get_path("scripts"))
    shebang = f"#!{theirs / 'python'}\n".encode()
    for program in ours.iterdir():
        target = theirs / program.name
        if target.exists() or program.is_symlink():
            continue
        content = program.read_bytes()
        if content.startswith(f"#!{ours}".encode()):
            target.write_bytes(shebang + content.partition(b"\n")[2])
            target.chmod(0o755)
        else:
            target.symlink_to(program)
    return theirs / "python"


def main(arguments: Sequence[str]) -> int:
    if os.getuid() != 0:
        return subprocess.run([sys.executable, *arguments], check=False).returncode
    user = pwd.getpwnam("nobody")
    prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--bounding-set=-all"]
    prefix += ["--inh-caps=-all"]
    python = find_python(prefix)
    if not python:
        print("no Python here that a normal user can start", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="u", dir="/var/tmp") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        os.chmod(folder, 0o755)
        shutil.chown(home, user.pw_uid, user.pw_gid)
        python = str(make_environment(python, Path(folder) / "venv"))
        environ = {**os.environ, "HOME": str(home), "USER": "nobody", "TMPDIR": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
        environ |= {"PATH": f"{os.path.dirname(python)}:/usr/local/bin:/usr/bin:/bin"}
        environ |= {"PYTEST_ADDOPTS": f"-o cache_dir={home}/pytest"}
        return subprocess.run([*prefix, python, *arguments], env=environ, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
