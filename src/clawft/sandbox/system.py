"""The part of the machine that every confined program sees, read-only: its programs, and what they need to start.

Nothing here is a secret of the user: of /etc only files that anybody may read, of PATH only folders of programs.
"""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from clawft.files import is_within, real_path

__all__ = ["ETC", "FOLDERS", "LEAST_ETC", "find_programs"]

FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
ETC = (
    "alternatives", "bash.bashrc", "ca-certificates", "crypto-policies", "debian_version", "fonts", "gitconfig",
    "host.conf", "java-17-openjdk", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf",
    "localtime", "magic", "magic.mime", "mime.types", "nsswitch.conf", "os-release", "papersize", "perl",
    "pki/ca-trust", "pki/tls/certs", "profile", "protocols", "python3", "services", "shells", "ssl/certs",
    "ssl/openssl.cnf", "static", "terminfo", "timezone", "xdg",
)  # fmt: skip
# What a program needs that is not a command of somebody's, but ours: to start, and to know the time and whom to trust.
LEAST_ETC = ("ld.so.cache", "localtime", "nsswitch.conf", "pki/tls/certs", "ssl/certs")
# What a folder of programs leans on, from the folder above it; less where that also holds other things of the user.
_BESIDE = (
    "lib",
    "lib64",
    "libexec",
    "share",
    "include",
    "plugins",
    "versions",
    "installs",
    "shims",
    "bin",
    "pyvenv.cfg",
)
_BESIDE_AT_HOME = ("lib", "lib64", "libexec")
_FURTHER = {".cargo/bin": ".rustup", ".volta/bin": ".volta/tools"}
# Where tools put interpreters and other programs, and nothing else: uv, pyenv, nvm, asdf, mise, pipx, rbenv, conda, …
_TOOLCHAIN = re.compile(
    r"/(?:opt|snap)/[^/]+(?=/)|/home/linuxbrew/\.linuxbrew(?=/)|/.*?/(?:\.(?:pyenv|rbenv|nvm)/versions|\.asdf/installs"
    r"|\.local/share/(?:uv/python|mise/installs|pipx/venvs)|\.local/pipx/venvs|\.rustup/toolchains|\.volta/tools"
    r"|(?:miniconda|anaconda|miniforge|mambaforge)3?)(?=/)"
)
_MAX_ENTRIES = 400
_MAX_FOLDERS = 64


def find_programs(
    path: str, home: str, closed: tuple[str, ...], writable: Sequence[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Folders of PATH outside the system's own, with what belongs to them: pairs (real place, where it is seen).

    None of `closed` is among them, nor a folder that holds one of these: a PATH with `~` in it gives no home away. In a
    folder that is `writable` a confined program can make links; those open nothing but known places of toolchains.
    """
    found: dict[str, str] = {}
    for folder in path.split(os.pathsep):
        if not os.path.isabs(folder) or _is_system(folder):
            continue
        plain = os.path.normpath(folder)
        is_theirs = any(is_within(one, root) for one in (plain, real_path(plain)) for root in writable)
        for one in _list_toolchains(plain) if is_theirs else _belonging(plain, home):
            real = real_path(one)
            if real and os.path.exists(real) and not _is_system(real) and _is_open(real, home, closed):
                found.setdefault(one, real)
            if len(found) >= _MAX_FOLDERS:
                break
    return tuple((real, one) for one, real in found.items())


def _list_toolchains(folder: str) -> list[str]:
    """The known places of toolchains that links in a folder of programs lead to."""
    return sorted({found[0] for target in _linked(folder) if (found := _TOOLCHAIN.match(target + "/"))})


def _belonging(folder: str, home: str) -> Iterator[str]:
    yield from _with_siblings(folder, home)
    further = _FURTHER.get(os.path.relpath(folder, home)) if home else None
    if further:
        yield os.path.join(home, further)
    for target in sorted(_linked(folder)):
        yield from _with_siblings(target, home)


def _with_siblings(folder: str, home: str) -> Iterator[str]:
    yield folder
    above, name = os.path.split(folder)
    if name in ("bin", "sbin", "shims"):
        at_home = above in (home, os.path.join(home, ".local"))
        yield from (os.path.join(above, one) for one in (_BESIDE_AT_HOME if at_home else _BESIDE))


def _linked(folder: str) -> set[str]:
    """Folders elsewhere that hold what links in a folder of programs lead to, as in virtual environments."""
    targets = set()
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, _MAX_ENTRIES):
                if entry.is_symlink():
                    real = real_path(entry.path)
                    if real and os.path.dirname(real) != folder and not _is_system(real):
                        targets.add(os.path.dirname(real))
    except OSError:
        return set()
    return targets


def _is_system(path: str) -> bool:
    return path == "/" or any(path == one or path.startswith(one + "/") for one in FOLDERS)


def _is_open(real: str, home: str, closed: tuple[str, ...]) -> bool:
    """Whether a folder is neither a place that must stay hidden, nor above or below one, nor the home folder."""
    if real == "/" or (home + "/").startswith(real.rstrip("/") + "/"):
        return False
    return not any(_overlap(real, one) for one in closed)


def _overlap(one: str, other: str) -> bool:
    return (one + "/").startswith(other + "/") or (other + "/").startswith(one + "/")
