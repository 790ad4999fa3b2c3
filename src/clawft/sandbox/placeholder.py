"""Stand-ins for what a confined program must not make, such as a `.git`, while it runs.

A mount needs something to be mounted on, so an empty folder, which git does not show, is made and removed afterwards.
Every run that uses one holds a shared lock on it, so that other runs, in other processes too, do not pull it away: on
Linux to remove something undoes mounts on it elsewhere.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from threading import Thread

from clawft.sandbox.landlock_launcher import open_plain

# The sticky bit marks our own, left by a run that was killed, so that those of other programs are not touched.
_MODE = 0o1755
_ATTEMPTS = 20
_PAUSE_S = 0.001
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Placeholders:
    """Those of one run; where none can be made, the confined program cannot make one either."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._held: dict[str, tuple[int, int]] = {}  # the folder it is in, and itself
        for path in wanted:
            held = _hold(path)
            if held is not None:
                self._held[path] = held

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._held)

    def release(self) -> None:
        """Remove what nobody else holds."""
        released: list[int] = []
        for path, (folder, descriptor) in self._held.items():
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the last one who holds it
                if _remove(os.path.basename(path), folder, descriptor):
                    released.append(os.dup(descriptor))
            os.close(descriptor)
            os.close(folder)
        self._held.clear()
        if released:  # the disk takes a millisecond to forget each, which nobody has to wait for
            Thread(target=_close, args=(released,), daemon=True).start()


def is_placeholder(path: str) -> bool:
    """Return whether something is what a run left, or holds now."""
    try:
        status = os.lstat(path)
        return _has_mark(status) and not os.listdir(path)
    except OSError:
        return False


def _has_mark(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)


def _hold(path: str) -> tuple[int, int] | None:
    """The folder that a placeholder is in, and itself, locked; it may be removed by another while it is opened.

    No link is followed to the folder, which a program that runs beside may exchange: nothing is made elsewhere. Who has
    it for themselves is about to remove it, so it is tried again. A program that can see it may lock it for good: that
    does not make us wait.
    """
    above, name = os.path.split(path)
    try:
        folder = open_plain(above)
    except OSError:
        return None
    for attempt in range(_ATTEMPTS):
        try:
            descriptor = _make(name, folder)
        except FileNotFoundError:
            continue
        except OSError:
            break
        is_locked = _lock(descriptor)
        if _is_at(name, folder, descriptor) and (is_locked or attempt == _ATTEMPTS - 1):
            return folder, descriptor
        os.close(descriptor)
        if not is_locked:
            time.sleep(_PAUSE_S)
    os.close(folder)
    return None


def _lock(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    return False


def _make(name: str, folder: int) -> int:
    """Open it, made anew if it is not there. Raises: OSError."""
    with suppress(FileExistsError):
        os.mkdir(name, _MODE, dir_fd=folder)
    return os.open(name, _FLAGS, dir_fd=folder)


def _is_at(name: str, folder: int, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(name, dir_fd=folder), os.fstat(descriptor))
    except OSError:
        return False


def _remove(name: str, folder: int, descriptor: int) -> bool:
    """Remove a placeholder, unless someone changed it or put something in it; return whether it was removed."""
    if _has_mark(os.fstat(descriptor)):
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError:
            os.fchmod(descriptor, 0o755)
        else:
            return True
    return False


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
