"""Would git run a program just by looking? A repository's own config can name some, and may be a stranger's."""

import os
import re

from clawft.errors import Unreadable
from clawft.files import read_regular

__all__ = ["find_git_program"]

MAX_BYTES = 1 << 20
# Settings that make `status`, `log`, `diff` or `show` start a program, or that hide such settings in another file.
_PROGRAM = re.compile(
    rb"^[ \t]*(?:\[[^\]\n]*\][ \t]*)?"
    rb"(command|textconv|external|fsmonitor|program|clean|smudge|process|sshcommand|pager|showsignature|hookspath)"
    rb"[ \t]*(?:=|$)",
    re.IGNORECASE | re.MULTILINE,
)
_INCLUDE = re.compile(rb"^[ \t]*\[[ \t]*include", re.IGNORECASE | re.MULTILINE)


def find_git_program(folder: str) -> str:
    """What in the config of the repository around a folder could start a program; '' where nothing does."""
    places = _config_files(folder)
    for path in places:
        try:
            text, _ = read_regular(path, MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except Unreadable:
            return f"{os.path.basename(path)} cannot be read"
        named = _PROGRAM.search(text)
        if named:
            return named[1].decode("ascii").lower()
        if _INCLUDE.search(text):
            return "include"
    return ""


def _config_files(folder: str) -> list[str]:
    """The config files of the repository that git would find from a folder."""
    current = folder
    while True:
        marker = os.path.join(current, ".git")
        if os.path.isdir(marker):
            return [os.path.join(marker, name) for name in ("config", "config.worktree")]
        if os.path.lexists(marker):
            return _linked(current, marker)
        parent = os.path.dirname(current)
        if parent == current:
            return []
        current = parent


def _linked(folder: str, marker: str) -> list[str]:
    """A worktree or submodule: `.git` is a file that names the folder, and that one may name another."""
    real = _read_path(marker, b"gitdir:", folder)
    if not real:
        return [marker]  # read again by the caller, and refused there if it is no plain file
    common = _read_path(os.path.join(real, "commondir"), b"", real)
    return [
        os.path.join(one, name)
        for one in dict.fromkeys((real, common or real))
        for name in ("config", "config.worktree")
    ]


def _read_path(path: str, before: bytes, base: str) -> str:
    try:
        text, _ = read_regular(path, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError, Unreadable):
        return ""
    named = text.strip().removeprefix(before).strip()
    return os.path.normpath(os.path.join(base, os.fsdecode(named))) if text.startswith(before) and named else ""
