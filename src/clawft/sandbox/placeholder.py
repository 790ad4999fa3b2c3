"""Stand-ins for what a confined program must not make, such as a `.git`, while it runs.

A mount needs something to be mounted on, so an empty file or folder is made and removed afterwards. Every run that uses
one holds a shared lock on it, so that other runs, in other processes too, do not pull it away: on Linux to remove
something undoes mounts on it elsewhere.
"""

import fcntl
import os
import stat
from collections.abc import Iterable
from contextlib import suppress

__all__ = ["Placeholders", "is_placeholder"]

# The sticky bit tells ours, of a run that was killed, from what somebody made.
_FOLDER, _FILE = stat.S_IFDIR | 0o1755, stat.S_IFREG | 0o1444
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Files are made and removed much faster; but an empty file of this name is an error to git, an empty folder is nothing.
_FOLDERS = (".git",)


class Placeholders:
    """Those of one run; where none can be made, the confined program cannot make one either."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._held: dict[str, int] = {}
        for path in wanted:
            descriptor = _hold(path)
            if descriptor is not None:
                self._held[path] = descriptor

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._held)

    def release(self) -> None:
        """Remove what nobody else holds."""
        for path, descriptor in self._held.items():
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the last one who holds it
                _remove(path, descriptor)
            os.close(descriptor)
        self._held.clear()


def is_placeholder(path: str) -> bool:
    """Whether something is what a run left, or holds now."""
    try:
        status = os.lstat(path)
        return (status.st_mode == _FILE and not status.st_size) or (status.st_mode == _FOLDER and not os.listdir(path))
    except OSError:
        return False


def _hold(path: str) -> int | None:
    """An open, locked descriptor of the placeholder; it may be removed by another while it is opened."""
    for _ in range(10):
        try:
            descriptor = _make(path)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        with suppress(BlockingIOError):  # whoever else locks it does not make us wait
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if _is_at(path, descriptor):
            return descriptor
        os.close(descriptor)
    return None


def _make(path: str) -> int:
    """Open it, made anew if it is not there. Raises: OSError."""
    try:
        if os.path.basename(path) in _FOLDERS:
            os.mkdir(path)
            os.chmod(path, _FOLDER & 0o7777)
            return os.open(path, _FLAGS)
        descriptor = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o444)
    except FileExistsError:
        return os.open(path, _FLAGS)
    os.fchmod(descriptor, _FILE & 0o7777)
    return descriptor


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


def _remove(path: str, descriptor: int) -> None:
    """Take it away, unless somebody made it their own, or put something there."""
    status = os.fstat(descriptor)
    if status.st_mode == _FILE and not status.st_size:
        os.unlink(path)
    elif status.st_mode == _FOLDER:
        try:
            os.rmdir(path)
        except OSError:
            os.fchmod(descriptor, 0o755)
