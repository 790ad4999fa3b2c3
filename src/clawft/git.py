"""The git repository that a folder is in, told from its files: no program is run in a stranger's repository (R109)."""

import os
import re
import struct

from msgspec import Struct

from clawft.errors import Unreadable
from clawft.files import read_optional

__all__ = [
    "IndexEntry",
    "current_branch",
    "find_git_dir",
    "find_git_root",
    "list_tracked",
    "parse_index",
    "resolve_git_dir",
]

MAX_BYTES = 4096
MAX_INDEX_BYTES = 128 << 20
_STATUS = struct.Struct(">24xI12x")  # of an entry of the index: its mode, and what is known of the file
_ID_BYTES = 20
_FLAGS = struct.Struct(">H")
_BRANCH = re.compile(r"ref: refs/heads/([^\s\x00-\x20\x7f~^:?*\[\\]{1,200})")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ELSEWHERE = ".invalid"  # where branches are kept in one table, HEAD names none


class IndexEntry(Struct, frozen=True, gc=False):
    """One file that git tracks, or a repository inside of this one: its path from the root, and its object."""

    path: str
    mode: int
    object_id: bytes


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
    head = _read(os.path.join(resolve_git_dir(root), "HEAD")) if root else ""
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
    own = os.path.realpath(resolve_git_dir(root))
    whole = os.path.realpath(os.path.join(own, _read(os.path.join(own, "commondir")) or "."))
    named = os.path.dirname(own) == os.path.join(whole, "worktrees") and os.path.basename(whole) == ".git"
    back = _read(os.path.join(own, "gitdir"))
    return whole if named and back and os.path.realpath(back) == os.path.realpath(marker) else None


def list_tracked(root: str) -> list[IndexEntry]:
    """All that git tracks in the repository with this root; nothing where its index cannot be understood."""
    try:
        data = read_optional(os.path.join(resolve_git_dir(root), "index"), MAX_INDEX_BYTES, follow=True)
        return parse_index(data)[0] if data else []
    except (Unreadable, ValueError, struct.error, IndexError):
        return []


def parse_index(data: bytes) -> tuple[list[IndexEntry], int]:
    """The entries of an index of version 2, 3 or 4, and where they end. Raises: ValueError, struct.error."""
    sign, version, count = struct.unpack_from(">4sII", data)
    if sign != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("an index of another form")
    entries, at, path = [], 12, b""
    for _ in range(count):
        (mode,) = _STATUS.unpack_from(data, at)
        start = at + _STATUS.size + _ID_BYTES
        (flags,) = _FLAGS.unpack_from(data, start)
        object_id = data[start - _ID_BYTES : start]
        start += 4 if flags & 0x4000 else 2
        kept = 0
        if version == 4:  # only what differs from the path before is written
            dropped, start = _read_number(data, start)
            kept = len(path) - dropped
        end = data.index(b"\0", start)
        path = path[:kept] + data[start:end]
        entries.append(IndexEntry(os.fsdecode(path), mode, object_id))
        at = end + 1 if version == 4 else at + ((end - at + 8) & ~7)
    return entries, at


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """A number of any length, as git packs it, and where it ends."""
    value = data[at] & 127
    while data[at] & 128:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 127)
    return value, at + 1


def resolve_git_dir(root: str) -> str:
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
