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

__all__ = ["Placeholders", "is_placeholder"]

# The sticky bit tells ours, of a run that was killed, from what somebody made.
_MODE = stat.S_IFDIR | 0o1755
_ATTEMPTS = 20
_PAUSE_S = 0.001
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


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
        return status.st_mode == _MODE and not os.listdir(path)
    except OSError:
        return False


def _hold(path: str) -> int | None:
    """An open, locked descriptor of the placeholder; it may be removed by another while it is opened.

    Who has it for themselves is about to remove it, so it is tried again. A program that can see it may lock it for
    good: that does not make us wait.
    """
    for attempt in range(_ATTEMPTS):
        try:
            descriptor = _make(path)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        is_locked = _lock(descriptor)
        if _is_at(path, descriptor) and (is_locked or attempt == _ATTEMPTS - 1):
            return descriptor
        os.close(descriptor)
        if not is_locked:
            time.sleep(_PAUSE_S)
    return None


def _lock(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    return False


def _make(path: str) -> int:
    """Open it, made anew if it is not there. Raises: OSError."""
    with suppress(FileExistsError):
        os.mkdir(path)
        os.chmod(path, _MODE & 0o7777)
    return os.open(path, _FLAGS)


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


def _remove(path: str, descriptor: int) -> None:
    """Take it away, unless somebody made it their own, or put something there."""
    if os.fstat(descriptor).st_mode == _MODE:
        try:
            os.rmdir(path)
        except OSError:
            os.fchmod(descriptor, 0o755)
