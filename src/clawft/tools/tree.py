"""Walk a folder for `list_directory`, `glob` and `grep`: no links, no end of work, in one worker thread."""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

from anyio import to_thread
from msgspec import Struct

from clawft.tools.beneath import open_folder, stat_at

__all__ = ["Budget", "Found", "run_walk", "walk_tree"]

T = TypeVar("T")
_MAX_DEPTH = 50
_MAX_ENTRIES = 200_000
_MAX_SECONDS = 20.0
# Made by machines for machines: looked into only where asked for by name.
_SKIPPED = frozenset({
    ".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache",
    ".pytest_cache", ".tox", ".cache",
})  # fmt: skip
Kind = Literal["file", "folder", "link", "other"]
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


class Found(Struct, frozen=True):
    """Something below the folder: its path from there, and `name` in the open folder `folder` until the next comes."""

    path: str
    kind: Kind
    size: int
    mtime_ns: int
    name: str
    folder: int


class Budget:
    """How much a walk may still do. `spent` says why it had to stop, or nothing."""

    def __init__(self, max_entries: int = _MAX_ENTRIES, max_seconds: float = _MAX_SECONDS) -> None:
        self.spent = ""
        self.cancelled = threading.Event()
        self._max_entries = max_entries
        self._max_seconds = max_seconds
        self._left = max_entries
        self._until = time.monotonic() + max_seconds

    def take(self) -> bool:
        """Count one entry; False once there is nothing left to spend."""
        self._left -= 1
        if self.cancelled.is_set():
            self.spent = "it was cancelled"
        elif self._left < 0:
            self.spent = f"there are more than {self._max_entries} files and folders"
        elif time.monotonic() > self._until:
            self.spent = f"it took more than {self._max_seconds:g} seconds"
        return not self.spent


async def run_walk(work: Callable[[Budget], T], budget: Budget | None = None) -> T:
    """Do the work in a thread, which stops soon after the wait for it was cancelled."""
    budget = budget or Budget()
    try:
        return await to_thread.run_sync(work, budget, abandon_on_cancel=True)
    finally:
        budget.cancelled.set()


def walk_tree(
    real: str, budget: Budget, *, may_read: Callable[[str], bool], max_depth: int = _MAX_DEPTH
) -> Iterator[Found]:
    """All below a folder, each folder before what is in it, sorted by name. What may not be read is not shown.

    Raises: OSError, ToolError.
    """
    with open_folder(real) as top:
        for where, folders, files, folder in os.fwalk(".", dir_fd=top):
            inner = where[2:]
            names = sorted([*folders, *files])
            folders.sort()
            depth = inner.count("/") + 2 if inner else 1
            entered = []
            for name in names:
                path = f"{inner}/{name}" if inner else name
                if not budget.take():
                    return
                if not may_read(f"{real.rstrip('/')}/{path}"):
                    continue
                found = _look(folder, path, name)
                if found is None:
                    continue
                if found.kind == "folder" and depth < max_depth and name not in _SKIPPED:
                    entered.append(name)
                yield found
            folders[:] = entered


def _look(folder: int, path: str, name: str) -> Found | None:
    status = stat_at(folder, name)
    if status is None:  # gone meanwhile
        return None
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
    return Found(path, kind, status.st_size, status.st_mtime_ns, name, folder)
