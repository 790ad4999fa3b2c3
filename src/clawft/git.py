"""The git repository that a folder is in, told from its files: no program is run in a stranger's repository (R109)."""

import os
import re

from clawft.errors import Unreadable
from clawft.files import read_optional

__all__ = ["current_branch", "find_git_dir", "find_git_root"]

MAX_BYTES = 4096
_BRANCH = re.compile(r"ref: refs/heads/([^\s\x00-\x20\x7f~^:?*\[\\]{1,200})")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ELSEWHERE = ".invalid"  # where branches are kept in one table, HEAD names none


def find_git_root(folder: str) -> str | None:
    """The nearest folder, upwards, with a `.git`: a folder, or the file of a worktree or a submodule."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def current_branch(folder: str) -> str | None:
    """The branch of the repository that a folder is in; the first digits of the commit where none is checked out."""
    root = find_git_root(folder)
    head = _read(os.path.join(_git_dir(root), "HEAD")) if root else ""
    if (branch := _BRANCH.fullmatch(head)) and branch[1] != _ELSEWHERE and branch[1].isprintable():
        return branch[1]
    return head[:12] if _COMMIT.fullmatch(head) else None


def find_git_dir(root: str) -> str | None:
    """The whole repository of a worktree, which is elsewhere; None unless the repository, too, names the worktree.

    A `.git` file may be a stranger's, and must not make something else of the machine seem a repository.
    """
    marker = os.path.join(root, ".git")
    if not os.path.isfile(marker) or os.path.islink(marker):
        return None
    own = os.path.realpath(_git_dir(root))
    whole = os.path.realpath(os.path.join(own, _read(os.path.join(own, "commondir")) or "."))
    named = os.path.dirname(own) == os.path.join(whole, "worktrees") and os.path.basename(whole) == ".git"
    back = _read(os.path.join(own, "gitdir"))
    return whole if named and back and os.path.realpath(back) == os.path.realpath(marker) else None


def _git_dir(root: str) -> str:
    """Where the repository's own files are; a worktree's `.git` is a file that names the place."""
    path = os.path.join(root, ".git")
    if os.path.isdir(path):
        return path
    return os.path.join(root, _read(path).removeprefix("gitdir:").strip())


def _read(path: str) -> str:
    """The text of a small file; nothing where it cannot be had."""
    try:
        data = read_optional(path, MAX_BYTES, follow=True)
    except (Unreadable, ValueError):  # ValueError: a NUL byte in the path
        return ""
    return (data or b"").decode("utf-8", errors="replace").strip()
